import assert from 'node:assert/strict'
import { lazySignalOf } from '../src/domain/store.ts'
import { TESTER } from './support/actor.ts'
import { type OpenStore, plant, type Suite } from './support/store-under-test.ts'

/** The specification of Store for many concurrent reads by id. */
export function lookupTests(suite: Suite, open: OpenStore): void {
  suite('concurrent reads by id return plants of every size', async (t) => {
    const { store } = await open(t)
    const sizes = [0, 1, 1000, 2 ** 16 - 1, 2 ** 16, 2 ** 16 + 1, 2 ** 18, 2 ** 20, 2 ** 20]
    const made = sizes.map((size, i) => plant(BigInt(i), 'é'.repeat(size / 2), i % 2 === 0 ? undefined : 'x'.repeat(i)))
    await store.importPlants(made, 'add', TESTER)
    const ids = Array.from({ length: 60 }, (_, i) => (i * 7) % 11)
    const found = await Promise.all(ids.map((id) => store.getPlant(BigInt(id))))
    ids.forEach((id, i) => void assert.deepEqual(found[i], made[id]))
  })

  suite('pages by id return plants of every size, with long names and long tags', async (t) => {
    const { store } = await open(t)
    const sizes = [1, 4095, 4096, 4097, 2 ** 16 - 1, 2 ** 16, 2 ** 16 + 1, 2 ** 20]
    const made = sizes.flatMap((size, i) => [
      plant(BigInt(2 * i), 'é'.repeat(size / 2), i % 2 === 0 ? undefined : ''),
      plant(BigInt(2 * i + 1), '', 'x'.repeat(size)),
    ])
    const small = Array.from({ length: 100 }, (_, i) => plant(BigInt(100 + i), 'x'.repeat(700)))
    await store.importPlants([...made, ...small], 'add', TESTER)
    const page = (after: bigint, limit: number) =>
      store.listPlants({ tags: [], words: [], order: 'id', after: { id: after, key: '' } }, limit)
    for (const limit of [1, 2, 5]) {
      const pages = await Promise.all(made.map(({ id }) => page(id - 1n, limit)))
      const all = [...made, ...small]
      pages.forEach((found, i) => void assert.deepEqual(found, all.slice(i, i + found.length)))
      assert.ok(pages.every(({ length }) => length > 0))
    }
    // Beyond 64 KiB together, in pages that are read twice.
    for (let i = 0; i < 3; i++) assert.deepEqual(await page(99n, 100), small)
  })

  suite('a read whose caller has left is not run, and other reads are', async (t) => {
    const { store } = await open(t)
    const large = [0n, 1n, 2n].map((id) => plant(id, 'x'.repeat(2 ** 20)))
    await store.importPlants([...large, plant(3n)], 'add', TESTER)
    const abandoned = Array.from({ length: 30 }, (_, i) =>
      store.getPlant(BigInt(i % 3), lazySignalOf(AbortSignal.abort())),
    )
    const staying = new AbortController()
    const gone = Promise.allSettled(abandoned)
    const others = await Promise.all([0n, 1n, 2n, 3n].map((id) => store.getPlant(id, lazySignalOf(staying.signal))))
    assert.deepEqual(others, [...large, plant(3n)])
    await gone
  })
}
