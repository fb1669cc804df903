import assert from 'node:assert/strict'
import { suite } from 'node:test'
import type { Locator, Page, Request } from 'playwright-core'
import { openTools, openView, pressOn, tabTo, untilFocused } from '../support/by-keyboard.ts'
import { untilPageKept } from '../support/kept.ts'
import { untilCount } from '../support/labels.ts'
import { type Opened, PHONE, pageTests } from '../support/page.ts'
import { choose } from '../support/page-files.ts'
import { holdAnswers, intercept, NO_NETWORK, withoutWaits } from '../support/page-network.ts'
import { addPlant, nothingWaits, rename, rowOf, stored } from '../support/page-plants.ts'
import { FOREIGN, type Foreign, Portal } from '../support/portal.ts'
import { SECRET } from '../support/service.ts'
import { until } from '../support/until.ts'

/** Creates a plant for the test, and opens the page with a clock that the test moves. */
async function withPlant({ page, service }: Opened, id: number, name: string): Promise<void> {
  await service.create({ id, name })
  await page.clock.install()
  await page.reload()
  await page.getByLabel('Search plants').fill(name)
  await rowOf(page, id).waitFor()
  await untilCount(page.locator('[role=row][data-id]'), 1)
}

const { inBrowser, onPhone } = pageTests()

