import assert from 'node:assert/strict'
import type { PlantQuery } from '../src/domain/plant-query.ts'
import { lazySignalOf } from '../src/domain/store.ts'
import { EVERYTHING, exportAll, importAll } from './support/store-calls.ts'
import { plant, type Suite } from './support/store-under-test.ts'

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
