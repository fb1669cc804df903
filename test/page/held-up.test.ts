import assert from 'node:assert/strict'
import { suite } from 'node:test'
import type { Locator, Page, Request } from 'playwright-core'
import { openView } from '../support/by-keyboard.ts'
import { pageTests, until as untilTrue } from '../support/page.ts'
import { withoutWaits } from '../support/page-network.ts'
import { rename, rowOf, storedPlant } from '../support/page-plants.ts'
import { FOREIGN, type Foreign, Portal } from '../support/portal.ts'
import { SECRET } from '../support/service.ts'
import { until } from '../support/until.ts'

const HELD_UP = 'This network asks for a sign-in of its own.'
const PAGE = FOREIGN['a portal with a page and 200'] as Foreign

const line = (page: Page): Locator => page.locator('.connection')

/** Notes each text of the line about the connection from now on. */
const noteLine = (page: Page): Promise<void> =>
  page.evaluate(`(() => {
    const line = document.querySelector('.connection')
    globalThis.noted = []
    new MutationObserver(() => noted.push(line.innerText)).observe(line, { subtree: true, childList: true, characterData: true })
  })()`)

suite('the page in a network that asks for a sign-in of its own', () => {
  const { inBrowser } = pageTests()

  for (const [name, holdsUp] of [
    ['a portal with a page and 200', () => true],
    ['another program with JSON', () => true],
    ['a redirect to a portal', (_method, path) => !path.startsWith('/health/')],
  ] as const satisfies readonly (readonly [string, Portal['holdsUp']])[]) {
    inBrowser(`keeps every change until the service itself has it: ${name}`, async ({ page, service, t }) => {
      const portal = await Portal.start(t, service.port)
      portal.holdsUp = holdsUp
      const at = 100 * service.port + Object.keys(FOREIGN).indexOf(name) * 10
      const [kept, deleted, added] = [at, at + 1, at + 2] as const
      await service.create({ id: kept, name: 'Acer' })
      await service.create({ id: deleted, name: 'Betula' })
      await page.clock.install()
      await page.goto(`${portal.address}/#token=${SECRET}`)
      await rowOf(page, kept).waitFor()
      portal.answer = FOREIGN[name]
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
      await page.getByRole('button', { name: 'Add a plant' }).click()
      await page.getByRole('button', { name: 'Change the id' }).click()
      await page.getByLabel('Id', { exact: true }).fill(String(added))
      await page.getByLabel('Name', { exact: true }).fill('Cornus')
      await page.keyboard.press('Enter')
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
      assert.deepEqual(await storedPlant(service, kept), { id: kept, name: 'Acer' })

      portal.answer = undefined
      await page.clock.runFor(8000)
      await page.getByText('3 changes wait on this device.').waitFor({ state: 'detached' })
      await page.locator('.waiting-line a').waitFor({ state: 'detached' })
      assert.equal(await line(page).innerText(), '')
      assert.deepEqual(
        [await storedPlant(service, kept), await storedPlant(service, deleted), await storedPlant(service, added)],
        [{ id: kept, name: 'Acer rubrum' }, undefined, { id: added, name: 'Cornus' }],
      )
    })
  }

  inBrowser('says that nothing was revoked or imported, lets a change of many wait', async ({ page, service, t }) => {
    const portal = await Portal.start(t, service.port)
    const { token } = await service.issueToken(['plants:read'])
    await service.create({ id: 1, name: 'Ficus' })
    await page.clock.install()
    await page.goto(`${portal.address}/#token=${SECRET}`)
    await page.getByLabel('Select 1', { exact: true }).check()
    await page.getByRole('button', { name: 'Delete', exact: true }).first().click()
    await page
      .getByRole('dialog')
      .getByRole('button', { name: /^Delete/ })
      .waitFor()
    portal.answer = PAGE
    await page
      .getByRole('dialog')
      .getByRole('button', { name: /^Delete/ })
      .click()
    await withoutWaits(page, page.getByText('1 change waits on this device.'))
    await line(page).getByText(HELD_UP).waitFor()
    assert.deepEqual(await storedPlant(service, 1), { id: 1, name: 'Ficus' })
    portal.answer = undefined
    await page.clock.runFor(8000)
    await page.locator('.waiting-line a').waitFor({ state: 'detached' })
    assert.equal(await storedPlant(service, 1), undefined)
    await openView(page, 'Tokens')
    await page.getByRole('button', { name: `Revoke: a test (${token.id})` }).click()
    portal.answer = PAGE
    await page.getByRole('button', { name: 'Revoke', exact: true }).click()
    await withoutWaits(page, page.getByText(`“Revoke: a test” failed. ${HELD_UP}`))
    portal.answer = undefined
    await openView(page, 'Import')
    const file = { name: 'a.csv', mimeType: 'text/csv', buffer: Buffer.from('id,name\n2,Fagus\n') }
    await page.getByLabel('Drop a spreadsheet here').setInputFiles(file)
    portal.answer = PAGE
    await page.getByRole('button', { name: 'Check the file' }).click()
    await withoutWaits(page, page.locator('main').getByText(HELD_UP))
    portal.answer = undefined
    // The check goes on by itself.
    await withoutWaits(page, page.getByText('Added: 1'))
  })

  inBrowser(
    'keeps no page of another program on the device, and no cache of others away from them',
    { serviceWorkers: 'allow', token: null, expected: /worker|index.html|Failed|Uncaught/ },
    async ({ page, service, t }) => {
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
      await untilTrue(page, 'navigator.serviceWorker.controller !== null')
      const names = await page.evaluate<string[]>('caches.keys()')
      assert.ok(names.includes('another app') && !names.includes(own) && names.length === 2, names.join())
    },
  )
})
