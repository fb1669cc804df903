import assert from 'node:assert/strict'
import { suite } from 'node:test'
import type { Page } from 'playwright-core'
import { assertAccessible, assertAtBothSizes } from '../support/accessible.ts'
import { openTools, pressOn, tabTo, untilFocused } from '../support/by-keyboard.ts'
import { untilCount } from '../support/labels.ts'
import { type Opened, PHONE, pageTests, until } from '../support/page.ts'
import { holdAnswers, intercept } from '../support/page-network.ts'
import { addRows, untilShown } from '../support/page-plants.ts'
import { until as untilHolds } from '../support/until.ts'

const ENDS = [-(2n ** 63n), 2n ** 63n - 1n, 2n ** 53n + 1n]
const LONG = 'Taraxacum '.repeat(60).trim()
const LONG_TAG = 'greenhouse '.repeat(18).trim()
const ARABIC = 'وردة دمشقية (Rosa × damascena)'
const HOSTILE = '<img src=x onerror=alert(1)>&amp;'
const COUNT = 2000

const names = (page: Page): Promise<string[]> => page.locator('[role=row][data-id] .name').allTextContents()

/** Fills the store of the file once: plants of two tags, and some that are hard to show. */
async function fill({ service }: Opened): Promise<void> {
  if ((await service.send('GET', '/plants/1')).status === 200) return
  const rows = Array.from({ length: COUNT }, (_, i) => {
    const tag = i % 2 === 0 ? 'even' : 'odd'
    return JSON.stringify({ id: i + 1, name: `Plant ${String(i + 1).padStart(5, '0')}`, tag })
  })
  for (const id of ENDS) rows.push(`{"id":${id},"name":"End ${id}"}`)
  rows.push(JSON.stringify({ id: 9001, name: LONG, tag: 'Ähre' }), JSON.stringify({ id: 9002, name: ARABIC }))
  rows.push(JSON.stringify({ id: 9003, name: HOSTILE }), JSON.stringify({ id: 9004, name: 'Tagged', tag: LONG_TAG }))
  await addRows(service, rows)
}

