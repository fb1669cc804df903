import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { NO_EXPECTATION } from '../src/domain/plant.ts'
import { TESTER } from './support/actor.ts'
import { deletePlant, replacePlant, updatePlant } from './support/change-plant.ts'
import { createPlant } from './support/create-plant.ts'
import { openSqlite } from './support/open-sqlite.ts'
import { changesIn } from './support/sqlite-changes.ts'
import { importMany, listAll } from './support/store-calls.ts'
import { plant, refusal } from './support/store-under-test.ts'

test('SQLite: the log of changes has each change in commit order, with the previous plant', async (t) => {
  const { path, store } = await openSqlite(t)
  await store.importPlants([plant(1n, 'one', 'old'), plant(-2n, 'two'), plant(1n, 'one', 'old')], 'add', TESTER)
  await store.importPlants([plant(3n), plant(1n, 'one', 'new'), plant(4n), plant(4n, 'four')], 'update', TESTER)
  await replacePlant(store, plant(5n, 'five'), NO_EXPECTATION, TESTER)
  await replacePlant(store, plant(5n, 'five'), NO_EXPECTATION, TESTER)
  await replacePlant(store, plant(5n, 'fünf'), NO_EXPECTATION, TESTER)
  await updatePlant(store, 5n, { tag: '' }, NO_EXPECTATION, TESTER)
  await updatePlant(store, 5n, { name: 'fünf' }, NO_EXPECTATION, TESTER)
  await assert.rejects(deletePlant(store, 6n, NO_EXPECTATION, TESTER), refusal(40402))
  await deletePlant(store, 5n, NO_EXPECTATION, TESTER)
  assert.deepEqual(changesIn(path), [
    { position: 2n, kind: 'create', ids: [1n, -2n], name: null, tag: null },
    { position: 3n, kind: 'create', ids: [3n], name: null, tag: null },
    { position: 4n, kind: 'replace', ids: [1n], name: 'one', tag: 'old' },
    { position: 5n, kind: 'create', ids: [4n], name: null, tag: null },
    { position: 6n, kind: 'replace', ids: [4n], name: 'plant 4', tag: null },
    { position: 7n, kind: 'create', ids: [5n], name: null, tag: null },
    { position: 8n, kind: 'replace', ids: [5n], name: 'five', tag: null },
    { position: 9n, kind: 'update', ids: [5n], name: 'fünf', tag: null },
    { position: 10n, kind: 'delete', ids: [5n], name: 'fünf', tag: '' },
  ])
})

test('SQLite: creates of one commit share rows of the log of changes, bounded in ids', async (t) => {
  const { path, store } = await openSqlite(t)
  await importMany(store, 2500, (i) => plant(BigInt(i)))
  const rows = changesIn(path)
  const found = rows.map(({ ids }) => ids.length)
  assert.deepEqual(found, new Array(10).fill(250))
  assert.equal(rows.at(-1)?.position, 2500n)
})

test('SQLite: a change that the log of changes refuses is not stored', async (t) => {
  const { path, store } = await openSqlite(t)
  await store.importPlants([plant(1n, 'one'), plant(2n, 'two')], 'add', TESTER)
  const db = new DatabaseSync(path)
  db.exec("CREATE TRIGGER refusal BEFORE INSERT ON changes BEGIN SELECT RAISE(ABORT, 'no room in the log'); END")
  await assert.rejects(replacePlant(store, plant(1n, 'other'), NO_EXPECTATION, TESTER), refusal(50001))
  await assert.rejects(deletePlant(store, 1n, NO_EXPECTATION, TESTER), refusal(50001))
  await assert.rejects(store.importPlants([plant(2n, 'other')], 'update', TESTER), refusal(50001))
  await assert.rejects(createPlant(store, plant(3n)), refusal(50001))
  db.exec('DROP TRIGGER refusal')
  db.close()
  assert.deepEqual(await listAll(store), [plant(1n, 'one'), plant(2n, 'two')])
})
