import assert from 'node:assert/strict'
import { suite } from 'node:test'
import type { Page } from 'playwright-core'
import { isInFonts } from '../../web/src/labels/pdf.ts'
import { L7160, placeOf } from '../../web/src/labels/sheets.ts'
import { say } from '../../web/src/language/language.ts'
import { assertAccessible, assertAtBothSizes } from '../support/accessible.ts'
import { openTools, openView, pressOn, tabTo, untilFocused } from '../support/by-keyboard.ts'
import { inkIn, shareNear } from '../support/ink.ts'
import { untilCount } from '../support/labels.ts'
import { type Opened, pageTests } from '../support/page.ts'
import { bytesOf } from '../support/page-files.ts'
import { line, stored } from '../support/page-plants.ts'
import { codesOn, type DrawnPage, drawPages } from '../support/pdf-pages.ts'

const DPI = 300

/** Plants with names in several scripts or hard to lay out, and with the smallest and the largest id. */
const LABELLED = [
  { id: -(2n ** 63n), name: 'Ficus × crème brûlée “Żółw”', tag: 'greenhouse 2' },
  { id: 2n ** 63n - 1n, name: 'שושן צחור (Lilium candidum)', tag: 'גינה' },
  { id: 11n, name: 'وردة دمشقية', tag: undefined },
  { id: 12n, name: 'Ελιά της Καλαμάτας', tag: 'Ήπειρος' },
  { id: 13n, name: '中国水仙', tag: '球根' },
  { id: 14n, name: 'Chlorophytum comosum ‘Vittatum’ '.repeat(9), tag: 'long '.repeat(40) },
  { id: 15n, name: '<b>&amp;', tag: '"' },
]

/** Fills the store of the file once, and opens the view. */
async function openLabels({ service, page }: Opened): Promise<void> {
  const rows = LABELLED.map(({ id, name, tag }) => `{"id":${id},${JSON.stringify({ name, tag }).slice(1)}`)
  const many = Array.from({ length: 1001 }, (_, i) => JSON.stringify({ id: 5000 + i, name: `Seedling ${i}` }))
  await service.importFile([...rows, ...many].join('\n'))
  await openView(page, say('view.labels'))
  await page.getByText(say('labels.chooseFirst')).waitFor()
}

/** Chooses the plants of the list above, one by one. */
async function choose(page: Page): Promise<void> {
  for (const { id, name } of LABELLED) {
    await page.getByLabel('Search plants').fill(name.slice(0, 200))
    await page
      .locator('.found li', { hasText: String(id) })
      .getByRole('checkbox')
      .check()
  }
  await page.getByText(`${LABELLED.length} labels`, { exact: true }).waitFor()
}

/** Answers the question about codes that lead to this machine alone, which the page asks once. */
const goOn = (page: Page): Promise<void> => page.getByRole('button', { name: 'Continue all the same' }).click()

async function save(page: Page, { isAsked = false } = {}): Promise<DrawnPage[]> {
  const download = page.waitForEvent('download')
  await page.getByRole('button', { name: 'Save as PDF' }).click()
  if (isAsked) await goOn(page)
  const file = await download
  assert.equal(file.suggestedFilename(), 'labels.pdf')
  return drawPages(await bytesOf(file), DPI)
}

/** The pages that the browser gives to a printer. */
async function print(page: Page): Promise<DrawnPage[]> {
  await page.getByRole('button', { name: 'Print', exact: true }).click()
  await page.locator('body[data-asked]').waitFor()
  const pdf = await page.pdf({ preferCSSPageSize: true })
  await page.evaluate(`document.body.removeAttribute('data-asked'), dispatchEvent(new Event('afterprint'))`)
  return drawPages(pdf, DPI)
}

/** Replaces the dialog for printing, which nobody would close. The page asks for it once the size of the sheet is set. */
const withoutDialog = (page: Page): Promise<unknown> =>
  page.evaluate(`window.print = () => document.body.setAttribute('data-asked', '')`)

const { inBrowser, onPhone } = pageTests({ begin: openLabels })