suite('the table of the page', () => {
  const { inBrowser, onPhone } = pageTests({ begin: fill })

  // First in the file, while the store is empty.
  onPhone('leads from an empty store to an import, a first plant and labels', { begin: null }, async ({ page }) => {
    await page.getByText('There are no plants yet.').waitFor()
    await assertAccessible(page)
    for (const [name, view] of [
      ['Import a spreadsheet', 'import'],
      ['Print labels first', 'labels'],
    ] as const) {
      await pressOn(page, page.getByRole('link', { name }))
      await page.waitForURL(new RegExp(`#/${view}$`))
      await page.goBack()
    }
    await pressOn(page, page.getByRole('button', { name: 'Enter the first plant' }))
    await page.getByLabel('Name', { exact: true }).waitFor()
    await page.getByLabel('Search plants').fill('nothing of that kind')
    await page.getByText('No plant matches.').waitFor()
    await page.getByText('Import a spreadsheet').waitFor({ state: 'detached' })
    // The table may go in a later render than the one with this text.
    await page.getByRole('grid').waitFor({ state: 'detached' })
    await pressOn(page, page.getByRole('button', { name: 'Add “nothing of that kind”' }))
    assert.equal(await page.getByLabel('Name', { exact: true }).inputValue(), 'nothing of that kind')
    await pressOn(page, page.getByRole('button', { name: 'Clear the search' }))
    await page.getByText('Import a spreadsheet').waitFor()
  })

  inBrowser('searches as the person types, without case and accents, and keeps it in the address', async ({ page }) => {
    await page.getByLabel('Search plants').pressSequentially('AHRE tarax')
    await page.getByText('That is all.').waitFor()
    await untilCount(page.locator('[role=row][data-id]'), 1)
    assert.deepEqual(await names(page), [LONG])
    // The address follows a pause, and the person may type slowly.
    await page.waitForURL(/q=AHRE\+tarax/)
    await page.reload()
    await untilCount(page.locator('[role=row][data-id]'), 1)
    assert.equal(await page.getByLabel('Search plants').inputValue(), 'AHRE tarax')
    await page.getByLabel('Search plants').fill('nothing of that kind')
    await page.getByText('No plant matches.').waitFor()
  })

  inBrowser('finds a plant by its exact id, before those found by words', async ({ page }) => {
    const [min, max, odd] = ENDS.map(String)
    const search = page.getByLabel('Search plants')
    for (const [text, ids] of [
      ['9', ['9', min, odd, max]],
      ['#9003', ['9003']],
      [' 9003 ', ['9003']],
      [min, [min]],
      [`#${max}`, [max]],
      [odd, [odd]],
      ['9007199254740992', []],
      ['9223372036854775808', [min]],
      ['# 9004', ['9004']],
      [`#${'0'.repeat(20)}9004`, ['9004']],
      ['9003x', []],
      ['#', undefined],
    ] as const) {
      const answered = page.waitForResponse(/[?&]q=/)
      await search.fill(text ?? '')
      await answered
      if (ids === undefined) continue
      await untilShown(page, ids)
    }
    await search.fill('#9')
    await untilShown(page, ['9', min, odd, max])
    await page.getByText('Tags', { exact: true }).click()
    await page.getByLabel('odd 1,000').check()
    await page.getByText('No plant matches.').waitFor()
    await page.getByLabel('even 1,000').check()
    await untilShown(page, ['9'])
  })

  inBrowser('says so if a plant cannot be read by its id, and shows it at a second attempt', async ({ page }) => {
    const pass = await intercept(page, '**/plants/9003', (route) => route.fulfill({ status: 403, body: 'a proxy' }))
    await page.getByLabel('Search plants').fill('9003')
    await page.getByText('HTTP status 403.').waitFor()
    await pass()
    await page.locator('.foot').getByRole('button', { name: 'Try again' }).click()
    await untilShown(page, ['9003'])
  })

  inBrowser('shows a plant found by its id only once, however many pages have its words', async ({ page, service }) => {
    // So low that the first page lies outside the margin once the last plant is shown.
    await page.setViewportSize({ width: 1280, height: 500 })
    const rows = Array.from({ length: 150 }, (_, i) => JSON.stringify({ id: 77_000 + i, name: 'Zea 77149' }))
    await addRows(service, rows)
    await page.getByLabel('Search plants').fill('77149')
    await until(page, `document.querySelector('[role=row][data-id]')?.dataset.id === '77149'`)
    while ((await page.getByText('That is all.').count()) === 0) {
      await page.evaluate('scrollTo(0, document.body.scrollHeight)')
    }
    const ids = () => page.locator('[role=row][data-id] .id').allTextContents()
    await page.evaluate('scrollTo(0, document.body.scrollHeight)')
    // The second page, or both as one where the table has read its plants again, as others added them.
    await until(page, `document.querySelectorAll('[role=rowgroup]:not(.heads)').length === 1`)
    const last = await ids()
    await page.evaluate('scrollTo(0, 0)')
    await until(page, `document.querySelector('[role=row][data-id]')?.dataset.id === '77149'`)
    const first = await ids()
    assert.equal(new Set([...first, ...last]).size, 150)
    for (const part of [first, last]) assert.equal(part.length, new Set(part).size)
    assert.ok(first.length === 150 || !last.includes('77149'), 'the second page repeats the plant')
  })

  inBrowser('shows all plants again when the person clicks on Plants right after the last key', async ({ page }) => {
    const all = page.getByRole('link', { name: 'Plants', exact: true })
    await all.click()
    await page.waitForURL(/#\/plants$/)
    // The click comes before the address has the search.
    await page.getByLabel('Search plants').fill('tarax')
    await all.click()
    await until(page, `document.querySelector('input[type=search]').value === ''`)
    await page.getByText(`End ${ENDS[0]}`).waitFor()
  })

  inBrowser('leads where the person goes right after the last key, not back to the search', async ({ page }) => {
    await page.getByLabel('Search plants').fill('even')
    // The click writes what was typed, as does the clock, before the page hears of the new address.
    await page.evaluate(`location.hash = '#/stocktake?tag=odd'; document.body.click()`)
    await page.getByRole('heading', { name: 'Stocktake' }).waitFor()
  })

  inBrowser('aborts a search at the next key, and never shows its answer', async ({ page }) => {
    const ended: string[] = []
    page.on('requestfailed', (request) => ended.push(request.url()))
    const release = await holdAnswers(page, /[?&]q=Plant%200000&/)
    await page.getByLabel('Search plants').fill('Plant 0000')
    await release.untilHeld()
    await page.getByLabel('Search plants').fill('Plant 00007')
    await untilCount(page.locator('[role=row][data-id]'), 1)
    release()
    assert.deepEqual(await names(page), ['Plant 00007'])
    await untilHolds(() => ended.some((url) => /q=Plant%200000&/.test(url)), 'the first search is not aborted')
  })

  onPhone('offers the tags that begin with the text of a search, by keyboard alone', async ({ page }) => {
    await page.getByLabel('Search plants').fill('AHR')
    const offer = page.getByRole('button', { name: 'Tag: Ähre (1)' })
    await offer.waitFor()
    await page.getByLabel('Search plants').fill('ev')
    const even = page.getByRole('button', { name: 'Tag: even (1,000)' })
    await even.waitFor()
    await offer.waitFor({ state: 'detached' })
    await assertAtBothSizes(page)
    await page.getByLabel('Search plants').focus()
    await tabTo(page, even)
    await page.keyboard.press('Enter')
    await until(page, `document.querySelector('input[type=search]').value === ''`)
    await page.waitForURL(/tag=even/)
    await even.waitFor({ state: 'detached' })
    await page.getByText('Plant 00001', { exact: true }).waitFor()
  })

  inBrowser('shows names as text, never as HTML, and each script in its direction', async ({ page }) => {
    await page.getByLabel('Search plants').fill('damascena')
    const name = page.locator('.name', { hasText: ARABIC })
    await name.waitFor()
    const direction = await page.evaluate(
      "getComputedStyle(document.querySelector('[role=row][data-id] .name')).direction",
    )
    assert.equal(direction, 'rtl')
    await page.getByLabel('Search plants').fill('onerror')
    await page.locator('.name', { hasText: HOSTILE }).waitFor()
    assert.equal(await page.locator('main img').count(), 0)
  })

  inBrowser('reads pages while the person scrolls, and keeps few rows in the document', async ({ page }) => {
    await page.getByLabel('Search plants').fill('plant')
    const isAtEnd = async () => {
      await page.evaluate('scrollTo(0, document.body.scrollHeight)')
      return (await page.getByText('That is all.').count()) > 0
    }
    await untilHolds(isAtEnd, 'the page does not read all plants')
    const last = page.locator(`[role=row][data-id="${COUNT}"]`)
    await last.waitFor()
    assert.equal(await last.getAttribute('aria-rowindex'), String(COUNT + 1))
    await until(page, `document.querySelectorAll('[role=row][data-id]').length < 800`)
    await page.evaluate('scrollTo(0, 0)')
    await page.locator('[role=row][data-id="1"]').waitFor()
  })

  onPhone('can be searched, filtered, sorted and walked by keyboard alone', async ({ page }) => {
    await tabTo(page, page.getByLabel('Search plants'))
    await page.keyboard.type('plant 0000')
    await untilShown(page, [1, 2, 3, 4, 5, 6, 7, 8, 9])
    await openTools(page)
    await pressOn(page, page.locator('summary', { hasText: 'Tags' }))
    await pressOn(page, page.getByLabel('even 1,000'), 'Space')
    await untilShown(page, [1, 3, 5, 7, 9])
    await page.keyboard.press('Escape')
    await pressOn(page, page.getByRole('button', { name: /^Id/ }))
    await untilShown(page, [9, 7, 5, 3, 1])
    await tabTo(page, page.locator('[role=row][data-id="9"]'))
    for (const [key, id] of [
      ['ArrowDown', 7],
      ['End', 1],
      ['Home', 9],
    ] as const) {
      await page.keyboard.press(key)
      await untilFocused(page, page.locator(`[data-id="${id}"]`))
    }
    assert.equal(await page.evaluate('getComputedStyle(document.activeElement).outlineStyle'), 'solid')
  })

  onPhone('begins with plants: tools unfold, a finger opens a row, tags stay', { hasTouch: true }, async ({ page }) => {
    await page.getByRole('button', { name: 'Not now' }).tap()
    let top = Number.POSITIVE_INFINITY
    const isHigh = async () => {
      top = (await page.locator('[role=row][data-id]').first().boundingBox())?.y ?? top
      return top < 0.4 * PHONE.height
    }
    await untilHolds(isHigh, () => `the first plant is at ${top}`)
    const tags = page.locator('summary', { hasText: 'Tags' })
    assert.equal(await tags.isVisible(), false)
    await page.getByRole('button', { name: 'Tools' }).tap()
    await tags.tap()
    await page.getByLabel('even 1,000').check()
    await page.keyboard.press('Escape')
    await page.locator('[data-id="2"]').waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Tools' }).tap()
    await tags.waitFor({ state: 'hidden' })
    assert.ok(await page.getByRole('button', { name: 'Remove the filter even' }).isVisible())
    const name = await page.locator('[data-id="5"] .name').boundingBox()
    assert.ok(name !== null)
    await page.touchscreen.tap(name.x + name.width / 2, name.y + name.height / 2)
    await page.waitForURL(/plant\?id=5$/)
    await page.getByRole('heading', { level: 1, name: /5$/ }).waitFor()
  })

  inBrowser('shows what deletes a plant where the pointer or the focus is', async ({ page }) => {
    const opacity = (id: number): string =>
      `getComputedStyle(document.querySelector('[data-id="${id}"] .delete')).opacity`
    await page.locator('[data-id="2"]').hover()
    await until(page, `${opacity(2)} === '1' && ${opacity(3)} === '0'`)
    await tabTo(page, page.locator('[role=row][data-id]').first())
    for (const id of ['1', '2', '3']) {
      await page.keyboard.press('ArrowDown')
      await untilFocused(page, page.locator(`[data-id="${id}"]`))
    }
    await until(page, `${opacity(3)} === '1'`)
  })

  // Last in the file, as it adds plants.
  inBrowser('offers and finds a tag behind thousands of others', async ({ page, service }) => {
    const rows = Array.from({ length: 5100 }, (_, i) => `${20_000 + i},Aloe,${i === 0 ? 'zz bed' : `acc/${i}`}`)
    await service.importFile(['id,name,tag', ...rows].join('\n'), { type: 'text/csv' })
    await page.getByLabel('Search plants').fill('zz')
    await page.getByRole('button', { name: 'Tag: zz bed (1)' }).waitFor()
    await page.getByLabel('Search plants').fill('')
    await page.locator('.tag-filter summary').click()
    await page.getByRole('button', { name: 'Show more' }).waitFor()
    await page.locator('#tag-part').fill('zz')
    await page.getByLabel('zz bed 1').check()
    await page.waitForURL(/tag=zz/)
    await page.getByRole('button', { name: 'Add a plant' }).click()
    await page.getByLabel('Tag', { exact: true }).fill('zz')
    await page.locator('#new-tags option[value="zz bed"]').waitFor({ state: 'attached' })
  })
})
