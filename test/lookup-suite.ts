import assert from 'node:assert/strict'
import { lazySignalOf } from '../src/domain/store.ts'
import { TESTER } from './support/actor.ts'
import { fullPlants } from './support/full-plants.ts'
import { plant, type Suite } from './support/store-under-test.ts'

/** The specification of Store for many concurrent reads by id. */
export function lookupTests(suite: Suite): void {
  suite('concurrent reads by id return plants of every size', async ({ store }) => {
    const sizes = [0, 1, 10, 100, 499, 500, 999, 1000, 1000]
    const made = sizes.map((size, i) => plant(BigInt(i), 'é'.repeat(size), i % 2 === 0 ? undefined : 'x'.repeat(i)))
    await store.importPlants(made, 'add', TESTER)
    const ids = Array.from({ length: 2000 }, (_, i) => (i * 7) % 11)
    const found = await Promise.all(ids.map((id) => store.getPlant(BigInt(id))))
    ids.forEach((id, i) => void assert.deepEqual(found[i], made[id]))
  })

  suite('pages by id return plants of every size, and many pages at once of the largest', async ({ store }) => {
    const full = fullPlants(300, { unit: '🌵' })
    const small = Array.from({ length: 100 }, (_, i) => plant(BigInt(300 + i)))
    const all = [...full, ...small]
    await store.importPlants(all, 'add', TESTER)
    const page = (from: number, limit: number) =>
      store.listPlants({ tags: [], words: [], order: 'id', after: { id: BigInt(from - 1), key: '' } }, limit)
    for (const limit of [1, 2, 100, 200]) {
      const starts = Array.from({ length: 40 }, (_, i) => i * 5)
      const pages = await Promise.all(starts.map((from) => page(from, limit)))
      starts.forEach((from, i) => void assert.deepEqual(pages[i], all.slice(from, from + limit)))
    }
    // In pages that are read twice, and then kept.
    for (let i = 0; i < 3; i++) assert.deepEqual(await page(0, 100), full.slice(0, 100))
  })

  suite('a read whose caller has left is not run, and other reads are', async ({ store }) => {
    const full = fullPlants(3)
    await store.importPlants([...full, plant(3n)], 'add', TESTER)
    const abandoned = Array.from({ length: 30 }, (_, i) =>
      store.getPlant(BigInt(i % 3), lazySignalOf(AbortSignal.abort())),
    )
    const staying = new AbortController()
    const gone = Promise.allSettled(abandoned)
    const others = await Promise.all([0n, 1n, 2n, 3n].map((id) => store.getPlant(id, lazySignalOf(staying.signal))))
    assert.deepEqual(others, [...full, plant(3n)])
    await gone
  })
}
