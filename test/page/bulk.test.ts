import assert from 'node:assert/strict'
import { suite } from 'node:test'
import type { Locator, Page } from 'playwright-core'
import { assertAccessible, assertAtBothSizes } from '../support/accessible.ts'
import { pressAction, pressOn, signOver, tabTo, undoFromNotice, untilFocused } from '../support/by-keyboard.ts'
import { type Opened, PHONE, pageTests, until } from '../support/page.ts'
import { changesOf, intercept, NO_NETWORK } from '../support/page-network.ts'
import { dialogOf, fill, line, nothingWaits, patchPlant, rowOf, untilShown } from '../support/page-plants.ts'
import type { Service } from '../support/service.ts'

const button = (page: Page, name: string | RegExp): Locator => page.getByRole('button', { name, exact: true })
const noticeOf = (page: Page, text: string): Locator => page.locator('.notice').getByText(text)

type Plants = readonly [first: number, count: number, word: string, tag?: string]

/** Imports plants, and filters the table so that it shows them alone. */
async function shown({ page, service }: Opened, ...plants: Plants): Promise<void> {
  const [first, count, word] = plants
  await fill(service, ...plants)
  await page.getByLabel('Search plants').fill(word)
  // Before the answer to the search, the table may have as many rows of others.
  const ids = Array.from({ length: Math.min(count, 100) }, (_, i) => first + i)
  await untilShown(page, ids)
}

const stored = async (service: Service, word: string) =>
  (await service.send('GET', `/plants?q=${word}&limit=1000`)).json as { id: number; name: string; tag?: string }[]

const tagsOf = async (service: Service, word: string) => (await stored(service, word)).map(({ tag }) => tag)

