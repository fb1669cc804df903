import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import type { Page } from 'playwright-core'
import { pastedSheet } from '../../web/src/import/pasted.ts'
import { assertAccessible, assertAtBothSizes, assertFits } from '../support/accessible.ts'
import { openMenu, openView, pressOn, signOver, tabTo } from '../support/by-keyboard.ts'
import { pageTests } from '../support/page.ts'
import { choose, empty, importAll, saved } from '../support/page-files.ts'
import { stored, storedNames } from '../support/page-plants.ts'

const { inBrowser, onPhone } = pageTests({ begin: ({ service }) => empty(service) })

suite('the page, for imports,', () => {
  inBrowser('detects Windows-1252, and reads in the encoding that the person chooses', async ({ page, service }) => {
    await choose(page, 'plants.csv', Buffer.from('id,name\n1,Häberlea «ferdinandi»\n', 'latin1'))
    await page.getByRole('cell', { name: 'Häberlea «ferdinandi»' }).waitFor()
    await page.getByLabel('Encoding').selectOption('utf-8')
    await page.getByRole('cell', { name: 'H�berlea' }).waitFor()
    await page.getByLabel('Encoding').selectOption('windows-1252')
    await page.getByRole('cell', { name: 'Häberlea «ferdinandi»' }).waitFor()
    await importAll(page)
    assert.deepEqual(await stored(service), ['1 Häberlea «ferdinandi»'])
  })

  onPhone('takes quotation marks for letters in a file with tabs, or as the person says', async ({ page, service }) => {
    const rows = ['id\tname\tnote', '1\tAbies "alba"\t"Old mill', '2\tAcer\t', '3\tTaxus\t15" high', '']
    await choose(page, 'occurrences.tsv', Buffer.from(rows.join('\n')))
    await page.getByRole('cell', { name: 'Abies "alba"' }).waitFor()
    const marks = page.getByLabel('Texts are in quotation marks')
    await marks.waitFor()
    assert.equal(await marks.isChecked(), false)
    await assertAtBothSizes(page)
    await marks.click()
    await page.getByText('A quotation mark is misplaced').waitFor()
    await marks.click()
    await page.getByRole('checkbox', { name: 'Texts are in quotation marks', checked: false }).waitFor()
    await importAll(page)
    assert.deepEqual(await stored(service), ['1 Abies "alba"', '2 Acer', '3 Taxus'])
  })

  onPhone('checks, names each refused row, and saves a report, by keyboard alone', async (opened) => {
    const { page, service } = opened
    await service.create({ id: 2, name: 'Another' })
    await service.create({ id: 3, name: 'Same' })
    const refused = ['3;Same', ';No id', 'x;Not a number', '9,2E+18;Rounded', '5;']
    const file = ['Nr;Name;Bed', '1;Abies;north', '2;Betula', ...refused, '']
    await openView(page, 'Import')
    await tabTo(page, page.getByLabel('Drop a spreadsheet here'))
    // The browser draws its own dialog for files, which Playwright cannot use.
    await choose(page, 'nursery.csv', Buffer.from(file.join('\r\n')))
    await tabTo(page, page.getByLabel('Tag', { exact: true }))
    await page.keyboard.type('Bed')
    await pressOn(page, page.getByRole('button', { name: 'Check the file' }))
    await page.getByRole('heading', { name: 'Result of the check' }).waitFor()
    assert.equal((await service.plants()).length, 2, 'the check stores nothing')
    const figures = await page.locator('.figures li').allTextContents()
    assert.deepEqual(figures, ['Added: 1', 'Unchanged: 1', 'Refused: 5'])
    const cells = await page.locator('[role=status] tbody tr').allInnerTexts()
    const found = cells.map((text) => text.split('\t')[0])
    assert.deepEqual(found, ['3', '5', '6', '7', '8'])
    assert.match(cells.join(' '), /belongs to a different plant.*Id is required.*plain digits.*rounded it.*no name/s)
    await pressOn(page, page.getByRole('button', { name: 'Import 1 plant' }))
    await page.getByRole('heading', { name: 'Imported' }).waitFor()
    const report = await saved(opened, 'Save the report')
    assert.match(
      report,
      /^\ufeffSource,nursery\.csv\r\nAdded,1\r\nUpdated,0\r\nUnchanged,1\r\nRefused,5\r\n\r\nRow,Content,Reason\r\n/,
    )
    assert.match(report, /\r\n5,No id,Id is required\.\r\n/)
    assert.deepEqual(await stored(service), ['1 Abies (north)', '2 Another', '3 Same'])
  })

  inBrowser('replaces existing plants if the person chooses that', async ({ page, service }) => {
    await service.create({ id: 2, name: 'Another', tag: 'x' })
    await choose(page, 'plants.csv', Buffer.from('id,name\n2,Betula\n'))
    await page.getByLabel('Plants that exist').selectOption('update')
    await importAll(page)
    assert.deepEqual(await stored(service), ['2 Betula'])
  })

  onPhone('shows all columns until the name is chosen, and which are not kept', async ({ page, service }) => {
    const sheet = 'My plants,,\n\nWas,Wo,Höhe\nAbies,Beet 1,2 m\nBetula,Beet 2,3 m\n'
    await choose(page, 'list.csv', Buffer.from(sheet))
    const names = page.getByLabel('The names of the columns are in')
    assert.equal(await names.inputValue(), '3')
    // How to read the bytes is shown where it is doubtful or asked for.
    assert.equal(await page.getByLabel('Encoding').isVisible(), false)
    await pressOn(page, page.getByText('Read as UTF-8, cells separated by commas'))
    await page.getByLabel('Encoding').waitFor()
    const heads = page.locator('.columns thead th')
    assert.deepEqual(await heads.allTextContents(), ['Row', 'Was', 'Wo', 'Höhe'])
    const check = page.getByRole('button', { name: 'Check the file', disabled: true })
    await check.waitFor()
    const described = `#${await check.getAttribute('aria-describedby')}`
    assert.equal(await page.locator(described).textContent(), 'Choose the column of the names first.')
    await assertAccessible(page)
    await page.getByLabel('Name', { exact: true }).selectOption('Was')
    await page.getByText('Not kept: the columns Wo and Höhe.').waitFor()
    await page.getByLabel('Name, part 2').selectOption('Wo')
    await page.getByText('Not kept: the column Höhe.').waitFor()
    await page.getByRole('cell', { name: 'Abies Beet 1' }).waitFor()
    await assertFits(page)
    await page.getByLabel('Name, part 2').selectOption('nothing more')
    await names.selectOption('0')
    await page.getByRole('cell', { name: 'My plants' }).waitFor()
    await names.selectOption('3')
    await page.getByLabel('Name', { exact: true }).selectOption('Was')
    await importAll(page)
    assert.deepEqual(await storedNames(service), ['Abies', 'Betula'])
  })

  inBrowser('says why a token that may not read imports no sheet without ids', async ({ page, service, address }) => {
    const { secret } = await service.issueToken(['plants:write'])
    await signOver(page, address, secret)
    await choose(page, 'list.csv', Buffer.from('Name\nAbies\n'))
    await page.getByText('Choose the column of the ids first: your token may not read plants').waitFor()
    assert.ok(await page.getByRole('button', { name: 'Check the file' }).isDisabled())
  })

  inBrowser('saves all refused rows to mend them, also beyond what one report of the service lists', async (opened) => {
    const { page, service } = opened
    const file = Array.from({ length: 2500 }, (_, i) => `${i},stored\n`)
    await service.importFile(`id,name\n${file.join('')}`, { type: 'text/csv' })
    const rows = Array.from({ length: 2600 }, (_, i) => `${i},other ${i}\n`)
    await choose(page, 'plants.csv', Buffer.from(`id,name\n${rows.join('')}`))
    await importAll(page)
    const lines = (await saved(opened, 'Save the refused rows to mend them')).split('\r\n')
    assert.equal(lines.length, 2502)
    assert.match(lines[2500] ?? '', /^2499,other 2499,.*belongs to a different plant/)
  })

  inBrowser('of more plants than one document has labels leads to the labels of all', async ({ page }) => {
    const rows = Array.from({ length: 1001 }, (_, i) => `Labelled ${i};row`)
    await choose(page, 'labelled.csv', Buffer.from(['name;tag', ...rows].join('\n')))
    await importAll(page)
    await page.getByRole('button', { name: 'Print labels' }).click()
    await page.getByText('Labels 1 to 1,000 of 1,001').waitFor()
  })
})

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
  onPhone('imports them with a row of names, by keyboard alone', CLIPBOARD, async ({ page, service }) => {
    await openView(page, 'Import')
    const box = page.getByLabel('Or paste rows')
    await tabTo(page, box)
    await paste(page, 'Name\tBed\r\n"Rosa\n""Peace"""\tnorth\r\nSalix\t\r\n\t\r\n')
    await page.getByRole('heading', { name: 'Pasted rows' }).waitFor()
    assert.equal(await box.inputValue(), '')
    assert.equal(await page.getByText('Read as UTF-8').count(), 0, 'there are no bytes to misread')
    await tabTo(page, page.getByLabel('Tag', { exact: true }))
    assert.equal(await page.getByLabel('Tag', { exact: true }).inputValue(), '1')
    await pressOn(page, page.getByRole('button', { name: 'Check the rows' }))
    await pressOn(page, page.getByRole('button', { name: 'Import 2 plants' }))
    await page.getByRole('heading', { name: 'Imported' }).waitFor()
    const main = await page.getByRole('main').innerText()
    assert.doesNotMatch(main.replace(/.*or CSV, or choose it$/m, '').replace('Choose a file', ''), /file|remembers/i)
    assert.deepEqual(await storedNames(service), ['Rosa\n"Peace" (north)', 'Salix'])
  })

  inBrowser('takes names anywhere, and no second list for the first one corrected', CLIPBOARD, async (opened) => {
    const { page, service } = opened
    await openView(page, 'Import')
    await page.getByRole('heading', { name: 'Import', exact: true }).click()
    for (const rows of ['Abies alba\r\nBetula nana\r\n', 'Carex flacca\r\nDryas octopetala\r\n']) {
      await paste(page, rows)
      await page.getByRole('cell', { name: rows.slice(0, 10) }).waitFor()
      await importAll(page)
    }
    assert.deepEqual(await storedNames(service), ['Abies alba', 'Betula nana', 'Carex flacca', 'Dryas octopetala'])
  })

  inBrowser('takes a sheet in place of a file, and keeps how the person reads it', CLIPBOARD, async ({ page }) => {
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
  })

  inBrowser('takes what the keyboard of a phone types in place of a paste', async ({ page, service }) => {
    await openView(page, 'Import')
    await page.getByLabel('Or paste rows').fill('Abies\nBetula')
    await page.keyboard.press('Tab')
    await importAll(page)
    assert.deepEqual(await storedNames(service), ['Abies', 'Betula'])
  })
})

