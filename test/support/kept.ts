import type { Page } from 'playwright-core'
import { until } from './until.ts'

/** Waits until the device keeps a plant with this name. The page shows it a moment before. */
export async function untilKept(page: Page, name: string): Promise<void> {
  const isKept = () =>
    page.evaluate<boolean>(`(async () => {
      const ended = (request) => new Promise((done, fail) => {
        request.onsuccess = () => done(request.result)
        request.onerror = () => fail(request.error)
      })
      for (const { name } of await indexedDB.databases()) {
        const kept = await ended(indexedDB.open(name))
        try {
          const plants = await ended(kept.transaction('seen').objectStore('seen').getAll())
          if (plants.some(({ plant }) => plant.name === ${JSON.stringify(name)})) return true
        } finally {
          kept.close()
        }
      }
      return false
    })()`)
  await until(isKept, `the device does not keep ${name}`)
}
