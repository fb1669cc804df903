import assert from 'node:assert/strict'
import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { readMigrations } from '../src/base/migrations.ts'
import { APPLICATION_ID } from '../src/sqlite/connection.ts'
import { makeBackup, restoreBackup } from '../src/sqlite/upkeep/backup.ts'
import { checkStore } from '../src/sqlite/upkeep/check.ts'
import { TESTER } from './support/actor.ts'
import {
  aloe,
  created,
  deleted,
  FIRST,
  fern,
  known,
  logOf,
  readAll,
  remove,
  replace,
  updated,
} from './support/change-entries.ts'
import { tempFolder } from './support/files.ts'
import { openSqlite } from './support/open-sqlite.ts'
import { inFile } from './support/sqlite-indexes.ts'
import { importAll } from './support/store-calls.ts'
import { plant, refusal } from './support/store-under-test.ts'
import { until } from './support/until.ts'

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
  const path = join(tempFolder(t), 'plants.db')
  const { store } = await openSqlite(t, { path, changesKeep: DAY })
  await importAll(
    store,
    Array.from({ length: 5000 }, (_, i) => plant(BigInt(i), `plant ${i}`)),
  )
  for (let i = 0; i < 3000; i++) await replace(store, plant(BigInt(i), 'n'.repeat(i % 200)))
  const { bytes } = await logOf(store).usage()
  const taken = inFile(path, (db) =>
    Number(
      db.prepare("SELECT sum(pgsize) AS n FROM dbstat WHERE name IN ('changes', 'changes_of_plant')").get()?.['n'],
    ),
  )
  assert.ok(bytes > 0.8 * taken && bytes < 1.3 * taken, `${bytes} bytes counted, and ${taken} taken`)
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

/** Makes a store of schema 7 with a log of `count` rows: creates of two plants each, and later updates and deletes. */
function oldStore(path: string, count: number): void {
  inFile(path, (db) => {
    db.exec(`PRAGMA journal_mode = WAL; PRAGMA application_id = ${APPLICATION_ID};
      CREATE TABLE migrations (number INTEGER PRIMARY KEY, checksum TEXT NOT NULL) STRICT`)
    for (const { number, checksum, sql } of readMigrations(new URL('../sql/sqlite/', import.meta.url)).slice(0, 7)) {
      db.prepare('INSERT INTO migrations VALUES (?, ?)').run(number, checksum)
      db.exec(sql)
    }
    const change = db.prepare('INSERT INTO changes VALUES (?, ?, ?, ?, ?, ?, ?)')
    const put = db.prepare('INSERT INTO plants VALUES (?, ?, NULL)')
    const packed = (...ids: bigint[]) => new Uint8Array(new BigInt64Array(ids).buffer)
    const now = Date.now()
    let last = 0
    const next = (changes: number) => {
      last += changes
      return last
    }
    db.exec('BEGIN')
    for (let i = 0n; i < count; i++) {
      change.run(next(2), now, 'create', packed(2n * i, 2n * i + 1n), null, null, 'tok_old')
      put.run(2n * i, `changed ${2n * i}`)
      if (i % 100n === 0n) {
        change.run(next(1), now, 'replace', packed(2n * i), `created ${2n * i}`, 'old', 'tok_old')
        change.run(next(1), now, 'delete', packed(2n * i + 1n), 'gone', null, null)
      } else put.run(2n * i + 1n, 'stays')
    }
    db.exec('COMMIT')
  })
}

test('SQLite: the log of an older version is moved beside writes, newest first, with the creates of its plants', async (t) => {
  const path = join(tempFolder(t), 'plants.db')
  const rows = 20_000
  oldStore(path, rows)
  assert.deepEqual(
    (await checkStore(path)).parts.flatMap(({ faults }) => faults),
    [],
  )
  const { store } = await openSqlite(t, { path, changesKeep: DAY })
  const log = logOf(store)
  const before = (await log.usage()).entries
  assert.ok(before >= 10_000 && before < 2 * rows, `${before} entries at once`)
  await replace(store, plant(0n, 'new'))
  await remove(store, 2n)
  const changes = 2 * rows + 2 * (rows / 100) + 2
  await until(async () => (await log.usage()).entries === changes, 'the log is not moved')
  const all = await readAll(log)
  assert.equal(all.length, changes)
  const [first] = all
  assert.deepEqual([first?.plant, first?.token], [plant(0n, 'created 0', 'old'), 'tok_old'])
  const old = 'tok_old'
  const histories = [
    [
      0n,
      [
        updated(plant(0n, 'changed 0'), plant(0n, 'new')),
        updated(plant(0n, 'created 0', 'old'), plant(0n, 'changed 0'), old),
        created(plant(0n, 'created 0', 'old'), old),
      ],
    ],
    [1n, [deleted(plant(1n, 'gone'), 'unknown'), created(plant(1n, 'gone'), old)]],
    [2n, [deleted(plant(2n, 'changed 2')), created(plant(2n, 'changed 2'), old)]],
    [3n, [created(plant(3n, 'stays'), old)]],
    [BigInt(2 * rows - 1), [created(plant(BigInt(2 * rows - 1), 'stays'), old)]],
  ] as const
  await until(
    () =>
      inFile(path, (db) => db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'old_changes'").get()) === undefined,
    'the old table stays',
  )
  for (const [id, expected] of histories) assert.deepEqual((await log.history(id, undefined, 10)).map(known), expected)
  await store.close()
  assert.deepEqual(
    (await checkStore(path)).parts.flatMap(({ faults }) => faults),
    [],
  )
})

test('SQLite: the log of an older version that is too old or too large is removed', async (t) => {
  const path = join(tempFolder(t), 'plants.db')
  oldStore(path, 15_000)
  const { store } = await openSqlite(t, { path, changesKeep: DAY, changesKeepSize: 300_000 })
  await importAll(store, [plant(-1n)])
  const hasOld = () =>
    inFile(path, (db) => db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'old_changes'").get()) !== undefined
  await until(() => !hasOld(), 'the old table stays')
  await until(async () => (await logOf(store).usage()).bytes < 301_000, 'the log does not become smaller')
  const entries = await readAll(logOf(store))
  assert.deepEqual(entries.at(-1)?.plant, plant(-1n))
  assert.equal(entries.length, (await logOf(store).usage()).entries)
  await store.importPlants([plant(-2n)], 'add', TESTER)
})
