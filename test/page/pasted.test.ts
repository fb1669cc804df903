import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import type { Page } from 'playwright-core'
import { pastedSheet } from '../../web/src/import/pasted.ts'
import { assertAtBothSizes } from '../support/accessible.ts'
import { openView, pressOn, tabTo } from '../support/by-keyboard.ts'
import { pageTests } from '../support/page.ts'
import { choose, empty, importAll, stored } from '../support/page-files.ts'
import type { Service } from '../support/service.ts'

const names = async (service: Service): Promise<readonly (string | undefined)[]> =>
  (await stored(service)).map(([, name]) => name).toSorted()

const CLIPBOARD = { permissions: ['clipboard-read', 'clipboard-write'] }

const lines = async (text: string): Promise<readonly string[]> =>
  (await pastedSheet(text).csv.text()).split('\r\n').slice(0, -1)

/** Copies a text, and pastes it where the focus is. */
async function paste(page: Page, text: string): Promise<void> {
  await page.evaluate(`navigator.clipboard.writeText(${JSON.stringify(text)})`)
  await page.keyboard.press('Control+V')
}

suite('the page reads pasted rows', () => {
  const copies: readonly (readonly [what: string, text: string, expected: readonly string[]])[] = [
    ['with Windows line ends', 'Abies\tbed 1\r\nBetula\t\r\n', ['Abies,bed 1', 'Betula,']],
    ['without a line end behind the last one', 'Abies\nBetula', ['Abies', 'Betula']],
    ['with CR alone, as old programs for Macintosh', 'Abies\tx\rBetula\ty\r', ['Abies,x', 'Betula,y']],
    [
      'with blank ones between and behind them',
      'Abies\r\n\t\r\nBetula\r\n\t\r\n\r\n',
      ['Abies', ',', 'Betula', ',', ''],
    ],
    ['with a line end, a tab and marks in a cell', '"Rosa\n""Peace""\t2"\tbed\r\n', ['"Rosa\n""Peace""\t2",bed']],
    ['with CRLF in a cell', 'x\t"a\r\nb"\r\n', ['x,"a', 'b"']],
    ['with marks that are a part of the text', '"Peace"\t15" high\r\n"\tx', ['"""Peace""","15"" high"', '"""",x']],
    ['beside a cell of several lines', '"Peace"\t"a\nb"\r\n"Pax\tx"\r\n', ['"""Peace""","a\nb"', 'Pax\tx']],
    ['with commas and semicolons', 'Rosa, white; double\n', ['"Rosa, white; double"']],
  ]
  for (const [what, text, expected] of copies) test(what, async () => assert.deepEqual(await lines(text), expected))

  test('up to a bound, and says that there are none', () => {
    for (const text of ['', '\r\n\t\t\r\n', ' ']) assert.throws(() => pastedSheet(text), /There are no rows to paste/)
    assert.throws(() => pastedSheet('x'.repeat(2 ** 26 + 1)), /too many rows to paste/)
  })
})

suite('the page, for pasted rows,', () => {
  const { inBrowser, onPhone } = pageTests()

  onPhone('imports them with a row of names, by keyboard alone', { ...CLIPBOARD }, async ({ page, service }) => {
    await empty(service)
    await openView(page, 'Import')
    const box = page.getByLabel('Or paste rows')
    await tabTo(page, box)
    await assertAtBothSizes(page)
    await paste(page, 'Name\tBed\r\n"Rosa\n""Peace"""\tnorth\r\nSalix\t\r\n\t\r\n')
    await page.getByRole('heading', { name: 'Pasted rows' }).waitFor()
    assert.equal(await box.inputValue(), '')
    assert.equal(await page.getByText('Read as UTF-8').count(), 0, 'there are no bytes to misread')
    await tabTo(page, page.getByLabel('Tag', { exact: true }))
    assert.equal(await page.getByLabel('Tag', { exact: true }).inputValue(), '1')
    await assertAtBothSizes(page)
    await pressOn(page, page.getByRole('button', { name: 'Check the rows' }))
    await pressOn(page, page.getByRole('button', { name: 'Import 2 plants' }))
    await page.getByRole('heading', { name: 'Imported' }).waitFor()
    const main = await page.getByRole('main').innerText()
    assert.doesNotMatch(main.replace(/.*or CSV, or choose it$/m, '').replace('Choose a file', ''), /file|remembers/i)
    const texts = (await stored(service)).map(([, ...each]) => each)
    assert.deepEqual(texts.toSorted(), [['Rosa\n"Peace"', 'north'], ['Salix']])
  })

  inBrowser(
    'takes a column of names anywhere in the view, and takes no second list for the first one corrected',
    CLIPBOARD,
    async ({ page, service }) => {
      await empty(service)
      await openView(page, 'Import')
      await page.getByRole('heading', { name: 'Import', exact: true }).click()
      for (const rows of ['Abies alba\r\nBetula nana\r\n', 'Carex flacca\r\nDryas octopetala\r\n']) {
        await paste(page, rows)
        await page.getByRole('cell', { name: rows.slice(0, 10) }).waitFor()
        await importAll(page)
      }
      assert.deepEqual(await names(service), ['Abies alba', 'Betula nana', 'Carex flacca', 'Dryas octopetala'])
    },
  )

  inBrowser(
    'takes a sheet in place of a file, and keeps how the person reads it',
    CLIPBOARD,
    async ({ page, service }) => {
      await empty(service)
      await choose(page, 'plants.csv', Buffer.from('id,name\n1,Abies\n'))
      await page.getByRole('cell', { name: 'Abies' }).waitFor()
      await page.getByRole('heading', { name: 'Import', exact: true }).click()
      await paste(page, 'Name\tWo\nRosa, white\tBeet\n')
      await page.getByRole('cell', { name: 'Rosa, white' }).waitFor()
      await page.getByLabel('The names of the columns are in').selectOption('0')
      await page.getByRole('cell', { name: 'Name', exact: true }).waitFor()
      await page.getByRole('cell', { name: 'Rosa, white' }).waitFor()
      await page.getByRole('heading', { name: 'Import', exact: true }).click()
      await paste(page, ' \r\n')
      await page.getByText('There are no rows to paste. Copy cells in your spreadsheet first.').waitFor()
      await page.evaluate(`new Promise((done) => document.createElement('canvas').toBlob(done))
        .then((picture) => navigator.clipboard.write([new ClipboardItem({ 'image/png': picture })]))`)
      await page.keyboard.press('Control+V')
      await page.getByText(/image|picture/i).waitFor()
    },
  )

  inBrowser('takes what the keyboard of a phone types in place of a paste', async ({ page, service }) => {
    await empty(service)
    await openView(page, 'Import')
    await page.getByLabel('Or paste rows').fill('Abies\nBetula')
    await page.keyboard.press('Tab')
    await importAll(page)
    assert.deepEqual(await names(service), ['Abies', 'Betula'])
  })
})
