import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import type { BrowserContext, Page } from 'playwright-core'
import { ROOT } from '../../scripts/repository.ts'
import { openView, pressOn, signOut, signOver } from '../support/by-keyboard.ts'
import { inDatabases, untilKept } from '../support/kept.ts'
import { type Opened, pageTests } from '../support/page.ts'
import { choose, importAll } from '../support/page-files.ts'
import { NO_NETWORK } from '../support/page-network.ts'
import { fill, line, loseNetwork, nothingWaits, rename, rowOf, stored, untilSent } from '../support/page-plants.ts'
import { SECRET } from '../support/service.ts'
import { lockOut } from '../support/tokens.ts'
import { until } from '../support/until.ts'

/** What the browser keeps: the names in both storages, the number of changes that wait, and of people who have seen plants. */
async function keptIn(page: Page): Promise<readonly string[]> {
  const records = await inDatabases<string[]>(
    page,
    `const records = []
    for (const store of kept.objectStoreNames) {
      const keys = await ended(kept.transaction(store).objectStore(store).getAllKeys())
      const count = new Set(keys.map((key) => (store === 'seen' ? key[0] : key))).size
      if (count > 0) records.push(store + ' ' + count)
    }
    return records`,
  )
  const names = await page.evaluate<string[]>('[...Object.keys(localStorage), ...Object.keys(sessionStorage)]')
  return [...names, ...records.flat()].sort()
}

async function untilKeptIs(page: Page, wanted: readonly string[]): Promise<void> {
  let kept: readonly string[] = []
  const isSo = async () => {
    kept = await keptIn(page)
    return kept.join() === wanted.join()
  }
  await until(isSo, () => `the browser keeps ${kept}`)
}

/** Leaves traces in every part of the storage, and a change that waits. */
async function leaveTraces({ page, context, service, address }: Opened, secret: string, first: number): Promise<void> {
  await signOver(page, address, secret)
  await page.getByRole('button', { name: 'Remember on this device' }).first().click()
  for (const id of [first, first + 1]) await service.create({ id, name: `Twin ${first}`, tag: 'bed' })
  await page.reload()
  await rowOf(page, first + 1).waitFor()
  await untilKept(page, `Twin ${first}`)
  const donors = `name;donor\nSalix ${first};1 Privet Drive\nPopulus ${first};2 Elm Street\n`
  await choose(page, 'donors.csv', Buffer.from(donors))
  await importAll(page)
  await until(async () => (await keptIn(page)).includes('plantstore-imports'), 'the page remembers no import')
  assert.doesNotMatch(await page.evaluate<string>('localStorage.getItem("plantstore-imports")'), /Privet|Elm/)
  await openView(page, 'Plants')
  await rowOf(page, first).waitFor()
  await page.getByLabel('Search plants').fill(`Twin ${first}`)
  await page.evaluate(`Object.assign(localStorage, {
    'plantstore-searches': '[{"name":"mine","query":"q=Twin"}]',
    'plantstore-not-same': '[{"key":"twin","ids":["1","2"]}]',
    'plantstore-label-addresses': '["http://old.example"]',
    'plantstore-labels': '{"base":"http://old.example"}',
    'plantstore-language': 'en',
  })`)
  await rowOf(page, first + 1).press('Enter')
  await page.getByLabel(`Name: ${first + 1}`).fill('half typed')
  await context.setOffline(true)
  await rename(page, first, `Triplet ${first}`)
  await line(page, '1 change waits on this device.')
}

const { inBrowser } = pageTests({ expected: NO_NETWORK })

suite('what the page keeps on a device', () => {
  test('has a name in one register, with its end', () => {
    const folder = join(ROOT, 'web/src')
    const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => /\.tsx?$/.test(name))
    const named = files.filter((name) => {
      const text = readFileSync(join(folder, name), 'utf8')
      return /(?:local|session)Storage\.\w+\(\s*['"`]/.test(text) || /(?:local|session)Storage\[/.test(text)
    })
    assert.deepEqual(named, [], 'they use names that the register does not have')
  })

  inBrowser('goes when the service refuses the token, typed texts and changes that wait aside', async (opened) => {
    const { page, context, service } = opened
    const { secret, token } = await service.issueToken(['plants:read', 'plants:write'])
    await leaveTraces(opened, secret, 1000)
    await lockOut(service, { secret, token })
    await context.setOffline(false)
    await page.getByLabel('Access token').waitFor()
    await untilKeptIs(page, ['plantstore-drafts', 'plantstore-language', 'waiting 1'])
  })

  inBrowser('goes when the person signs out, all of it but the language', async (opened) => {
    const { page } = opened
    const { secret } = await opened.service.issueToken(['plants:read', 'plants:write'])
    await leaveTraces(opened, secret, 2000)
    await signOut(page)
    await page.getByRole('listitem').getByText('1 change waits on this device.').waitFor()
    await pressOn(page, page.getByRole('dialog').getByRole('button', { name: 'Sign out' }))
    await page.getByLabel('Access token').waitFor()
    await untilKeptIs(page, ['plantstore-language'])
  })

  inBrowser('is not kept without the token, nor for another person', async ({ page, context, service, address }) => {
    await service.create({ id: 3000, name: 'Hidden', tag: 'bed' })
    await loseNetwork(page, 3000)
    await rename(page, 3000, 'Shown')
    await line(page, '1 change waits on this device.')
    // The page has asked for its database before, to keep what it saw.
    assert.ok(!(await keptIn(page)).some((each) => each.startsWith('seen')))
    await untilSent(page)

    await page.evaluate(`localStorage.setItem('plantstore-token', ${JSON.stringify(SECRET)})`)
    await page.reload()
    await untilKept(page, 'Shown')
    // A guest has a tab of their own, and the device still remembers the other token.
    const { secret } = await service.issueToken(['plants:read'])
    const guest = await context.newPage()
    await guest.goto(`${address}#/import`)
    await guest.evaluate(`sessionStorage.setItem('plantstore-token', ${JSON.stringify(secret)})`)
    await guest.reload()
    await guest.getByText('Signed in as a test').waitFor({ state: 'attached' })
    await context.setOffline(true)
    await guest.goto(`${address}#/plant?id=3000`)
    await line(guest, 'This device has not seen the plant.')
    await page.goto(`${address}#/plant?id=3000`)
    await line(page, 'This is what this device has seen before')
    await context.setOffline(false)
    // Who signs in to stay takes the device over.
    await guest.goto(`${address}#/`)
    await guest.evaluate(`localStorage.setItem('plantstore-token', ${JSON.stringify(secret)})`)
    await guest.reload()
    await rowOf(guest, 3000).waitFor()
    await untilKept(guest, 'Shown')
    assert.ok((await keptIn(guest)).includes('seen 1'), 'what the other person has seen is gone')
  })
})

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
  inBrowser('comes back when its storage is emptied, and is sent', async ({ page, context, service }) => {
    const ids = [101, 102, 103] as const
    const [first, second, third] = ids
    for (const id of ids) await service.create({ id, name: `Carex ${id}` })
    await loseNetwork(page, third)
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
    await untilSent(page)
    assert.deepEqual(await stored(service, ...ids), ['101 Carex alba', '102 Carex nigra', '103 Carex flava'])
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
    const [first, count] = [5000, 100]
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
