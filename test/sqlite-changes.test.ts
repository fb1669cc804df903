import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { UNCONDITIONAL } from '../src/condition.ts'
import { tempFolder } from './support/files.ts'
import { openSqlite } from './support/open-sqlite.ts'
import { changesIn } from './support/sqlite-changes.ts'
import { plant, refusal } from './support/store-under-test.ts'

test('SQLite: the log holds each change in the order of the commits, with the plant as it was', async (t) => {
  const path = join(tempFolder(t), 'plants.db')
  const { store } = await openSqlite(t, { path })
  await store.importPlants([plant(1n, 'one', 'old'), plant(-2n, 'two'), plant(1n, 'one', 'old')], 'add')
  await store.importPlants([plant(3n), plant(1n, 'one', 'new'), plant(4n), plant(4n, 'four')], 'update')
  await store.replacePlant(plant(5n, 'five'), UNCONDITIONAL)
  await store.replacePlant(plant(5n, 'five'), UNCONDITIONAL)
  await store.replacePlant(plant(5n, 'fünf'), UNCONDITIONAL)
  await store.updatePlant(5n, { tag: '' }, UNCONDITIONAL)
  await store.updatePlant(5n, { name: 'fünf' }, UNCONDITIONAL)
  await assert.rejects(store.deletePlant(6n, UNCONDITIONAL), refusal(40402))
  await store.deletePlant(5n, UNCONDITIONAL)
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

test('SQLite: creates that are committed together share rows of the log, which are bounded in ids and in text', async (t) => {
  const path = join(tempFolder(t), 'plants.db')
  const { store } = await openSqlite(t, { path })
  await store.importPlants(
    Array.from({ length: 2500 }, (_, i) => plant(BigInt(i))),
    'add',
  )
  await store.importPlants(
    Array.from({ length: 5 }, (_, i) => plant(BigInt(i - 5), 'x'.repeat(400_000))),
    'add',
  )
  const rows = changesIn(path)
  assert.deepEqual(
    rows.map(({ ids }) => ids.length),
    [1000, 1000, 500, 2, 2, 1],
  )
  assert.equal(rows.at(-1)?.position, 2505n)
})
