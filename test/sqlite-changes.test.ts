import assert from 'node:assert/strict'
import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { NO_EXPECTATION } from '../src/domain/plant.ts'
import { ChangeFeed } from '../src/sqlite/change-log/change-feed.ts'
import { identityIn } from '../src/sqlite/change-log/change-reader.ts'
import { StatementCache } from '../src/sqlite/rows.ts'
import { makeBackup, restoreBackup } from '../src/sqlite/upkeep/backup.ts'
import { TESTER } from './support/actor.ts'
import { aloe, created, FIRST, fern, known, logOf, readAll, replace } from './support/change-entries.ts'
import { deletePlant, replacePlant, updatePlant } from './support/change-plant.ts'
import { createPlant } from './support/create-plant.ts'
import { tempFolder } from './support/files.ts'
import { openSqlite } from './support/open-sqlite.ts'
import { changesIn } from './support/sqlite-changes.ts'
import { inFile } from './support/sqlite-indexes.ts'
import { importMany, listAll } from './support/store-calls.ts'
import { plant, refusal } from './support/store-under-test.ts'
import { until } from './support/until.ts'

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

const DAY = 86_400_000

test('SQLite: a log of changes beyond its size loses its oldest entries, and refuses positions before them', async (t) => {
  const { store } = await openSqlite(t, { changesKeep: DAY, changesKeepSize: 100_000 })
  const log = logOf(store)
  await replace(store, plant(0n, 'first'))
  const early = await log.end()
  for (let i = 0; i < 300; i++) await replace(store, plant(BigInt(i % 50), 'x'.repeat(1000) + i))
  await until(async () => (await log.usage()).bytes < 110_000, 'the log does not become smaller')
  const { entries, bytes } = await log.usage()
  assert.ok(bytes > 80_000, `${bytes} bytes are left`)
  const kept = await readAll(log)
  assert.equal(kept.length, entries)
  await assert.rejects(log.read({ ...FIRST, after: early }), (error) => {
    const [, oldest] = /begins after (\w+)$/.exec(String((error as Error).message)) ?? []
    assert.ok(oldest !== undefined && oldest < (kept[0]?.position ?? ''))
    return refusal(41001)(error)
  })
  // The present plants stay, of which the log has only a part of the history.
  assert.equal((await store.getPlant(7n))?.name.startsWith('xxx'), true)
  const history = await log.history(7n, undefined, 100)
  assert.deepEqual(history, kept.filter(({ plant }) => plant?.id === 7n).toReversed())
})

test('SQLite: the log of changes counts nearly the bytes that it takes in the file', async (t) => {
  const { path, store } = await openSqlite(t, { changesKeep: DAY })
  await importMany(store, 5000, (i) => plant(BigInt(i), `plant ${i}`))
  for (let i = 0; i < 3000; i++) await replace(store, plant(BigInt(i), 'n'.repeat(i % 200)))
  const { bytes } = await logOf(store).usage()
  const taken = inFile(path, (db) =>
    Number(
      db.prepare("SELECT sum(pgsize) AS n FROM dbstat WHERE name IN ('changes', 'changes_of_plant')").get()?.['n'],
    ),
  )
  assert.ok(bytes > 0.8 * taken && bytes < 1.3 * taken, `${bytes} bytes counted, and ${taken} taken`)
})

test('SQLite: the history of a plant reads the log up to the row that created it, however much follows', async (t) => {
  const { path, store } = await openSqlite(t, { changesKeep: DAY })
  for (let from = 0; from < 20_000; from += 1000) {
    await importMany(store, 1000, (i) => plant(BigInt(from + i)))
  }
  await replace(store, plant(20_000n))
  const newest = await logOf(store).end()
  using db = new DatabaseSync(path, { readBigInts: true })
  let read = 0
  // SQLite calls it for each row of the log at which it looks for the plant.
  db.function('instr', { deterministic: true }, (ids, id) => {
    read++
    return 1 + Buffer.from(ids as Uint8Array).indexOf(id as Uint8Array)
  })
  const statements = new StatementCache(db)
  const feed = new ChangeFeed(statements, identityIn(statements))
  for (const id of [0n, 999n, 10_500n, 19_999n]) {
    for (const before of [undefined, newest]) {
      read = 0
      assert.equal(feed.history(id, before, 10).length, 1)
      assert.ok(read > 0 && read <= 4, `${read} rows of 250 creates for plant ${id}`)
    }
  }
})

test('SQLite: a restored store refuses the positions of the store before, and begins a new history', async (t) => {
  const folder = tempFolder(t)
  const path = join(folder, 'plants.db')
  const { store } = await openSqlite(t, { path, changesKeep: DAY })
  await replace(store, aloe)
  const position = await logOf(store).end()
  await makeBackup(path, join(folder, 'backup.db'))
  await restoreBackup(join(folder, 'restored.db'), join(folder, 'backup.db'), { replace: false })
  const { store: restored } = await openSqlite(t, { path: join(folder, 'restored.db'), changesKeep: DAY })
  await assert.rejects(logOf(restored).read({ ...FIRST, after: position }), refusal(41001))
  assert.deepEqual((await readAll(logOf(restored))).map(known), [created(aloe)])
})

test('SQLite: a file that was put back without a restore refuses the positions of what it lacks', async (t) => {
  const folder = tempFolder(t)
  const [path, copy] = [join(folder, 'plants.db'), join(folder, 'copy.db')]
  const { store } = await openSqlite(t, { path, changesKeep: DAY })
  await replace(store, aloe)
  await makeBackup(path, copy)
  const common = await logOf(store).end()
  await replace(store, fern)
  const lost = await logOf(store).end()
  await store.close()
  copyFileSync(copy, path)
  const { store: again } = await openSqlite(t, { path, changesKeep: DAY })
  assert.deepEqual((await logOf(again).read({ ...FIRST, after: common })).entries, [])
  await assert.rejects(logOf(again).read({ ...FIRST, after: lost }), refusal(41001))
  await replace(again, fern)
  // The entry with this number was made at another time.
  inFile(path, (db) => db.exec('UPDATE changes SET at = at + 1 WHERE position = (SELECT max(position) FROM changes)'))
  await assert.rejects(logOf(again).read({ ...FIRST, after: lost }), refusal(41001))
})
