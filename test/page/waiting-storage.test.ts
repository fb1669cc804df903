import assert from 'node:assert/strict'
import { suite } from 'node:test'
import type { BrowserContext, Page } from 'playwright-core'
import { assertAccessible } from '../support/accessible.ts'
import { inDatabases } from '../support/kept.ts'
import { pageTests } from '../support/page.ts'
import { NO_NETWORK } from '../support/page-network.ts'
import { fill, line, nothingWaits, rename, rowOf, storedPlant } from '../support/page-plants.ts'
import { SECRET, withService } from '../support/service.ts'
import { untilRefused } from '../support/tokens.ts'
import { until } from '../support/until.ts'

/** Works on the changes that the browser keeps, in `store`. */
const onKept = async <T>(page: Page, work: string): Promise<T[]> =>
  (
    await inDatabases<T[]>(
      page,
      `const store = kept.transaction('waiting', 'readwrite').objectStore('waiting')\n${work}`,
    )
  ).flat()

/** The names that the changes on this device want. */
const namesKept = async (page: Page): Promise<readonly string[]> =>
  (await onKept<string>(page, 'return (await ended(store.getAll())).map(({ wanted }) => wanted.name)')).toSorted()

/** Clears the database of the page, as a browser does that runs out of room, or a person in its settings. */
async function emptyStorage(page: Page, context: BrowserContext): Promise<void> {
  const session = await context.newCDPSession(page)
  const { origin } = new URL(page.url())
  await session.send('Storage.clearDataForOrigin', { origin, storageTypes: 'indexeddb' })
}