suite('the page, for exports,', () => {
  inBrowser('writes semicolons beside decimal commas, which import the same', { locale: 'de-DE' }, async (opened) => {
    const { page, service } = opened
    const plants = [
      { id: 1, name: '=1+1', tag: '' },
      { id: 2, name: 'a;b,c\td "e"\r\nf' },
      { id: 3, name: ' -x ', tag: '+1' },
      { id: 4, name: '' },
    ]
    for (const plant of plants) await service.create(plant)
    await service.create('{"id":9223372036854775807,"name":"Rosa","tag":"@home"}')
    const before = await service.plants()
    // The separator is that of the spreadsheet program, whatever the language of the page.
    await openMenu(page)
    await page.getByLabel('Sprache').selectOption('English')
    await page.keyboard.press('Escape')
    // The tools leave while the page sees an empty store.
    await page.locator('[role=row][data-id="9223372036854775807"]').waitFor()
    await page.getByText('Export', { exact: true }).click()
    const file = await saved(opened, 'As CSV, for spreadsheets')
    assert.equal(
      file,
      '\ufeffid;name;tag\r\n1;=1+1;""\r\n2;"a;b,c\td ""e""\r\nf";\r\n3; -x ;+1\r\n4;"";\r\n' +
        '9223372036854775807;Rosa;@home\r\n',
    )
    await page.getByText('3 texts begin with =, +, - or @. The file has them as they are').waitFor()
    await page.getByText('1 id has more than 15 digits').waitFor()
    await assertAccessible(page)
    const again = await service.importFile(file, { type: 'text/csv' })
    assert.match(again.body, /"unchanged":5,"refused":0/)
    await empty(service)
    await choose(page, 'plants.csv', Buffer.from(file))
    await importAll(page)
    assert.deepEqual(await service.plants(), before)
  })
})
