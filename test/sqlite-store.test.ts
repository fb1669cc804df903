import assert from 'node:assert/strict'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { NO_EXPECTATION } from '../src/domain/plant.ts'
import { storeSuite } from './store-suite.ts'
import { TESTER } from './support/actor.ts'
import { replacePlant } from './support/change-plant.ts'
import { createPlant } from './support/create-plant.ts'
import { plantsIn, tempFolder } from './support/files.ts'
import { openSqlite } from './support/open-sqlite.ts'
import { listAll } from './support/store-calls.ts'
import { plant, refusal } from './support/store-under-test.ts'

storeSuite('writes', 'SQLite', openSqlite)

test('SQLite: changes beyond the queue are refused and not stored', async (t) => {
  const { store, plants } = await openSqlite(t, { maxWaiting: 10 })
  const all = Array.from({ length: 30 }, (_, i) => plant(BigInt(i)))
  const results = await Promise.allSettled(all.map((one) => replacePlant(store, one, NO_EXPECTATION, TESTER)))
  assert.equal(results.filter(({ status }) => status === 'fulfilled').length, 10)
  for (const result of results) if (result.status === 'rejected') refusal(50302)(result.reason)
  assert.equal((await plants()).length, 10)
})

test('SQLite: a new store is readable by its owner alone', async (t) => {
  const { path } = await openSqlite(t)
  for (const suffix of ['', '-wal', '.lock']) assert.equal(statSync(path + suffix).mode & 0o777, 0o600)
})

test('SQLite: closing a store checkpoints its log and leaves one file', async (t) => {
  const { path, store } = await openSqlite(t)
  await createPlant(store, plant(1n))
  await store.close()
  assert.equal(statSync(`${path}-wal`, { throwIfNoEntry: false }), undefined)
  assert.equal(plantsIn(path).size, 1)
})

test('SQLite: repeated reads return the writes of another process', async (t) => {
  const { path, store } = await openSqlite(t)
  const { store: other } = await openSqlite(t, { path, serving: false })
  for (let i = 0; i < 20; i++) {
    const one = plant(1n, `version ${i}`)
    await replacePlant(other, one, NO_EXPECTATION, TESTER)
    assert.deepEqual(await store.getPlant(1n), one)
    assert.deepEqual(await listAll(store, {}, 10), [one])
  }
})

test('SQLite: a row that violates the schema fails alone', async (t) => {
  const { path, store } = await openSqlite(t)
  const noText = Object.assign(plant(2n), { name: Buffer.from('bytes') })
  const creates = [plant(1n), noText, plant(3n)].map((one) => createPlant(store, one))
  const [, refused] = await Promise.allSettled(creates)
  assert.equal(refused?.status === 'rejected' && refused.reason.number, 50001)
  assert.deepEqual([...plantsIn(path).keys()], [1n, 3n])
})

test('SQLite: names of files with characters that are special to SQLite work like any other', async (t) => {
  for (const name of [':memory:', 'file:plants.db?mode=memory', 'a b?c#d%41.db']) {
    const folder = tempFolder(t)
    const before = process.cwd()
    process.chdir(folder)
    try {
      const { store } = await openSqlite(t, { path: name })
      await createPlant(store, plant(1n))
      await store.close()
    } finally {
      process.chdir(before)
    }
    assert.equal(plantsIn(join(folder, name)).size, 1)
  }
})