suite('the page, for many plants at once,', () => {
  const { inBrowser, onPhone } = pageTests()

  inBrowser('selects a range by a click with Shift, and leaves it by another one', async (opened) => {
    const { page } = opened
    await shown(opened, 3000, 20, 'ranged')
    await page.getByLabel('Select 3004', { exact: true }).click()
    await page.getByLabel('Select 3010', { exact: true }).click({ modifiers: ['Shift'] })
    await page.getByText('7 plants selected').waitFor()
    await page.getByLabel('Select 3008', { exact: true }).click()
    await page.getByText('6 plants selected').waitFor()
    await page.getByLabel('Select 3010', { exact: true }).click({ modifiers: ['Shift'] })
    await page.getByText('4 plants selected').waitFor()
    assert.deepEqual(
      await page.locator('[role=row][aria-selected=true] .id').allTextContents(),
      [3004, 3005, 3006, 3007].map(String),
    )
    await button(page, 'Clear').click()
    await page.getByText('plants selected').waitFor({ state: 'detached' })
  })

  inBrowser('says which selected plants are not below, and can leave them out', async (opened) => {
    const { page, service } = opened
    const first = 40_000
    const select = (id: number) => page.getByLabel(`Select ${id}`, { exact: true }).click()
    await shown(opened, first, 1, 'earlier', 'old')
    await select(first)
    await shown(opened, first + 10, 3, 'later', 'old')
    for (const id of [10, 11, 12]) await select(first + id)
    await page.getByText('4 plants selected (1 of them is not below)').waitFor()
    await pressAction(page, 'Set tag', 'Shift+Tab')
    await dialogOf(page).getByText('4 plants selected (1 of them is not below)').waitFor()
    await assertAtBothSizes(page)
    await dialogOf(page).getByRole('button', { name: 'Only those below' }).click()
    await page.getByLabel('Tag', { exact: true }).fill(' new ')
    await dialogOf(page).getByRole('button', { name: 'Change 3 plants' }).click()
    await noticeOf(page, 'Set the tag new for 3 plants').waitFor()
    assert.deepEqual(await tagsOf(service, 'earlier'), ['old'])
    assert.deepEqual(await tagsOf(service, 'later'), ['new', 'new', 'new'])
  })

  inBrowser('says of plants that have the tag already that they stay, in the dialog and after it', async (opened) => {
    const { page, service } = opened
    await shown(opened, 45_000, 2, 'already', 'old')
    await patchPlant(service, 45_001, { tag: 'new' })
    await rowOf(page, 45_001).getByText('new').waitFor()
    for (const id of [45_000, 45_001]) await page.getByLabel(`Select ${id}`, { exact: true }).click()
    await button(page, 'Set tag').click()
    await page.getByLabel('Tag', { exact: true }).fill('new')
    await dialogOf(page).getByText('1 plant stays as it is.').waitFor()
    await dialogOf(page).getByRole('button', { name: 'Change 1 plant' }).click()
    await noticeOf(page, 'Set the tag new for 1 plant. 1 plant stays as it is.').waitFor()
  })

  inBrowser('counts more matches than the service does only when the person asks', async (opened) => {
    const { page } = opened
    await shown(opened, 500_000, 2001, 'Hedge')
    await page.getByText('More than 2,000 plants').waitFor()
    await button(page, 'Count them').click()
    await page.getByText('2,001 plants', { exact: true }).waitFor()
  })

  inBrowser('replaces text in the names of all plants that match, and shows before what it changes', async (opened) => {
    const { page, service } = opened
    await shown(opened, 4000, 1203, 'Rosaa')
    await page.getByText('1,203 plants', { exact: true }).waitFor()
    await page.getByLabel('Select all that match').check()
    await page.getByText('All 1,203 plants selected', { exact: true }).waitFor()
    await page.getByLabel('Select 4001', { exact: true }).click()
    await page.locator('.selection').getByText('1,202 plants selected', { exact: true }).waitFor()
    await pressAction(page, 'Replace text', 'Shift+Tab')
    await dialogOf(page).getByText('1,202 plants selected').waitFor()
    assert.ok(await dialogOf(page).getByRole('button', { name: 'Replace text in names' }).isDisabled())
    await page.getByLabel('Find', { exact: true }).fill('rosaa')
    await page.getByLabel('Replace with').fill('Rosa $& ×')
    await dialogOf(page).getByText('1,202 plants stay as they are.').waitFor()
    await page.getByLabel('Ignore case').check()
    assert.equal(await dialogOf(page).locator('li').first().locator('ins').textContent(), 'Rosa $& × 0')
    await dialogOf(page).getByRole('button', { name: 'Change 1,202 plants' }).click()
    await noticeOf(page, 'Replaced rosaa with Rosa $& × in 1,202 plants').waitFor()
    assert.equal((await service.send('GET', '/plants/5202')).body, '{"id":5202,"name":"Rosa $& × 1202"}')
    assert.equal((await service.send('GET', '/plants/4001')).body, '{"id":4001,"name":"Rosaa 1"}')
    await undoFromNotice(page, '1,202 plants')
    await noticeOf(page, 'Undone for 1,202 plants.').waitFor()
    assert.equal((await service.send('GET', '/plants/5202')).body, '{"id":5202,"name":"Rosaa 1202"}')
  })

  inBrowser('leaves plants that others have changed as they are, lists them, and undoes its own', async (opened) => {
    const { page, service } = opened
    await shown(opened, 6000, 4, 'contested', 'old')
    for (const id of [6000, 6001, 6002, 6003]) await page.getByLabel(`Select ${id}`, { exact: true }).click()
    await patchPlant(service, 6001, { name: 'contested by others' })
    await service.send('DELETE', '/plants/6002')
    // The page asks for several of them at once: no answer comes before both requests have.
    const asked = new Set<string>()
    const all = Promise.withResolvers<void>()
    await page.route(/\/plants\/600[12]$/, async (route) => {
      if (asked.add(route.request().url()).size === 2) all.resolve()
      await all.promise
      await route.continue()
    })
    await button(page, 'Set tag').click()
    await page.getByLabel('Tag', { exact: true }).fill('new')
    await dialogOf(page).getByRole('button', { name: 'Change 4 plants' }).click()
    await dialogOf(page).getByText('Others have changed 2 plants meanwhile').waitFor()
    await untilFocused(page, dialogOf(page).getByRole('button', { name: 'Not now' }))
    assert.deepEqual(await dialogOf(page).locator('.met .note').allTextContents(), ['6001', '6002'])
    await assertAtBothSizes(page)
    await button(page, 'Keep the stored plants').click()
    await dialogOf(page).waitFor({ state: 'detached' })
    await nothingWaits(page)
    assert.deepEqual(await stored(service, 'contested'), [
      { id: 6000, name: 'contested 0', tag: 'new' },
      { id: 6001, name: 'contested by others', tag: 'old' },
      { id: 6003, name: 'contested 3', tag: 'new' },
    ])
    await patchPlant(service, 6003, { tag: 'theirs' })
    await page.locator('.notice', { hasText: 'Set the tag new' }).getByRole('button', { name: 'Undo' }).click()
    await dialogOf(page).getByRole('button', { name: 'Undo for 1 plant' }).click()
    await dialogOf(page).getByText('Undone for 1 plant.').waitFor()
    await dialogOf(page).getByText('6003 contested 3. Somebody has changed or deleted it meanwhile.').waitFor()
    assert.deepEqual(await tagsOf(service, 'contested'), ['old', 'old', 'theirs'])
  })

  inBrowser('deletes the selected plants, and brings back those whose ids are still free', async (opened) => {
    const { page, service } = opened
    await shown(opened, 7000, 30, 'felled', 'tree')
    await page.getByLabel('Select all that match').check()
    await button(page, 'Delete').first().click()
    await dialogOf(page).getByText('30 plants selected').waitFor()
    await dialogOf(page).getByText('and 25 more').waitFor()
    const sent = changesOf(page)
    await dialogOf(page).getByRole('button', { name: 'Delete 30 plants' }).click()
    await page.getByText('No plant matches.').waitFor()
    assert.deepEqual(sent, ['POST /plants/import'], 'one request deletes all')
    assert.deepEqual(await stored(service, 'felled'), [])
    await service.create({ id: 7003, name: 'another plant' })
    await undoFromNotice(page, '29 plants')
    await dialogOf(page).getByText('Undone for 29 plants.').waitFor()
    await dialogOf(page).getByText('7003 another plant. Somebody has changed or deleted it meanwhile.').waitFor()
    assert.equal((await stored(service, 'felled')).length, 29)
  })

  inBrowser('deletes no plant that others changed meanwhile, and counts those that others deleted', async (opened) => {
    const { page, service } = opened
    await shown(opened, 7100, 5, 'disputed')
    const { secret } = await service.issueToken(['plants:read', 'plants:write'])
    await page.getByLabel('Select all that match').check()
    await button(page, 'Delete').first().click()
    await dialogOf(page).getByText('5 plants selected').waitFor()
    await service.send('DELETE', '/plants/7103')
    await patchPlant(service, 7101, { name: 'disputed by others' })
    await intercept(page, '**/plants/import?*', async (route) => {
      // Another person is faster, though the deletion has begun.
      await service.send('DELETE', '/plants/7104', { authorization: `Bearer ${secret}` })
      await route.continue()
    })
    await dialogOf(page).getByRole('button', { name: 'Delete 5 plants' }).click()
    await dialogOf(page).getByText('Somebody has changed 7101 meanwhile').waitFor()
    await noticeOf(page, 'Deleted 2 plants. 2 plants were already gone.').waitFor()
    assert.deepEqual(await stored(service, 'disputed'), [{ id: 7101, name: 'disputed by others' }])
    await dialogOf(page).getByRole('button', { name: 'Not now' }).click()
    await page.getByText('1 change waits on this device. 1 needs your decision.').waitFor()
    await undoFromNotice(page, '2 plants')
    await noticeOf(page, 'Undone for 2 plants.').waitFor()
    const ids = (await stored(service, 'disputed')).map(({ id }) => id)
    assert.deepEqual(ids, [7100, 7101, 7102], 'what others have deleted stays so')
  })

  inBrowser('sends no further part of a change once the service has refused one', async ({ page, service }) => {
    await fill(service, 600_000, 6000, 'refusing', 'refused')
    await page.evaluate(`location.hash = '#/plants?tag=refused'`)
    await page.getByText('6,000 plants', { exact: true }).waitFor()
    await page.getByLabel('Select all that match').check()
    await page.getByText('All 6,000 plants selected', { exact: true }).waitFor()
    const { secret } = await service.issueToken(['plants:read'])
    let parts = 0
    await intercept(page, '**/plants/import?*', async (route) => {
      parts++
      // Somebody has taken the right from the token meanwhile.
      await route.continue({ headers: { ...route.request().headers(), authorization: `Bearer ${secret}` } })
    })
    await button(page, 'Set tag').click()
    await page.getByLabel('Tag', { exact: true }).fill('new')
    await dialogOf(page).getByRole('button', { name: 'Change 6,000 plants' }).click()
    await dialogOf(page).getByRole('alert').waitFor()
    // Three parts are under way at once.
    assert.equal(parts, 3)
    assert.deepEqual(new Set(await tagsOf(service, 'refusing')), new Set(['refused']))
  })

  inBrowser('renames a tag from the tag filter, and merges it into one that others have', async ({ page, service }) => {
    await fill(service, 8000, 3, 'merging', 'Stauden')
    await fill(service, 8010, 2, 'merging', 'perennials')
    await page.getByText('Tags', { exact: true }).click()
    await page.getByLabel('Stauden 3').check()
    await button(page, 'Rename: Stauden').click()
    await dialogOf(page).getByText('3 plants have the tag Stauden').waitFor()
    await page.locator('#bulk-tags option[value=perennials]').waitFor({ state: 'attached' })
    await page.getByLabel('New tag').fill('perennials')
    await dialogOf(page).getByText('The tag perennials exists already, with 2 plants.').waitFor()
    await dialogOf(page).getByRole('button', { name: 'Change 3 plants' }).click()
    await page.getByLabel('perennials 5').waitFor()
    assert.deepEqual(await tagsOf(service, 'merging'), Array(5).fill('perennials'))
    await page.waitForURL(/tag=perennials/)
    await until(page, `document.querySelectorAll('[role=row][data-id]').length === 5`)
  })

  inBrowser('lets the rest wait, and sends it as the same action, once', { expected: NO_NETWORK }, async (opened) => {
    const { page, service } = opened
    await page.clock.install()
    await shown(opened, 10_000, 3000, 'halfway', 'old')
    await page.getByLabel('Select all that match').check()
    await button(page, 'Set tag').click()
    await dialogOf(page).getByText('3,000 plants selected').waitFor()
    await page.getByLabel('Tag', { exact: true }).fill('gone on')
    let part = 0
    const answerAgain = await intercept(page, '**/plants/import*', async (route) => {
      // The second part is stored, and its answer is lost.
      if (++part === 2) await route.fetch()
      if (part === 1) await route.continue()
      else await route.abort('connectionreset')
    })
    await dialogOf(page).getByRole('button', { name: 'Change 3,000 plants' }).click()
    await dialogOf(page).waitFor({ state: 'detached' })
    await noticeOf(page, 'wait on this device until the service answers.').waitFor()
    await answerAgain()
    await nothingWaits(page)
    const actions = (await service.send('GET', '/actions')).json as { title?: string; updated: number }[]
    const own = actions.filter(({ title }) => title === 'Set tag: gone on').map(({ updated }) => updated)
    assert.deepEqual(own, [3000])
    const tags = (await service.send('GET', '/tags')).json as { tag: string; plants: number }[]
    assert.equal(tags.find(({ tag }) => tag === 'gone on')?.plants, 3000)
  })

  onPhone('adds plants like another one, prints their labels and takes them back', async (opened) => {
    const { page, service } = opened
    const word = `copied${PHONE.width}`
    await shown(opened, 30_000 + PHONE.width, 1, word, 'herbs')
    const { next } = (await service.send('GET', '/ids')).json as { next: number }
    await tabTo(page, rowOf(page, 30_000 + PHONE.width))
    await page.keyboard.press('Space')
    await pressAction(page, 'Another one like this', 'Shift+Tab')
    await untilFocused(page, page.getByLabel('How many'))
    for (const wrong of ['0', '-1', '1.5', 'x', '', '1001', '99999']) {
      await page.getByLabel('How many').fill(wrong)
      assert.ok(await dialogOf(page).getByRole('button', { name: /^Add / }).isDisabled(), wrong)
    }
    await tabTo(page, page.getByLabel('How many'))
    await page.getByLabel('How many').fill('')
    await page.keyboard.type('3')
    await assertAccessible(page)
    await page.keyboard.press('Enter')
    await line(dialogOf(page), `Added 3 plants: ${next} to ${next + 2}`)
    await untilFocused(page, dialogOf(page).getByRole('button', { name: 'Close' }))
    const ids = (await stored(service, word)).map(({ id, name, tag }) => [id, name, tag])
    const expected = [0, 1, 2].map((i) => [next + i, `${word} 0`, 'herbs'])
    assert.deepEqual(ids.slice(-3), expected)
    await pressOn(page, button(page, 'Print labels'))
    await page.getByText('3 labels', { exact: true }).waitFor()
    await noticeOf(page, `Added 3 plants like ${30_000 + PHONE.width}`).waitFor()
    await undoFromNotice(page, '3 plants')
    await noticeOf(page, 'Undone for 3 plants.').waitFor()
    assert.equal((await stored(service, word)).length, 1)
  })

  inBrowser('offers a token that may only read nothing but printing', async ({ page, service, address }) => {
    await fill(service, 20_000, 2, 'readonly')
    const { secret } = await service.issueToken(['plants:read'])
    await signOver(page, address, secret)
    await page.getByLabel('Search plants').fill('readonly')
    await page.getByLabel('Select 20001', { exact: true }).click()
    await page.getByText('1 plant selected').waitFor()
    const offers = await page.locator('.selection button:visible').allTextContents()
    assert.deepEqual(offers, ['Print', 'Select all that match', 'Clear×'])
    await button(page, 'Print').click()
    await page.waitForURL(/#\/labels/)
    await page.getByText('1 label', { exact: true }).waitFor()
  })
})