suite('the page with a slow network, or none', () => {
  inBrowser('loses no text of an edit that is typed while the service works', async (opened) => {
    const { page, service } = opened
    await withPlant(opened, 501, 'Nyssa')
    await rowOf(page, 501).getByRole('button', { name: 'Edit: 501' }).click()
    const field = page.getByLabel('Name: 501')
    await field.fill('Nyssa sylvatica')
    const save = await holdAnswers(page, '**/plants/501', 'PATCH')
    await field.press('Enter')
    await page.getByRole('button', { name: 'Save…' }).waitFor()
    await field.fill('Nyssa sylvatica ‘Sheffield Park’')
    save()
    await page.getByText('Saved 501').waitFor()
    assert.equal(await field.inputValue(), 'Nyssa sylvatica ‘Sheffield Park’')
    assert.deepEqual(await stored(service, 501), ['501 Nyssa sylvatica'])
    await field.press('Enter')
    await field.waitFor({ state: 'detached' })
    assert.deepEqual(await stored(service, 501), ['501 Nyssa sylvatica ‘Sheffield Park’'])
  })

  inBrowser('keeps the focus and the text of an edit when the answer of a search replaces the rows', async (opened) => {
    const { page } = opened
    await withPlant(opened, 506, 'Oxydendrum')
    for (const [search, grid] of [
      ['no such plant', 'Unfinished edits'],
      ['oxydendrum', 'Plants'],
    ] as const) {
      const answer = await holdAnswers(page, /[?&]q=/, 'GET')
      await Promise.all([page.waitForRequest(/[?&]q=/), page.getByLabel('Search plants').fill(search)])
      const field = page.getByLabel('Name: 506')
      if ((await field.count()) === 0) await pressOn(page, rowOf(page, 506))
      await tabTo(page, field)
      await page.keyboard.press('End')
      await page.keyboard.type('abcd')
      for (const key of ['ArrowLeft', 'ArrowLeft']) await page.keyboard.press(key)
      answer()
      await untilFocused(page, page.getByRole('grid', { name: grid }).getByLabel('Name: 506'))
      await page.keyboard.type('-')
      assert.match(await field.inputValue(), /ab-cd$/)
    }
    // Who has left the edit is not called back to it.
    await page.getByLabel('Search plants').fill('no such plant')
    await page.getByRole('grid', { name: 'Unfinished edits' }).waitFor()
    await untilFocused(page, page.getByLabel('Search plants'))
  })

  inBrowser('leaves the focus where the person has moved it while the service worked', async (opened) => {
    const { page, service } = opened
    await withPlant(opened, 511, 'Ostrya')
    const search = page.getByLabel('Search plants')
    const remove = await holdAnswers(page, '**/plants/511', 'DELETE')
    await pressOn(page, rowOf(page, 511), 'Delete')
    await page.keyboard.press('Delete')
    await search.focus()
    remove()
    await page.getByText('Deleted 511 Ostrya').waitFor()
    await rowOf(page, 511).waitFor({ state: 'detached' })
    await untilFocused(page, search)
    assert.equal(await page.getByRole('button', { name: 'Undo' }).count(), 1, 'the second key found it under way')
    assert.deepEqual(await stored(service, 511), [])
  })

  onPhone('reads and exports the table at a second attempt', async (opened) => {
    const { page, service } = opened
    const id = 540 + PHONE.width
    // A stream of changes that begins again, as the clock jumps, would read the table before the person does.
    const none = { status: 404, json: { error: 40401, message: 'the log of changes is switched off' } }
    await page.route('**/changes?*', (route) => route.fulfill(none))
    await withPlant(opened, id, `Tilia ${id}`)
    await service.create({ id: id + 1, name: `Ulmus ${id}` })
    const fault = { status: 500, json: { error: 50001, message: 'unexpected' } }
    const answerAgain = await intercept(page, /\/plants/, (route) => route.fulfill(fault))
    await page.getByLabel('Search plants').fill(`ulmus ${id}`)
    const again = page.locator('.foot').getByRole('button', { name: 'Try again' })
    await withoutWaits(page, again)
    await openTools(page)
    await pressOn(page, page.getByText('Export', { exact: true }))
    await pressOn(page, page.getByRole('button', { name: 'As CSV, for spreadsheets' }))
    await withoutWaits(page, page.getByText('No file was saved.'))
    await page.keyboard.press('Escape')
    await answerAgain()
    await pressOn(page, again)
    await rowOf(page, id + 1).waitFor()
    await untilFocused(page, page.locator('.foot'))
  })

  inBrowser('keeps an unchecked sheet, its mapping and mode', { expected: NO_NETWORK }, async ({ page, context }) => {
    await page.clock.install()
    await choose(page, 'two.csv', Buffer.from('id,a,b\n601,Vitis,x\n602,Weigela,y\n'))
    await page.getByLabel('Name', { exact: true }).selectOption('a')
    await page.getByLabel('Plants that exist').selectOption('update')
    await context.setOffline(true)
    await page.getByRole('button', { name: 'Check the file' }).click()
    await withoutWaits(page, page.getByText('The service cannot be reached.'))
    await context.setOffline(false)
    await page.getByRole('link', { name: 'Plants', exact: true }).click()
    await withoutWaits(page, page.getByText(/^(That is all|There are no plants yet)\.$/))
    await openView(page, 'Import')
    assert.equal(await page.getByLabel('Name', { exact: true }).inputValue(), '1')
    assert.equal(await page.getByLabel('Plants that exist').inputValue(), 'update')
    // The service has answered meanwhile, so the check goes on by itself.
    await withoutWaits(page, page.getByText('Added: 2'))
  })

  inBrowser('keeps chosen labels, and saves them without a network', { expected: NO_NETWORK }, async (opened) => {
    const { page, context } = opened
    await withPlant(opened, 611, 'Xanthoceras')
    await page.goto(page.url().replace(/#.*/, '#/labels?id=611'))
    await page.getByText('1 label', { exact: true }).waitFor()
    await page.getByText('Xanthoceras', { exact: true }).first().waitFor()
    await context.setOffline(true)
    await page.getByRole('button', { name: 'Add all that match' }).click()
    await page.getByRole('button', { name: 'Reserve ids' }).click()
    await withoutWaits(page, page.getByText('Not everything could be read. The service cannot be reached.'))
    await withoutWaits(page, page.getByText('“Reserve ids” failed. The service cannot be reached.'))
    assert.equal(await page.getByText('1 label', { exact: true }).count(), 1)
    const download = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Save as PDF' }).click()
    await page.getByRole('button', { name: 'Continue all the same' }).click()
    assert.equal((await download).suggestedFilename(), 'labels.pdf')
    await context.setOffline(false)
    await page.getByRole('button', { name: 'Reserve ids' }).click()
    await page.getByText('22 labels', { exact: true }).waitFor()
  })
})

const HELD_UP = 'This network asks for a sign-in of its own.'
const PAGE = FOREIGN['a portal with a page and 200'] as Foreign
/** A page that the device keeps, whatever Chromium says of a worker that it does not get. */
const KEPT = { serviceWorkers: 'allow', token: null, expected: /worker|index.html|Failed|Uncaught/ } as const

const line = (page: Page): Locator => page.locator('.connection')

/** Notes each text of the line about the connection from now on. */
const noteLine = (page: Page): Promise<void> =>
  page.evaluate(`(() => {
    const line = document.querySelector('.connection')
    globalThis.noted = []
    new MutationObserver(() => noted.push(line.innerText)).observe(line, { subtree: true, childList: true, characterData: true })
  })()`)

suite('the page in a network that asks for a sign-in of its own', () => {
  // The tests of the client judge the answers of all other programs on the way.
  inBrowser('keeps every change until the service itself has it', async ({ page, service, t }) => {
    const portal = await Portal.start(t, service.port)
    portal.holdsUp = (_method, path) => !path.startsWith('/health/')
    const [kept, deleted, added] = [1001, 1002, 1003] as const
    await service.create({ id: kept, name: 'Acer' })
    await service.create({ id: deleted, name: 'Betula' })
    await page.clock.install()
    await page.goto(`${portal.address}/#token=${SECRET}`)
    await rowOf(page, kept).waitFor()
    portal.answer = FOREIGN['a redirect to a portal']
    const open = new Set<Request>()
    page.on('request', (request) => open.add(request))
    page.on('requestfinished', (request) => open.delete(request))
    page.on('requestfailed', (request) => open.delete(request))

    await rename(page, kept, 'Acer rubrum')
    await page.getByText('1 change waits on this device.').waitFor()
    await withoutWaits(page, line(page).getByRole('button', { name: 'Try now' }))
    await line(page).getByText(HELD_UP).waitFor()
    await noteLine(page)
    await rowOf(page, deleted).press('Delete')
    await page.getByText('2 changes wait on this device.').waitFor()
    await addPlant(page, 'Cornus', added)
    await page.getByText('3 changes wait on this device.').waitFor()
    for (let looks = 0; looks < 3; looks++) {
      const { asked } = portal
      const looksAgain = async () => {
        // The clock would end a request that is under way.
        if (open.size === 0) await page.clock.runFor(1000)
        return portal.asked > asked
      }
      await until(looksAgain, () => `the page looks no more, with ${[...open].map((request) => request.url())}`)
    }
    await until(() => open.size === 0, 'a request of the page stays open')
    await line(page).getByText(HELD_UP).waitFor()
    assert.deepEqual(await page.evaluate('noted'), [], 'the line comes and goes')
    assert.deepEqual(await stored(service, kept), [`${kept} Acer`])

    portal.answer = undefined
    await page.clock.runFor(8000)
    await page.getByText('3 changes wait on this device.').waitFor({ state: 'detached' })
    await nothingWaits(page)
    assert.equal(await line(page).innerText(), '')
    assert.deepEqual(await stored(service, kept, deleted, added), [`${kept} Acer rubrum`, `${added} Cornus`])
  })

  inBrowser('says that nothing was revoked or imported, lets a change of many wait', async ({ page, service, t }) => {
    const portal = await Portal.start(t, service.port)
    const { token } = await service.issueToken(['plants:read'])
    await service.create({ id: 1, name: 'Ficus' })
    await page.clock.install()
    await page.goto(`${portal.address}/#token=${SECRET}`)
    await page.getByLabel('Select 1', { exact: true }).check()
    await page.getByRole('button', { name: 'Delete', exact: true }).first().click()
    const really = page.getByRole('dialog').getByRole('button', { name: /^Delete/ })
    await really.waitFor()
    portal.answer = PAGE
    await really.click()
    await withoutWaits(page, page.getByText('1 change waits on this device.'))
    await line(page).getByText(HELD_UP).waitFor()
    assert.deepEqual(await stored(service, 1), ['1 Ficus'])
    portal.answer = undefined
    await page.clock.runFor(8000)
    await nothingWaits(page)
    assert.deepEqual(await stored(service, 1), [])
    await openView(page, 'Tokens')
    await page.getByRole('button', { name: `Revoke: a test (${token.id})` }).click()
    portal.answer = PAGE
    await page.getByRole('button', { name: 'Revoke', exact: true }).click()
    await withoutWaits(page, page.getByText(`“Revoke: a test” failed. ${HELD_UP}`))
    portal.answer = undefined
    await choose(page, 'a.csv', Buffer.from('id,name\n2,Fagus\n'))
    portal.answer = PAGE
    await page.getByRole('button', { name: 'Check the file' }).click()
    await withoutWaits(page, page.locator('main').getByText(HELD_UP))
    portal.answer = undefined
    // The check goes on by itself.
    await withoutWaits(page, page.getByText('Added: 1'))
  })

  inBrowser('keeps no page of another program, and leaves caches of others', KEPT, async ({ page, service, t }) => {
    const portal = await Portal.start(t, service.port)
    await page.goto(`${portal.address}/openapi.json`)
    const own = `plantstore ${portal.address}/ old`
    await page.evaluate(`Promise.all(['another app', '${own}'].map((name) => caches.open(name))).then(() => {})`)
    let starts = 0
    portal.holdsUp = (_method, path) => path === '/' && ++starts > 1
    portal.answer = PAGE
    await page.goto(`${portal.address}/#token=${SECRET}`)
    await until(() => starts > 1, 'the device asks for no page to keep')
    await until(
      async () => (await page.evaluate(`caches.keys().then((names) => names.length)`)) === 3,
      'the device keeps nothing',
    )
    assert.equal(await page.evaluate(`caches.match('${portal.address}/').then((found) => found?.url)`), undefined)
    portal.answer = undefined
    await page.reload()
    await untilPageKept(page)
    const names = await page.evaluate<string[]>('caches.keys()')
    assert.ok(names.includes('another app') && !names.includes(own) && names.length === 2, names.join())
  })
})
