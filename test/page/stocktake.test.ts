import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import fc from 'fast-check'
import type { Page } from 'playwright-core'
import { Stocktake } from '../../web/src/stocktake/stocktake.ts'
import { assertAccessible, assertAtBothSizes, assertFits } from '../support/accessible.ts'
import {
  openTools,
  pressAction,
  pressOn,
  signOut,
  signOver,
  tabTo,
  typeLabel,
  undoFromNotice,
  untilFocused,
} from '../support/by-keyboard.ts'
import { untilCount } from '../support/labels.ts'
import { type Opened, pageTests } from '../support/page.ts'
import { saved } from '../support/page-files.ts'
import { intercept } from '../support/page-network.ts'
import { holds } from '../support/property.ts'
import { SECRET, type Service } from '../support/service.ts'
import { lockOut } from '../support/tokens.ts'

suite('what the device keeps of a stocktake', () => {
  test('is the whole stocktake, whichever ids its plants have', () => {
    const id = fc.oneof(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), fc.bigInt({ min: -9n, max: 99n }))
    const ids = fc.uniqueArray(id, { minLength: 1, maxLength: 100 })
    holds(
      fc.property(ids, fc.array(id), fc.string({ unit: 'grapheme' }), (set, found, q) => {
        const stocktake = new Stocktake({ q, tags: ['', q] }, set, 1)
        for (const each of [...found, ...set.slice(0, set.length / 2)]) stocktake.find(each)
        stocktake.hasSet(q)
        const read = Stocktake.read({ set: stocktake.setText, found: stocktake.foundText })
        assert.ok(read)
        assert.deepEqual(read.ofSet(true), stocktake.ofSet(true))
        assert.deepEqual(read.ofSet(false), stocktake.ofSet(false))
        assert.deepEqual(read.extra.value, stocktake.extra.value)
        assert.deepEqual(read.filters, stocktake.filters)
        assert.equal(
          read.thereCount.value,
          new Set([...found, ...set.slice(0, set.length / 2)]).intersection(new Set(set)).size,
        )
      }),
    )
  })

  test('is short even if each id is as far as possible from the others, and damage to it is no stocktake', () => {
    const step = 2n ** 64n / 100_000n
    const ids = Array.from({ length: 100_000 }, (_, i) => -(2n ** 63n) + BigInt(i) * step)
    const stocktake = new Stocktake({ q: '', tags: [] }, ids, 1)
    for (const id of ids) stocktake.find(id)
    // Browsers give a page 2.5 million characters or more.
    assert.ok(stocktake.setText.length + stocktake.foundText.length < 1_700_000)
    const { foundText: found, setText: set } = new Stocktake({ q: '', tags: [] }, [1n, 2n], 1)
    for (const text of ['', '{', '[]', 'null', '{"steps":"1"}', set.replace('1 1', '1 x')]) {
      assert.equal(Stocktake.read({ set: text, found }), undefined, text)
    }
    for (const text of ['', '{"there":"é","extra":[],"tags":[]}', '{"there":"","extra":["x"]}']) {
      assert.equal(Stocktake.read({ set, found: text }), undefined, text)
    }
  })
})

