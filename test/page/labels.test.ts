import assert from 'node:assert/strict'
import { suite } from 'node:test'
import { isInFonts } from '../../web/src/labels/pdf.ts'
import { L7160, placeOf } from '../../web/src/labels/sheets.ts'
import { assertAccessible, assertAtBothSizes, assertFits } from '../support/accessible.ts'
import { openTools, pressOn, tabTo, untilFocused } from '../support/by-keyboard.ts'
import { inkIn, shareNear } from '../support/ink.ts'
import { untilCount } from '../support/labels.ts'
import { choose, goOn, LABELLED, openLabels, print, save, withoutDialog } from '../support/labels-page.ts'
import { pageTests } from '../support/page.ts'
import { codesOn } from '../support/pdf-pages.ts'

suite('labels', () => {
  const { inBrowser, onPhone } = pageTests()

  inBrowser('of a bed or of a search are chosen at once, in place of those of before', async (opened) => {
    const { page } = opened
    await openLabels(opened)
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

  inBrowser('can be saved and printed on a sheet, with codes that lead to their plants', async (opened) => {
    const { page, address } = opened
    await withoutDialog(opened)
    await openLabels(opened)
    await choose(page)
    const expected = LABELLED.map(({ id }) => `${address}#/plant?id=${id}`)
    for (const make of [save, print]) {
      const pages = make === save ? await save(page, { isAsked: true }) : await print(page)
      assert.equal(pages.length, 1, make.name)
      for (const drawn of pages) {
        assert.ok(Math.abs(drawn.width - 210) < 0.2 && Math.abs(drawn.height - 297) < 0.2, `${drawn.width} mm`)
        const codes = await codesOn(drawn)
        assert.deepEqual(new Set(codes.map(({ text }) => text)), new Set(expected), make.name)
        for (const { text, left, top, right, bottom } of codes) {
          const { x, y } = placeOf(L7160, expected.indexOf(text))
          assert.ok(left > x && right < x + 63.5 && top > y && bottom < y + 38.1, `${make.name}: ${text}`)
        }
      }
    }
    for (const { id, name } of [LABELLED[0], LABELLED[1]].map((plant) => plant ?? assert.fail())) {
      await page.goto(`${address}#/plant?id=${id}`)
      await page.getByRole('gridcell', { name, exact: true }).waitFor()
    }
  })

  inBrowser('look the same in the PDF file as printed by the browser, in any script', async (opened) => {
    const { page } = opened
    await withoutDialog(opened)
    await openLabels(opened)
    await choose(page)
    const [[saved], [printed]] = [await save(page, { isAsked: true }), await print(page)]
    assert.ok(saved && printed)
    for (const [i, { name }] of LABELLED.entries()) {
      const { x, y } = placeOf(L7160, i)
      const box = { x: x + 2, y: y + 2, width: 33, height: 34 }
      const one = inkIn(saved, box)
      const other = inkIn(printed, box)
      assert.ok(one.size > 500, `${name}: ${one.size} dots`)
      const there = shareNear(one, other)
      const back = shareNear(other, one)
      // The file sets Western letters in Helvetica, each in the place of that of the browser's font.
      const least = isInFonts(name) ? 0.95 : 0.99
      assert.ok(there > least && back > least, `${name}: ${there} and ${back} of the dots are those of the other`)
    }
  })

  onPhone('whose codes lead to this machine alone are neither printed nor saved unasked', async (opened) => {
    const { page } = opened
    await withoutDialog(opened)
    await openLabels(opened)
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

  onPhone('can be printed before their plants are entered, and lead to the form for the plant', async (opened) => {
    const { page, address, service } = opened
    await openLabels(opened)
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
    await assertAccessible(page)
    await tabTo(page, page.getByLabel('Name'))
    await page.keyboard.type('Rosa “Peace”')
    await page.keyboard.press('Enter')
    await page.getByRole('gridcell', { name: 'Rosa “Peace”' }).waitFor()
    await untilFocused(page, page.locator(`[role=row][data-id="${id}"]`))
    await assertAccessible(page)
    await assertFits(page)
    assert.deepEqual((await service.send('GET', `/plants/${id}`)).json, { id: Number(id), name: 'Rosa “Peace”' })
    await pressOn(page, page.getByRole('link', { name: 'Print labels' }))
    await page.locator('.preview text', { hasText: '“Peace”' }).waitFor()
    await page.getByText('3 labels', { exact: true }).waitFor()
  })

  inBrowser('are found by the id of their plant, and added with those found by words', async (opened) => {
    const { page, service } = opened
    await openLabels(opened)
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

  inBrowser('beyond 1,000 are in documents one after the other', async (opened) => {
    const { page } = opened
    await openLabels(opened)
    const part = (range: string) => page.getByText(`Labels ${range} of 1,001`).waitFor()
    const turn = (way: 'Next' | 'Previous') => page.getByRole('button', { name: way }).first()
    await page.getByLabel('Search plants').fill('seedling')
    await page.getByText('The first 20 that match. Type more to find others.').waitFor()
    await page.getByRole('button', { name: 'Add all that match' }).click()
    await page.getByText('1,001 labels', { exact: true }).waitFor()
    await part('1 to 1,000')
    await pressOn(page, turn('Next'))
    await part('1,001 to 1,001')
    assert.equal((await page.locator('.preview text').allTextContents()).join(' '), 'Seedling 1000 6000')
    await assertAtBothSizes(page)
    await pressOn(page, turn('Previous'), 'Enter', 'Shift+Tab')
    await part('1 to 1,000')
  })

  inBrowser('number at most 1,000 in a document, and skip used places of the first sheet', async (opened) => {
    const { page } = opened
    await openLabels(opened)
    await page.getByLabel('Search plants').fill('seedling')
    await page.getByText('The first 20 that match').waitFor()
    await page.getByRole('button', { name: 'Add all that match' }).click()
    await page.getByText('Page 1 of 48').waitFor()
    await page.getByLabel('Labels already used on the first sheet').fill('20')
    await page.getByText('Page 1 of 49').waitFor()
    assert.equal((await page.locator('.preview text').allTextContents()).join(' '), 'Seedling 0 5000')
    assert.equal(await page.locator('.preview g').count(), 1)
    await page.getByRole('button', { name: /^Next: Page/ }).click()
    await untilCount(page.locator('.preview g'), 21)
    await page.getByLabel('Labels already used on the first sheet').fill('21')
    await page.getByText('must be a whole number from 0 to 20').waitFor()
  })

  inBrowser('have options that the page checks, and that the device remembers', async (opened) => {
    const { page } = opened
    await openLabels(opened)
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

  onPhone('are chosen, seen, saved and printed by keyboard alone', async (opened) => {
    const { page } = opened
    await withoutDialog(opened)
    await openLabels(opened)
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