suite('labels', () => {
  inBrowser('of a bed or of a search are chosen at once, in place of those of before', async ({ page }) => {
    await page.getByLabel('Labels', { exact: true }).fill('2')
    await page.keyboard.press('Enter')
    await page.getByText('2 labels', { exact: true }).waitFor()
    await pressOn(page, page.getByRole('link', { name: 'Plants', exact: true }), 'Enter', 'Shift+Tab')
    await page.getByRole('grid').waitFor()
    await page.getByLabel('Search plants').fill('seedling 99')
    const link = page.getByRole('link', { name: 'Print labels' })
    await openTools(page)
    await pressOn(page, link)
    await page.getByText('11 labels', { exact: true }).waitFor()
    await page.locator('.preview text', { hasText: 'Seedling 99' }).first().waitFor()
    await page.getByText('Show the labels').click()
    await page.getByRole('button', { name: 'Remove: 5099' }).click()
    await page.getByText('10 labels', { exact: true }).waitFor()
    await page.goBack()
    await page.goForward()
    await page.getByText('10 labels', { exact: true }).waitFor()
    await page.goBack()
    await page.getByRole('grid').waitFor()
    await page.getByLabel('Search plants').fill('')
    await pressOn(page, link)
    await page.getByText('The first 20 that match').waitFor()
    await page.getByText('10 labels', { exact: true }).waitFor()
  })

  inBrowser('are the same saved and printed, in any script, with codes of their plants', async ({ page, address }) => {
    await withoutDialog(page)
    await choose(page)
    const expected = LABELLED.map(({ id }) => `${address}#/plant?id=${id}`)
    const [saved, printed] = [await save(page, { isAsked: true }), await print(page)]
    for (const [way, pages] of Object.entries({ saved, printed })) {
      const [drawn = assert.fail(way)] = pages
      assert.equal(pages.length, 1, way)
      assert.ok(Math.abs(drawn.width - 210) < 0.2 && Math.abs(drawn.height - 297) < 0.2, `${drawn.width} mm`)
      const codes = await codesOn(drawn)
      assert.deepEqual(new Set(codes.map(({ text }) => text)), new Set(expected), way)
      for (const { text, left, top, right, bottom } of codes) {
        const { x, y } = placeOf(L7160, expected.indexOf(text))
        assert.ok(left > x && right < x + 63.5 && top > y && bottom < y + 38.1, `${way}: ${text}`)
      }
    }
    for (const [i, { name }] of LABELLED.entries()) {
      const { x, y } = placeOf(L7160, i)
      const box = { x: x + 2, y: y + 2, width: 33, height: 34 }
      const [one, other] = [saved, printed].map(([drawn = assert.fail()]) => inkIn(drawn, box))
      assert.ok(one && other && one.size > 500, `${name}: ${one?.size} dots`)
      const [there, back] = [shareNear(one, other), shareNear(other, one)]
      // The file sets Western letters in Helvetica, each in the place of that of the browser's font.
      const least = isInFonts(name) ? 0.95 : 0.99
      assert.ok(there > least && back > least, `${name}: ${there} and ${back} of the dots are those of the other`)
    }
    for (const { id, name } of LABELLED.slice(0, 2)) {
      await page.goto(`${address}#/plant?id=${id}`)
      await page.getByRole('gridcell', { name, exact: true }).waitFor()
    }
  })

  onPhone('whose codes lead to this machine alone are neither printed nor saved unasked', async ({ page }) => {
    await withoutDialog(page)
    await page.getByLabel('Labels', { exact: true }).fill('3')
    await page.keyboard.press('Enter')
    await page.getByText('3 labels', { exact: true }).waitFor()
    const downloads: unknown[] = []
    page.on('download', (download) => downloads.push(download))
    const base = page.getByLabel('Address of the service, for phones')
    for (const name of ['Print', 'Save as PDF']) {
      const button = page.getByRole('button', { name, exact: true })
      await pressOn(page, button)
      const question = page.getByRole('dialog', { name: 'Print codes that lead to this device alone?' })
      await question.waitFor()
      await assertAtBothSizes(page)
      await page.keyboard.press('Escape')
      await question.waitFor({ state: 'detached' })
      await untilFocused(page, button)
      await page.keyboard.press('Enter')
      await pressOn(page, page.getByRole('button', { name: 'Give the address' }))
      await untilFocused(page, base)
    }
    assert.equal(await page.locator('body[data-asked]').count(), 0)
    await base.fill('http://192.168.1.20:8080')
    assert.equal((await print(page)).length, 1)
    assert.deepEqual(downloads, [])
    await base.fill('http://localhost:8080')
    await page.getByRole('button', { name: 'Print', exact: true }).click()
    await goOn(page)
    await page.locator('body[data-asked]').waitFor()
  })

  onPhone('can be printed before their plants are entered, and lead to the form', async (opened) => {
    const { page, address, service } = opened
    await page.getByLabel('Labels on').selectOption('roll')
    await page.getByLabel('Length of a label, mm').fill('40')
    await page.getByLabel('Address of the service, for phones').fill('http://192.168.1.20:8080')
    await page.getByLabel('Labels', { exact: true }).fill('0')
    await page.getByRole('button', { name: 'Reserve ids' }).click()
    await page.getByText('must be a whole number from 1 to 1,000').waitFor()
    await page.getByLabel('Labels', { exact: true }).fill('3')
    await page.keyboard.press('Enter')
    await page.getByText('3 labels', { exact: true }).waitFor()
    const pages = await save(page)
    const shown = pages.map(({ width, height }) => `${Math.round(width)} x ${Math.round(height)}`)
    assert.deepEqual(shown, Array(3).fill('62 x 40'))
    const codes = (await Promise.all(pages.map(codesOn))).flat()
    const ids = codes.map(({ text }) => /^http:\/\/192\.168\.1\.20:8080\/#\/plant\?id=(\d+)$/.exec(text)?.[1])
    assert.equal(codes.length, 3)
    const [id = ''] = ids
    assert.deepEqual(ids, [id, String(BigInt(id) + 1n), String(BigInt(id) + 2n)])
    const next = (await service.send('GET', '/ids')).json as { next: number }
    assert.equal(String(next.next), String(BigInt(id) + 3n), 'nobody else gets these ids')
    await page.goto(`${address}#/plant?id=${id}`)
    await page.getByLabel('Name').waitFor()
    await tabTo(page, page.getByLabel('Name'))
    await page.keyboard.type('Rosa “Peace”')
    await page.keyboard.press('Enter')
    await page.getByRole('gridcell', { name: 'Rosa “Peace”' }).waitFor()
    await untilFocused(page, page.locator(`[role=row][data-id="${id}"]`))
    assert.deepEqual(await stored(service, id), [`${id} Rosa “Peace”`])
    await pressOn(page, page.getByRole('link', { name: 'Print labels' }))
    await page.locator('.preview text', { hasText: '“Peace”' }).waitFor()
    await page.getByText('3 labels', { exact: true }).waitFor()
  })

  inBrowser('are found by the id of their plant, and added with those found by words', async ({ page, service }) => {
    const search = page.getByLabel('Search plants')
    await search.fill('#5003')
    await page.locator('.found li', { hasText: 'Seedling 3' }).waitFor()
    await untilCount(page.locator('.found input'), 1)
    await page.getByRole('button', { name: 'Add all that match' }).click()
    await page.getByText('1 label', { exact: true }).waitFor()
    await service.create({ id: 4999, name: 'Row 5004' })
    await search.fill('5004')
    await untilCount(page.locator('.found input'), 2)
    await page.getByRole('button', { name: 'Add all that match' }).click()
    await page.getByText('3 labels', { exact: true }).waitFor()
    await search.fill('#777777')
    await untilCount(page.locator('.found input'), 0)
    await service.send('DELETE', '/plants/4999')
  })

  inBrowser('number 1,000 in a document, the others follow in the next, and skip used places', async ({ page }) => {
    const part = (range: string) => line(page, `Labels ${range} of 1,001`)
    const turn = (way: 'Next' | 'Previous') => page.getByRole('button', { name: way }).first()
    const shown = async () => (await page.locator('.preview text').allTextContents()).join(' ')
    await page.getByLabel('Search plants').fill('seedling')
    await line(page, 'The first 20 that match. Type more to find others.')
    await page.getByRole('button', { name: 'Add all that match' }).click()
    await page.getByText('1,001 labels', { exact: true }).waitFor()
    await part('1 to 1,000')
    await line(page, 'Page 1 of 48')
    await page.getByLabel('Labels already used on the first sheet').fill('20')
    await line(page, 'Page 1 of 49')
    assert.deepEqual([await shown(), await page.locator('.preview g').count()], ['Seedling 0 5000', 1])
    await page.getByRole('button', { name: /^Next: Page/ }).click()
    await untilCount(page.locator('.preview g'), 21)
    await page.getByLabel('Labels already used on the first sheet').fill('21')
    await line(page, 'must be a whole number from 0 to 20')
    await page.getByLabel('Labels already used on the first sheet').fill('0')
    await pressOn(page, turn('Next'), 'Enter', 'Shift+Tab')
    await part('1,001 to 1,001')
    assert.equal(await shown(), 'Seedling 1000 6000')
    await assertAtBothSizes(page)
    await pressOn(page, turn('Previous'), 'Enter', 'Shift+Tab')
    await part('1 to 1,000')
  })

  inBrowser('have options that the page checks, and that the device remembers', async ({ page }) => {
    await page.getByText('The codes lead to this device alone.').waitFor()
    await page.getByLabel('Address of the service, for phones').fill('nowhere')
    await page.getByText('must be an address such as').waitFor()
    await page.getByLabel('Address of the service, for phones').fill('https://plants.example/x')
    await page.getByText('The code of each label leads to its plant there.').waitFor()
    await page.getByLabel('Labels on').selectOption('roll')
    await page.getByLabel('Length of a label, mm').fill('5')
    await page.getByText('must be from 15 to 300').waitFor()
    await page.getByLabel('Labels on').selectOption('own')
    await page.getByLabel('Width of a label, mm').fill('')
    await page.getByText('must be from 20 to 1,000').waitFor()
    await page.getByLabel('Width of a label, mm').fill('80')
    await page.getByText('must be at least the width of a label').waitFor()
    await page.getByLabel('From one label to the next in a row, mm').fill('82')
    await page.getByText('must be at least 251.25, where the labels end').waitFor()
    await page.getByLabel('Labels in a row').fill('2')
    await page.reload()
    await page.getByLabel('Labels in a row').waitFor()
    assert.equal(await page.getByLabel('Width of a label, mm').inputValue(), '80')
    assert.equal(await page.locator('.labels [aria-invalid=true]').count(), 0)
  })

  onPhone('are chosen, seen, saved and printed by keyboard alone', async ({ page }) => {
    await withoutDialog(page)
    const search = page.getByLabel('Search plants')
    const found = page.getByRole('group', { name: 'Plants', exact: true }).getByRole('checkbox')
    const remove = page.getByRole('button', { name: /^Remove: \d/ })
    await tabTo(page, search)
    await page.keyboard.type('Ελιά')
    await untilCount(found, 1)
    await pressOn(page, found, 'Space')
    await page.getByText('1 label', { exact: true }).waitFor()
    await tabTo(page, page.getByLabel('Labels', { exact: true }))
    await page.keyboard.type('2')
    await page.keyboard.press('Enter')
    await page.getByText('3 labels', { exact: true }).waitFor()
    await pressOn(page, page.locator('summary', { hasText: 'Show the labels' }))
    await pressOn(page, remove.nth(1))
    await page.getByText('2 labels', { exact: true }).waitFor()
    await untilFocused(page, remove.nth(1))
    await pressOn(page, page.locator('summary', { hasText: 'Show the labels' }), 'Enter', 'Shift+Tab')
    await tabTo(page, search, 'Shift+Tab')
    await page.keyboard.type('seedling 99')
    await untilCount(found, 11)
    await pressOn(page, page.getByRole('button', { name: 'Add all that match' }))
    await page.getByText('13 labels', { exact: true }).waitFor()
    await tabTo(page, page.getByLabel('Labels on'))
    await page.keyboard.press('ArrowDown')
    await tabTo(page, page.getByLabel('Labels already used on the first sheet'))
    await page.keyboard.type('29')
    await page.getByText('Page 1 of 2').waitFor()
    const next = page.getByRole('button', { name: /^Next: Page/ })
    await pressOn(page, next)
    await page.getByText('Page 2 of 2').waitFor()
    await untilFocused(page, next)
    await page.keyboard.press('Enter')
    await pressOn(page, page.getByRole('button', { name: /^Previous: Page/ }), 'Space', 'Shift+Tab')
    await page.getByText('Page 1 of 2').waitFor()
    const download = page.waitForEvent('download')
    const saving = page.getByRole('button', { name: 'Save as PDF' })
    await pressOn(page, saving, 'Enter', 'Shift+Tab')
    await pressOn(page, page.getByRole('button', { name: 'Continue all the same' }))
    assert.equal((await download).suggestedFilename(), 'labels.pdf')
    await untilFocused(page, saving)
    await pressOn(page, page.getByRole('button', { name: 'Print', exact: true }), 'Enter', 'Shift+Tab')
    await untilCount(page.locator('.printed .sheet'), 2)
    await page.evaluate(`dispatchEvent(new Event('afterprint'))`)
    await pressOn(page, page.getByRole('button', { name: 'Remove all' }), 'Enter', 'Shift+Tab')
    await page.getByText('0 labels', { exact: true }).waitFor()
    await untilFocused(page, page.locator('main'))
  })
})

suite('texts and codes of labels', () => {
  inBrowser('have lines with fields, italics, and bars beside the QR code, as the device remembers', async (opened) => {
    const { page, address } = opened
    await withoutDialog(page)
    await choose(page)
    const line = (number: number) => page.getByLabel(`Line ${number}`, { exact: true })
    await tabTo(page, line(1))
    await page.keyboard.press('End')
    await page.keyboard.type(' · {colour}')
    await page.getByText('There is no field {colour}. The fields are {name}, {tag}, {id}, and {date}.').waitFor()
    assert.equal(await page.locator('.preview').count(), 0)
    for (let i = 0; i < 8; i++) await page.keyboard.press('Backspace')
    await page.getByText('Insert into line 1:').waitFor()
    await pressOn(page, page.getByRole('button', { name: 'Date', exact: true }))
    await untilFocused(page, line(1))
    assert.equal(await line(1).inputValue(), '{name} · {date}')
    await line(3).fill('No. {id} <b>^XZ~')
    await page.getByLabel('Code', { exact: true }).selectOption('both')
    await page.getByText('The bars hold the id alone').waitFor()
    const italics = page.locator('.preview text[font-style=italic]')
    assert.equal(await italics.count(), 0)
    await page.getByLabel('Genus and species in italics').check()
    await italics.filter({ hasText: 'Ficus' }).waitFor()
    const year = String(new Date().getFullYear())
    await page.locator('.preview text', { hasText: year }).first().waitFor()
    await page.locator('.preview text', { hasText: '<b>^XZ~' }).first().waitFor()
    await assertAccessible(page)
    const expected = LABELLED.flatMap(({ id }) => [String(id), `${address}#/plant?id=${id}`])
    for (const make of [save, print]) {
      const [drawn] = make === save ? await save(page, { isAsked: true }) : await print(page)
      const codes = await codesOn(drawn ?? assert.fail())
      assert.deepEqual(codes.map(({ text }) => text).toSorted(), expected.toSorted(), make.name)
    }
    await page.reload()
    assert.equal(await line(1).inputValue(), '{name} · {date}')
    assert.equal(await page.getByLabel('Code', { exact: true }).inputValue(), 'both')
    assert.equal(await page.getByLabel('Genus and species in italics').isChecked(), true)
  })
})