suite('the page, for a stocktake,', () => {
  const { inBrowser, onPhone } = pageTests()
  const TAG = 'bed 3'

  /** Stores six plants of a bed and two others, as they were before any stocktake. */
  const plant = async (service: Service, first: number) => {
    const names = ['Acer griseum', 'Begonia rex', 'Cyclamen coum', 'Dahlia', 'Erica', 'Ficus', '=1+1', 'Hedera']
    for (const [i, name] of names.entries()) {
      await service.create({ id: first + i, name: `${name} x${first}`, tag: i < 6 ? TAG + first : 'elsewhere' })
    }
  }
  const count = (page: Page, kind: string, wanted: number) =>
    page.getByRole('radio', { name: `${kind} ${wanted}`, exact: true }).waitFor()
  const show = (page: Page, kind: string) => page.getByRole('radio', { name: kind }).check()
  const rows = (page: Page) => page.locator('.stock li')

  /** Begins a stocktake of the bed. */
  const begin = async ({ page, address }: Opened, first: number) => {
    await page.goto(`${address}#/stocktake?${new URLSearchParams({ tag: TAG + first })}`)
    await page.getByRole('button', { name: 'Begin with the plants that match' }).click()
    await page.getByText('0 of 6 plants there').waitFor()
  }

  onPhone('shows what is missing and not expected, retags and exports it, by keyboard alone', async (opened) => {
    const first = 200
    const { page, service } = opened
    await plant(service, first)
    await page.reload()
    await tabTo(page, page.getByLabel('Search plants'))
    await page.keyboard.type(`bed 3${first}`)
    await untilCount(page.locator('[role=row][data-id]'), 6)
    await openTools(page)
    await pressOn(page, page.getByRole('link', { name: 'Count these plants' }))
    await page.getByText('Choose the plants that should be there.').waitFor()
    await pressOn(page, page.getByRole('button', { name: 'Begin with the plants that match' }))
    await page.getByText('0 of 6 plants there').waitFor()
    await count(page, 'Missing', 6)
    // This browser has no camera.
    await pressOn(page, page.getByRole('button', { name: 'Scan labels' }))
    await page.getByText('This device has no camera.').waitFor()
    await assertAtBothSizes(page)
    await pressOn(page, page.getByRole('button', { name: 'Close the camera' }), 'Enter', 'Shift+Tab')

    // A hand scanner types labels; one plant is of another bed, and one is not entered yet.
    await tabTo(page, page.getByLabel('Id of a label'))
    for (const [typed, said] of [
      [first, `Acer griseum x${first} is there.`],
      [`${new URL(page.url()).origin}/#/plant?id=${first + 1}`, `Begonia rex x${first} is there.`],
      [first, 'was ticked off before.'],
      [first + 6, `=1+1 x${first} is not one of these plants.`],
      [first + 50, `No plant has the id ${first + 50} yet.`],
    ]) {
      await page.keyboard.type(`${typed}\n`)
      await page.locator('.last').getByText(String(said)).waitFor()
    }
    await page.keyboard.type('https://example.com/\n')
    await page.getByText('This code is no label of this service.').waitFor()
    await tabTo(page, page.getByRole('radio', { name: 'Missing 4' }))
    await tabTo(page, page.getByLabel('Find in this list'))
    await page.keyboard.type('cyclámen')
    await untilCount(rows(page), 1)
    await pressOn(page, rows(page).getByRole('checkbox'), 'Space')
    await page.getByText('3 of 6 plants there').waitFor()
    await page.getByText('No plant of this list matches.').waitFor()
    await tabTo(page, page.getByLabel('Find in this list'), 'Shift+Tab')
    await page.keyboard.press('ControlOrMeta+A')
    await page.keyboard.press('Delete')
    await untilCount(rows(page), 3)

    const missing = page.getByRole('radio', { name: 'Missing 3' })
    await tabTo(page, missing, 'Shift+Tab')
    await page.keyboard.press('ArrowRight')
    await untilFocused(page, page.getByRole('radio', { name: 'There 3' }))
    await untilCount(rows(page), 3)
    await page.keyboard.press('ArrowRight')
    await untilCount(rows(page), 2)
    await page.getByRole('link', { name: 'Enter it' }).waitFor()
    await assertAtBothSizes(page)
    await pressOn(page, page.getByLabel('More actions'))
    const file = await saved(opened, 'Export as CSV')
    const line = (i: number, name: string, tag: string, kind: string) => `${first + i},${name} x${first},${tag},${kind}`
    assert.deepEqual(file.split('\r\n'), [
      '\ufeffid,name,tag,stocktake',
      line(3, 'Dahlia', TAG + first, 'Missing'),
      line(4, 'Erica', TAG + first, 'Missing'),
      line(5, 'Ficus', TAG + first, 'Missing'),
      line(0, 'Acer griseum', TAG + first, 'There'),
      line(1, 'Begonia rex', TAG + first, 'There'),
      line(2, 'Cyclamen coum', TAG + first, 'There'),
      `${first + 50},,,Not expected`,
      line(6, '=1+1', 'elsewhere', 'Not expected'),
      '',
    ])
    await page.getByText('1 text begins with =, +, - or @.').waitFor()

    await pressOn(page, page.getByRole('button', { name: `Leave out: ${first + 50}` }))
    await count(page, 'Not expected', 1)
    await tabTo(page, page.getByRole('radio', { name: 'Not expected 1' }), 'Shift+Tab')
    await page.keyboard.press('ArrowLeft')
    await page.keyboard.press('ArrowLeft')
    await untilFocused(page, missing)
    await pressAction(page, 'Set tag')
    await tabTo(page, page.getByLabel('Tag', { exact: true }))
    await page.keyboard.type('lost')
    await page.keyboard.press('Enter')
    await page.locator('.notice').getByText('Set the tag lost for 3 plants').waitFor()
    await rows(page).first().getByText('lost').waitFor()
    assert.match((await service.send('GET', `/plants/${first + 3}`)).body, /"tag":"lost"/)
    await page.reload()
    await count(page, 'Missing', 3)
    await rows(page).first().getByText('lost').waitFor()
    await rows(page).first().getByText(`Dahlia x${first}`).waitFor()
    await pressOn(page, page.getByRole('button', { name: 'End the stocktake' }))
    await assertAtBothSizes(page)
    await pressOn(page, page.getByRole('dialog').getByRole('button', { name: 'End the stocktake' }))
    await page.getByText('Choose the plants that should be there.').waitFor()
    for (let i = 0; i < 8; i++) await service.send('DELETE', `/plants/${first + i}`)
  })

  inBrowser('undoes a change of the result as a whole, and changes plants as they are now', async (opened) => {
    const { page, service } = opened
    await plant(service, 300)
    await begin(opened, 300)
    // Another client renames one missing plant and deletes another one meanwhile.
    await service.sendJson('PATCH', '/plants/300', { name: 'Acer palmatum' })
    await service.send('DELETE', '/plants/301')
    await typeLabel(page, 302)
    await pressAction(page, 'Remove tag')
    await page.getByRole('button', { name: 'Change 4 plants' }).click()
    await page.locator('.notice').getByText('Removed the tag of 4 plants').waitFor()
    assert.deepEqual((await service.send('GET', '/plants/300')).json, { id: 300, name: 'Acer palmatum' })
    await rows(page).getByText('Acer palmatum').waitFor()
    await rows(page).getByText('Deleted', { exact: true }).waitFor()
    const [action] = (await service.send('GET', '/actions?limit=1')).json as { title: string }[]
    assert.equal(action?.title, 'Stocktake: Remove tag')
    await undoFromNotice(page, '4 plants')
    await page.getByText('Undone for 4 plants.').waitFor()
    await rows(page).first().getByText(TAG).waitFor()
    assert.match((await service.send('GET', '/plants/300')).body, /"tag":"bed 3300"/)
  })

  inBrowser('survives a reload and an expired sign-in, and is forgotten on signing out', async (opened) => {
    const { page, context, service, address } = opened
    await plant(service, 400)
    const { secret, token } = await service.issueToken(['plants:read'])
    await signOver(page, address, secret)
    await begin(opened, 400)
    await page.getByLabel('More actions').click()
    assert.equal(await page.getByRole('button', { name: 'Set tag' }).count(), 0)
    await rows(page).getByLabel('Dahlia').click()
    await page.getByText('1 of 6 plants there').waitFor()
    await page.reload()
    await page.getByText('1 of 6 plants there').waitFor()
    await show(page, 'There')
    await rows(page).getByText('Dahlia x400').waitFor()

    // A second tab counts on.
    const second = await context.newPage()
    await second.goto(`${address}#token=${secret}`)
    await second.locator('#search').waitFor()
    await second.goto(`${address}#/stocktake`)
    await second.getByText('1 of 6 plants there').waitFor()
    await typeLabel(second, 401)
    await page.getByText('2 of 6 plants there').waitFor()
    await second.close()

    await lockOut(service, { secret, token })
    await typeLabel(page, 999999)
    await page.getByText('The token has expired or was revoked.').waitFor()
    await untilFocused(page, page.getByLabel('Access token'))
    await page.keyboard.type(`${SECRET}\n`)
    await page.getByText('2 of 6 plants there').waitFor()
    await count(page, 'Not expected', 1)
    await signOut(page)
    await page.getByText('the stocktake, in which you have found 2 of 6').waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Sign out' }).click()
    await page.getByLabel('Access token').waitFor()
    assert.equal(await page.evaluate(`Object.keys(localStorage).filter((key) => key.includes('stocktake')).length`), 0)
  })

  onPhone('counts a named search, which is saved, renamed and deleted by keyboard', async (opened) => {
    const first = 700
    const { page, service, address } = opened
    await plant(service, first)
    const panel = page.locator('summary', { hasText: 'Saved' })
    const search = (name: string) => page.getByRole('button', { name, exact: true })
    await page.reload()
    await page.locator('[role=row][data-id]').first().waitFor()
    await openTools(page)
    await pressOn(page, panel)
    await page.getByText('Search, or choose a tag.').waitFor()
    await page.keyboard.press('Escape')
    for (const [words, name] of [
      [`acer x${first}`, 'Maples'],
      [`bed 3${first}`, 'Third bed'],
      [`ficus x${first}`, 'Maples'],
    ] as const) {
      await tabTo(page, page.getByLabel('Search plants'), 'Shift+Tab')
      await page.keyboard.press('ControlOrMeta+A')
      await page.keyboard.type(words)
      await pressOn(page, panel)
      await tabTo(page, page.getByLabel('Save this search as'))
      await page.keyboard.type(`${name}\n`)
      await search(name).waitFor()
      await page.keyboard.press('Escape')
      await untilFocused(page, panel)
    }
    await page.keyboard.press('Enter')
    await assertAtBothSizes(page)
    await pressOn(page, search('Third bed'))
    await untilCount(page.locator('[role=row][data-id]'), 6)
    await untilFocused(page, panel)
    await page.keyboard.press('Enter')
    await pressOn(page, search('Rename: Third bed'))
    await untilFocused(page, page.getByLabel('Rename: Third bed'))
    await assertFits(page)
    await page.keyboard.type('Bed 3\n')
    await search('Bed 3').waitFor()
    await pressOn(page, search('Delete: Maples'), 'Enter', 'Shift+Tab')
    await untilCount(page.locator('.searches li'), 1)
    await page.locator('.notice').getByRole('button', { name: 'Undo' }).click()
    await untilCount(page.locator('.searches li'), 2)

    await page.goto(`${address}#/stocktake`)
    await page.reload()
    await pressOn(page, panel)
    await pressOn(page, search('Maples'))
    assert.equal(await page.getByLabel('Search plants').inputValue(), `ficus x${first}`)
    await page.keyboard.press('Enter')
    await pressOn(page, search('Bed 3'))
    await assertAtBothSizes(page)
    await pressOn(page, page.getByRole('button', { name: 'Begin with the plants that match' }))
    await page.getByText('0 of 6 plants there').waitFor()
    await page.getByText(`All plants that match bed 3${first}`).waitFor()
  })

  inBrowser('says so if the device has no room to keep it', async (opened) => {
    const { page, service } = opened
    await plant(service, 500)
    await page.evaluate(`{
      let text = 'x'.repeat(2 ** 22)
      for (let i = 0; text !== ''; ) {
        try {
          localStorage.setItem('full-' + i++, text)
        } catch {
          text = text.slice(text.length / 2)
          if (text.length === 1) text = ''
        }
      }
    }`)
    await begin(opened, 500)
    await page.getByText('This browser has no room to keep the stocktake.').waitFor()
    await rows(page).getByLabel('Dahlia').click()
    await page.getByText('1 of 6 plants there').waitFor()
    await assertAccessible(page)
  })

  inBrowser('counts 100,000 plants, and no more', async ({ page, address }) => {
    let most = 100_000
    // The service would take ten seconds to store so many.
    await intercept(page, '**/plants/export*', async (route) => {
      const row = (_: unknown, i: number) => `{"id":${1_000_000 + i},"name":"Seedling ${i}","tag":"nursery"}\n`
      const headers = { 'Content-Type': 'application/x-ndjson', 'X-Request-Id': 'of-the-test' }
      await route.fulfill({ headers, body: Array.from({ length: most }, row).join('') })
    })
    await page.goto(`${address}#/stocktake?tag=nursery`)
    const start = page.getByRole('button', { name: 'Begin with the plants that match' })
    await start.click()
    await page.getByText('0 of 100,000 plants there').waitFor()
    await untilCount(rows(page), 200)
    for (const i of [5, 99_999]) {
      await typeLabel(page, 1_000_000 + i)
      await page.locator('.last').getByText(`Seedling ${i} is there.`).waitFor()
    }
    await page.reload()
    await page.getByText('2 of 100,000 plants there').waitFor()
    await show(page, 'There')
    await rows(page).getByText('Seedling 99999').waitFor()
    await page.getByRole('button', { name: 'End the stocktake' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'End the stocktake' }).click()
    most += 1
    await start.click()
    await page.getByText('More than 100,000 plants').waitFor()
  })
})