suite('what waits on a device', () => {
  const { inBrowser } = pageTests({ expected: NO_NETWORK })

  inBrowser('comes back when its storage is emptied, and is sent', async ({ page, context, service }) => {
    const ids = [101, 102, 103] as const
    const [first, second, third] = ids
    for (const id of ids) await service.create({ id, name: `Carex ${id}` })
    await page.reload()
    await rowOf(page, third).waitFor()
    await context.setOffline(true)
    await rename(page, first, 'Carex alba')
    await rename(page, second, 'Carex nigra')
    await line(page, '2 changes wait on this device.')
    await emptyStorage(page, context)
    await rename(page, third, 'Carex flava')
    await line(page, '3 changes wait on this device.')
    let kept: readonly string[] = []
    const areKept = async () => {
      kept = await namesKept(page)
      return kept.join() === 'Carex alba,Carex flava,Carex nigra'
    }
    await until(areKept, () => `the device keeps ${kept}`)
    await page.getByText('This browser has no room left for changes.').waitFor({ state: 'detached' })
    await context.setOffline(false)
    await nothingWaits(page)
    const stored = await Promise.all(ids.map((id) => storedPlant(service, id)))
    assert.deepEqual(stored, [
      { id: first, name: 'Carex alba' },
      { id: second, name: 'Carex nigra' },
      { id: third, name: 'Carex flava' },
    ])
  })

  inBrowser('is announced in all tabs, unlike an ordinary save', async ({ page, context, service, address }) => {
    const id = 10
    await service.create({ id, name: 'Iris' })
    const other = await context.newPage()
    await other.goto(`${address}#token=${SECRET}`)
    for (const tab of [page, other]) {
      await rowOf(tab, id).waitFor()
      await tab.evaluate(`{
          globalThis.announced = []
          const place = document.querySelector('.waiting-line')
          new MutationObserver(() => announced.push(place.textContent)).observe(place, {
            characterData: true, childList: true, subtree: true
          })
        }`)
    }
    await rename(page, id, 'Iris sibirica')
    await line(page, `Saved ${id}`)
    await rowOf(other, id).getByText('Iris sibirica').waitFor()
    for (const tab of [page, other]) assert.deepEqual(await tab.evaluate('announced'), [])
    await context.setOffline(true)
    await rename(page, id, 'Iris pumila')
    for (const tab of [page, other]) await line(tab, '1 change waits on this device.')
    await context.setOffline(false)
    for (const tab of [page, other]) await nothingWaits(tab)
  })

  inBrowser('never goes to another store, as after a restore', async ({ page, context, service, t }) => {
    const id = 70
    const other = await withService(t)
    for (const each of [service, other]) await each.create({ id, name: 'Fagus' })
    await page.reload()
    await rowOf(page, id).waitFor()
    await context.setOffline(true)
    await rename(page, id, 'Fagus sylvatica')
    await line(page, '1 change waits on this device.')
    await context.route('**/*', async (route) => {
      const url = route.request().url().replace(`:${service.port}/`, `:${other.port}/`)
      // The stream of changes is open until the test ends.
      const response = await route.fetch({ url }).catch(() => undefined)
      await (response === undefined ? route.abort() : route.fulfill({ response })).catch(() => {})
    })
    await page.close()
    await context.setOffline(false)
    const tab = await context.newPage()
    await tab.goto(`http://127.0.0.1:${service.port}/#token=${SECRET}`)
    await tab.getByRole('link', { name: 'Show them' }).click()
    await line(tab, '1 change is for another store, or for this one before it was restored')
    await line(tab, '1 needs your decision.')
    assert.deepEqual(await storedPlant(other, id), { id, name: 'Fagus' })
    await tab.getByRole('button', { name: 'Drop' }).click()
    await line(tab, 'Nothing waits.')
    assert.deepEqual(await storedPlant(other, id), { id, name: 'Fagus' })
    await context.unrouteAll({ behavior: 'ignoreErrors' })
  })

  inBrowser('goes with the token of others only if they want', async ({ page, context, service, address }) => {
    const id = 60
    await service.create({ id, name: 'Ulmus' })
    const { secret, token } = await service.issueToken(['plants:read', 'plants:write'])
    await page.goto(`${address}#token=${secret}`)
    await page.getByRole('button', { name: 'Sign in with the link', exact: true }).click()
    const question = page.getByRole('dialog')
    await question.waitFor({ state: 'detached' })
    await page.reload()
    await rowOf(page, id).waitFor()
    await context.setOffline(true)
    await rename(page, id, 'Ulmus minor')
    await line(page, '1 change waits on this device.')
    await service.send('DELETE', `/tokens/${token.id}`)
    await untilRefused(service, secret)
    await context.setOffline(false)
    await page.getByLabel('Access token').waitFor()
    await line(page, '1 change waits on this device.')
    await assertAccessible(page)
    await page.getByLabel('Access token').fill(SECRET)
    await page.keyboard.press('Enter')
    await line(page, '1 needs your decision.')
    await page.getByRole('link', { name: 'Show them' }).click()
    await line(page, `${token.name} has made 1 change on this device.`)
    await page.locator('.strange').getByText('before: Ulmus').waitFor()
    await assertAccessible(page)
    assert.deepEqual(await storedPlant(service, id), { id, name: 'Ulmus' })
    await page.getByRole('button', { name: 'Send them with my token' }).click()
    await nothingWaits(page)
    assert.deepEqual(await storedPlant(service, id), { id, name: 'Ulmus minor' })
  })

  inBrowser('may stay when room runs out, for which the first change asks', async ({ page, context, service }) => {
    await service.create({ id: 20, name: 'Poa' })
    await page.reload()
    await rowOf(page, 20).waitFor()
    await page.evaluate(`{
        globalThis.asked = 0
        const { persist } = StorageManager.prototype
        StorageManager.prototype.persist = function () {
          asked += 1
          return persist.call(this)
        }
      }`)
    await rename(page, 20, 'Poa annua')
    await line(page, 'Saved 20')
    assert.equal(await page.evaluate('asked'), 0)
    await context.setOffline(true)
    await rename(page, 20, 'Poa alpina')
    await line(page, '1 change waits on this device.')
    await rename(page, 20, 'Poa trivialis')
    await rowOf(page, 20).press('Delete')
    await rowOf(page, 20).getByText('will be deleted').waitFor()
    assert.equal(await page.evaluate('asked'), 1)
  })

  inBrowser('goes out in order, each change by one request, and reads no other', async ({ page, context, service }) => {
    const [first, count] = [1000, 100]
    await fill(service, first, count, 'Ficus')
    await page.getByLabel('Search plants').fill('Ficus 0')
    await rowOf(page, first).waitFor()
    await context.setOffline(true)
    await rename(page, first, 'Ficus 0 carica')
    await line(page, 'The service does not answer.')
    await onKept(
      page,
      `const [change] = await ended(store.getAll())
        for (let i = 1; i < ${count}; i++) {
          const [id, base, wanted] = [BigInt(${first} + i), { name: 'Ficus ' + i }, { name: 'Ficus ' + i + ' carica' }]
          const key = change.key.replace(/\\d+$/, id)
          store.put({ ...change, key, id, base, wanted, tried: undefined, at: change.at + i })
        }`,
    )
    const sent: string[] = []
    page.on('request', (request) => {
      const { pathname } = new URL(request.url())
      if (/^\/plants\/\d+$/.test(pathname)) sent.push(`${request.method()} ${pathname}`)
    })
    // The records that the page reads from its database.
    await page.evaluate(`{
        globalThis.read = 0
        const { getAll } = IDBObjectStore.prototype
        IDBObjectStore.prototype.getAll = function (...how) {
          const request = getAll.apply(this, how)
          request.addEventListener('success', () => { read += request.result.length })
          return request
        }
      }`)
    await context.setOffline(false)
    await until(
      async () => sent.length >= count,
      () => `${sent.length} of ${count} changes went out`,
    )
    await nothingWaits(page)
    const expected = Array.from({ length: count }, (_, i) => `PATCH /plants/${first + i}`)
    assert.deepEqual(sent, expected)
    assert.ok((await page.evaluate<number>('read')) <= 3 * count, 'each change reads all of them')
  })
})
