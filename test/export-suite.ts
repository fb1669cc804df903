import assert from 'node:assert/strict'
import { NO_EXPECTATION } from '../src/domain/plant.ts'
import { matches, PLANT_ORDERS } from '../src/domain/plant-query.ts'
import { TESTER } from './support/actor.ts'
import { deletePlant, replacePlant } from './support/change-plant.ts'
import { fullPlants } from './support/full-plants.ts'
import { EVERYTHING, exportAll, importAll, listAll, onceIndexed } from './support/store-calls.ts'
import { plant, refusal, type Suite } from './support/store-under-test.ts'

const MANY = Array.from({ length: 3500 }, (_, i) =>
  plant(BigInt(i * 3), `${['Aloe', 'monstera', 'Échium'][i % 3]} ${i % 50}`, i % 4 === 0 ? undefined : `tag ${i % 5}`),
)

/** The specification of Store for exports. */
export function exportTests(suite: Suite): void {
  suite('an export yields all plants of its filter, in any order, in chunks of about a thousand', async ({ store }) => {
    assert.deepEqual(await exportAll(store), [])
    await importAll(store, MANY)
    for (const order of PLANT_ORDERS) {
      for (const filter of [EVERYTHING, { tags: ['tag 1', 'tag 2', 'none'], words: [] }, { tags: [], words: ['al'] }]) {
        const chunks = await Array.fromAsync(store.exportPlants(filter, order))
        assert.deepEqual(chunks.flat(), await listAll(store, { ...filter, order }, 777))
        assert.equal(chunks.flat().length, MANY.filter((one) => matches(filter, one)).length)
        for (const chunk of chunks) assert.ok(chunk.length > 0 && chunk.length <= 1100, `${chunk.length} in a chunk`)
      }
    }
  })

  suite('countPlants counts all plants', async ({ store }) => {
    assert.equal(await store.countPlants(), 0)
    await importAll(store, MANY)
    await deletePlant(store, 0n, NO_EXPECTATION, TESTER)
    assert.equal(await store.countPlants(), MANY.length - 1)
  })

  for (const order of PLANT_ORDERS) {
    suite(`an export by ${order} yields the plants of its start, whatever others write`, async ({ store }) => {
      await importAll(store, MANY)
      const before = await listAll(store, { order })
      const exported = []
      for await (const chunk of store.exportPlants(EVERYTHING, order)) {
        exported.push(...chunk)
        // In every order some of these plants come before the present position of the export, and others after it.
        await Promise.all([
          deletePlant(store, MANY[exported.length % 100]?.id ?? 0n, NO_EXPECTATION, TESTER).catch(refusal(40402)),
          deletePlant(store, MANY.at(-exported.length % 100)?.id ?? 0n, NO_EXPECTATION, TESTER).catch(refusal(40402)),
          replacePlant(store, plant(BigInt(exported.length * 3 + 1), 'Aloe new'), NO_EXPECTATION, TESTER),
          replacePlant(store, plant(3n * 1750n, `changed ${exported.length}`, 'new'), NO_EXPECTATION, TESTER),
        ])
      }
      assert.deepEqual(exported, before)
    })
  }

  suite('an export yields every write acknowledged before its first chunk was requested', async ({ store }) => {
    const exporting = store.exportPlants({ tags: [], words: ['late'] }, 'name')
    await importAll(store, [plant(1n, 'too late?')])
    assert.deepEqual((await Array.fromAsync(exporting)).flat(), [plant(1n, 'too late?')])
  })

  suite('concurrent exports do not affect each other', async ({ store }) => {
    await importAll(store, MANY)
    const exports = await Promise.all(PLANT_ORDERS.map((order) => exportAll(store, EVERYTHING, order)))
    for (const [i, order] of PLANT_ORDERS.entries()) assert.deepEqual(exports[i], await listAll(store, { order }))
  })

  suite('an export yields more than a chunk of plants of the largest size unchanged', async ({ store }) => {
    const full = fullPlants(1500, { unit: '🌵' })
    for (let i = 0; i < full.length; i += 500) await importAll(store, full.slice(i, i + 500))
    assert.deepEqual(await exportAll(store), full)
    const byName = full.toSorted((a, b) => (a.name < b.name ? 1 : -1))
    assert.deepEqual(await onceIndexed(() => exportAll(store, EVERYTHING, '-name')), byName)
  })
}

/** The specification of Store for exports that its readers leave, or that the end of the store ends. */
export function exportEndTests(suite: Suite): void {
  suite('leaving an export early frees its resources', async ({ store }) => {
    await importAll(store, MANY)
    for (let i = 0; i < 50; i++) {
      for await (const chunk of store.exportPlants(EVERYTHING, 'name')) {
        assert.ok(chunk.length > 0)
        break
      }
    }
    const abandoned = store.exportPlants(EVERYTHING, 'id')[Symbol.asyncIterator]()
    await abandoned.return?.()
    await store.close()
  })

  suite('closing the store ends an open export with an error, and does not wait for its reader', async ({ store }) => {
    await importAll(store, MANY)
    const exporting = store.exportPlants(EVERYTHING, 'id')[Symbol.asyncIterator]()
    await exporting.next()
    await store.close()
    await assert.rejects(exporting.next(), refusal(50303))
    assert.deepEqual(await exporting.next(), { done: true, value: undefined })
  })
}
