import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { UNCONDITIONAL } from '../src/condition.ts'
import { readMigrations } from '../src/migrations.ts'
import { APPLICATION_ID } from '../src/sqlite/connection.ts'
import { SqliteStore } from '../src/sqlite/store.ts'
import { SqliteWriter } from '../src/sqlite/writer.ts'
import type { Store } from '../src/store.ts'
import { exportTests } from './export-suite.ts'
import { freshnessTests, propertyTests } from './freshness-suite.ts'
import { listTests } from './list-suite.ts'
import { cleanUp } from './support/clean-up.ts'
import { tempFolder } from './support/files.ts'
import { openSqlite } from './support/open-sqlite.ts'
import { assertIndexesMatch, backlog, inFile } from './support/sqlite-indexes.ts'
import { importAll, listAll } from './support/store-calls.ts'
import { plant, refusal, type StoreUnderTest, type Suite } from './support/store-under-test.ts'
import { tagTests } from './tag-suite.ts'

const READS = new Set<unknown>(['listPlants', 'listTags', 'exportPlants'])

/** A store that, before each read, indexes all that was written, or the oldest write, or nothing. */
async function openIndexing(t: TestContext, options: { maxWaiting?: number } = {}): Promise<StoreUnderTest> {
  const path = join(tempFolder(t), 'plants.db')
  const opened = await openSqlite(t, { ...options, path })
  const writer = new SqliteWriter(path)
  cleanUp(t, () => writer.close())
  let reads = 0
  const beforeRead = () => {
    const most = [1_000_000, 1, 0][reads++ % 3] ?? 0
    if (most > 0) writer.indexPlants(most)
  }
  return { ...opened, store: observed(opened.store, beforeRead) }
}

function observed(store: Store, beforeRead: () => void): Store {
  return new Proxy(store, {
    get(target, name) {
      const method: unknown = Reflect.get(target, name, target)
      if (typeof method !== 'function') return method
      return (...args: unknown[]) => {
        if (READS.has(name)) beforeRead()
        return method.apply(target, args) as unknown
      }
    },
  })
}

const suite: Suite = (title, work) => void test(`SQLite, indexed at various times: ${title}`, work)
for (const tests of [listTests, freshnessTests, propertyTests, tagTests, exportTests]) tests(suite, openIndexing)

const MANY = Array.from({ length: 6000 }, (_, i) => plant(BigInt(i - 3000), `Monstera ${i}`, `tag ${i % 3}`))

test('SQLite: what was not indexed when the store closed is found after the next start, and indexed then', async (t) => {
  const path = join(tempFolder(t), 'plants.db')
  const { store, reopen } = await openSqlite(t, { path })
  await importAll(store, MANY)
  await store.close()
  assert.ok(backlog(path) > 0, 'closing did not wait for the indexes')
  const again = await reopen()
  assert.deepEqual(await listAll(again, { words: ['monstera'] }), MANY)
  assert.equal((await again.listTags(undefined, 10)).length, 3)
  while (backlog(path) > 0) await new Promise((resolve) => setTimeout(resolve, 5))
  assertIndexesMatch(path)
})

test('SQLite: after any writes the indexes hold every plant as it is, and nothing else', async (t) => {
  const path = join(tempFolder(t), 'plants.db')
  const { store } = await openSqlite(t, { path })
  const writer = new SqliteWriter(path)
  cleanUp(t, () => writer.close())
  for (let round = 0; round < 40; round++) {
    const some = MANY.slice(round * 7, round * 7 + 30)
    await importAll(
      store,
      some.map(({ id }) => plant(id, `name ${round % 5}`, round % 4 === 0 ? undefined : `tag ${round % 3}`)),
      'update',
    )
    if (round % 3 === 0) writer.indexPlants(100)
    for (const { id } of some.slice(0, 9)) await store.deletePlant(id, UNCONDITIONAL)
    for (const { id } of some.slice(9, 15))
      await store.updatePlant(id, { name: `changed ${round}`, tag: null }, UNCONDITIONAL)
    await store.replacePlant(plant(some[20]?.id ?? 0n, '', ''), UNCONDITIONAL)
    if (round % 7 === 0) while (!writer.indexPlants(20).isDone);
  }
  await store.close()
  while (!writer.indexPlants(20).isDone);
  assertIndexesMatch(path)
})

/** A store as a program without indexes left it. */
function oldStore(path: string): void {
  inFile(path, (db) => {
    const [first] = readMigrations(new URL('../sql/sqlite/', import.meta.url))
    assert.ok(first)
    db.exec(`PRAGMA journal_mode = WAL; PRAGMA application_id = ${APPLICATION_ID};
      CREATE TABLE migrations (number INTEGER PRIMARY KEY, checksum TEXT NOT NULL) STRICT`)
    db.prepare('INSERT INTO migrations VALUES (?, ?)').run(first.number, first.checksum)
    db.exec(first.sql)
    const insert = db.prepare('INSERT INTO plants VALUES (?, ?, ?)')
    db.exec('BEGIN')
    for (const { id, name, tag } of MANY) insert.run(id, name, tag ?? null)
    db.exec('COMMIT')
  })
}

test('SQLite: the plants of an old store are indexed by a scan that many starts may take', async (t) => {
  const path = join(tempFolder(t), 'plants.db')
  oldStore(path)
  const { store, reopen } = await openSqlite(t, { path })
  await importAll(store, [plant(MANY[10]?.id ?? 0n, 'Monstera changed'), plant(5000n, 'Monstera late')], 'update')
  await store.close()
  const writer = new SqliteWriter(path)
  assert.equal(writer.indexPlants(1).isDone, false)
  writer.indexPlants(1000)
  writer.close()
  const again = await reopen()
  const found = await listAll(again, { words: ['mons'] })
  assert.equal(found.length, 6001)
  assert.deepEqual(found[10], plant(MANY[10]?.id ?? 0n, 'Monstera changed'))
  await again.close()
  assertIndexesMatch(path)
})

test('SQLite: indexes that were made by other rules of folding are made anew', async (t) => {
  const path = join(tempFolder(t), 'plants.db')
  const { store, reopen } = await openSqlite(t, { path })
  await importAll(store, MANY.slice(0, 500))
  assert.equal((await listAll(store, { order: 'name' })).length, 500)
  await store.close()
  inFile(path, (db) => db.exec("UPDATE plant_index SET folding = 'old'; UPDATE plant_names SET key = 'old ' || key"))
  const again = await reopen()
  assert.equal((await listAll(again, { order: 'name' })).length, 500)
  await again.close()
  assertIndexesMatch(path)
})

test('SQLite: a damaged index is a fault of the store, and no wrong answer', async (t) => {
  const path = join(tempFolder(t), 'plants.db')
  const fatal: Error[] = []
  const options = { serving: true, create: true, maxWaiting: 100, onFatal: (error: Error) => fatal.push(error) }
  const store = await SqliteStore.open(path, options)
  await importAll(store, MANY)
  assert.equal((await listAll(store, { words: ['mon'] })).length, 6000)
  await store.close()
  inFile(path, (db) => db.exec("UPDATE plant_words_data SET block = x'00ff00ff00ff' WHERE id > 1000"))
  const damaged = await SqliteStore.open(path, options)
  cleanUp(t, () => damaged.close())
  await assert.rejects(listAll(damaged, { words: ['mon'] }), refusal(50301))
  assert.equal(fatal.length, 1)
  await assert.rejects(listAll(damaged), refusal(50301))
})
