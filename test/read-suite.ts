import assert from 'node:assert/strict'
import type { PlantQuery } from '../src/domain/plant-query.ts'
import { lazySignalOf } from '../src/domain/store.ts'
import { TESTER } from './support/actor.ts'
import { fullPlants } from './support/full-plants.ts'
import { EVERYTHING, exportAll, importAll } from './support/store-calls.ts'
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

/** A slow query: half of the plants have the tag, the other half the word, and no plant has both. */
const SLOW: PlantQuery = { tags: ['-'], words: ['odd'], order: 'name', after: undefined }
const PLANTS = Array.from({ length: 4000 }, (_, i) =>
  i % 2 === 0 ? plant(BigInt(i), 'Aloe', '-') : plant(BigInt(i), 'odd'),
)
const REASON = new Error('the client has left')

/** The specification of Store for reads that end early. */
export function abortTests(suite: Suite): void {
  suite('a read whose signal has aborted rejects with the reason of the signal', async ({ store }) => {
    const signal = AbortSignal.abort(REASON)
    await assert.rejects(
      store.listPlants({ ...EVERYTHING, order: 'id', after: undefined }, 10, lazySignalOf(signal)),
      REASON,
    )
    await assert.rejects(store.listPlants(SLOW, 10, lazySignalOf(signal)), REASON)
    await assert.rejects(store.listTags({}, 10, signal), REASON)
    await assert.rejects(store.countMatches(EVERYTHING, 10, signal), REASON)
    await assert.rejects(store.countMatches(SLOW, 10, signal), REASON)
    await assert.rejects(Array.fromAsync(store.exportPlants(EVERYTHING, 'id', signal)), REASON)
    const dryRun = await store.startDryRun('add')
    await assert.rejects(Array.fromAsync(dryRun.storedPlants(signal)), REASON)
    await dryRun.close()
  })

  suite('a search that ends early does not delay the next one', async ({ store }) => {
    await importAll(store, PLANTS)
    assert.deepEqual(await store.listPlants(SLOW, 10), [])
    const startedAt = performance.now()
    assert.deepEqual(await store.listPlants(SLOW, 10), [])
    const alone = performance.now() - startedAt

    const leaving = new AbortController()
    const abandoned = Array.from({ length: 3000 }, () => store.listPlants(SLOW, 10, lazySignalOf(leaving.signal)))
    const outcomes = Promise.allSettled(abandoned)
    await abandoned[0]
    leaving.abort(REASON)
    const ended = (await outcomes).filter((outcome) => outcome.status === 'rejected' && outcome.reason === REASON)
    assert.ok(ended.length > 2000, `only ${ended.length} were ended early`)
    const leftAt = performance.now()
    assert.deepEqual(await store.listPlants(SLOW, 10), [])
    const after = performance.now() - leftAt
    // All of them take a thousand times as long as one.
    assert.ok(after < Math.max(100 * alone, 10_000), `${after} ms instead of ${alone} ms`)
  })

  suite('an export that ends while it opens or reads a chunk frees its place', async ({ store }) => {
    await importAll(store, PLANTS)
    for (let round = 0; round < 10; round++) {
      const leaving = new AbortController()
      const opened = store.exportPlants(EVERYTHING, '-name', leaving.signal)[Symbol.asyncIterator]()
      await opened.next()
      const chunk = opened.next()
      const unopened = store.exportPlants(SLOW, 'name', leaving.signal)[Symbol.asyncIterator]().next()
      const outcomes = Promise.allSettled([unopened, chunk])
      leaving.abort(REASON)
      const ended = { status: 'rejected', reason: REASON }
      assert.deepEqual(await outcomes, [ended, ended])
      assert.deepEqual(await opened.next(), { done: true, value: undefined })
    }
    assert.equal((await exportAll(store)).length, PLANTS.length)
  })
}
