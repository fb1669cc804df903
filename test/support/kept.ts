import type { Page } from 'playwright-core'
import { until as untilInPage } from './page.ts'
import { until } from './until.ts'

/**
 * Works on each database that the page has in its browser, with a text of JavaScript.
 *
 * @param work of `kept`, the open database, where `ended` awaits a request
 * @returns what the work returns, by database
 */
export const inDatabases = <T>(page: Page, work: string): Promise<T[]> =>
  page.evaluate<T[]>(`(async () => {
    const ended = (request) => new Promise((done, fail) => {
      request.onsuccess = () => done(request.result)
      request.onerror = () => fail(request.error)
    })
    const found = []
    // To open one that is not there would make it.
    for (const { name } of await indexedDB.databases()) {
      const kept = await ended(indexedDB.open(name))
      try {
        found.push(await (async () => { ${work} })())
      } finally {
        kept.close()
      }
    }
    return found
  })()`)

/** Waits until the device keeps a plant with this name. The page shows it a moment before. */
export async function untilKept(page: Page, name: string): Promise<void> {
  const work = `const plants = await ended(kept.transaction('seen').objectStore('seen').getAll())
    return plants.some(({ plant }) => plant.name === ${JSON.stringify(name)})`
  const isKept = async () => (await inDatabases<boolean>(page, work)).includes(true)
  await until(isKept, `the device does not keep ${name}`)
}

/** Waits until the device keeps the page, and opens it. */
export async function untilPageKept(page: Page): Promise<void> {
  await page.evaluate('navigator.serviceWorker.ready.then(() => {})')
  await untilInPage(page, 'navigator.serviceWorker.controller !== null')
}
