import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { Worker } from 'node:worker_threads'
import { makeDraft } from '../src/base/files.ts'
import { type Migration, pendingMigrations, readMigrations, statementsOf } from '../src/base/migrations.ts'
import { APPLICATION_ID, openWriter } from '../src/sqlite/connection.ts'
import { migrate } from '../src/sqlite/open/prepare-file.ts'
import { cleanUp } from './support/clean-up.ts'
import { fails, isIntact, snapshot, tempFolder } from './support/files.ts'
import { run } from './support/process.ts'
import { until } from './support/until.ts'

const OURS = readMigrations(new URL('../sql/sqlite/', import.meta.url))

function folderOf(t: TestContext, files: Record<string, string>): URL {
  const folder = tempFolder(t)
  for (const [name, sql] of Object.entries(files)) writeFileSync(join(folder, name), sql)
  return pathToFileURL(`${folder}/`)
}

/** Creates a store with only the first `count` migrations. */
function oldStore(path: string, count: number): void {
  const db = new DatabaseSync(path)
  db.exec(`PRAGMA journal_mode = WAL; PRAGMA application_id = ${APPLICATION_ID}`)
  if (count > 0) db.exec('CREATE TABLE migrations (number INTEGER PRIMARY KEY, checksum TEXT NOT NULL) STRICT')
  for (const { number, sql, checksum } of OURS.slice(0, count)) {
    db.prepare('INSERT INTO migrations VALUES (?, ?)').run(number, checksum)
    db.exec(sql)
  }
  db.close()
}

function schemaOf(path: string): { migrations: unknown[]; tables: unknown[] } {
  const db = new DatabaseSync(path, { readOnly: true, timeout: 10_000 })
  const isEmpty = db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'migrations'").get() === undefined
  const migrations = isEmpty ? [] : db.prepare('SELECT number, checksum FROM migrations ORDER BY number').all()
  const tables = db.prepare('SELECT type, name, sql FROM sqlite_schema ORDER BY name').all()
  db.close()
  return { migrations: migrations.map((row) => ({ ...row })), tables: tables.map((row) => ({ ...row })) }
}

test('the reader of migrations reads only the numbered files of a folder, in order', (t) => {
  const folder = folderOf(t, { '000002.sql': 'B', '000001.sql': 'A', 'notes.md': '', '000003.sql~': 'C', '4.sql': 'D' })
  const found = readMigrations(folder).map(({ number, sql }) => [number, sql])
  assert.deepEqual(found, [
    [1, 'A'],
    [2, 'B'],
  ])
})

test('the reader of migrations throws at a missing number', (t) => {
  assert.throws(() => readMigrations(folderOf(t, { '000001.sql': 'A', '000003.sql': 'C' })), /000003.sql leaves a gap/)
  assert.throws(() => readMigrations(folderOf(t, { '000002.sql': 'B' })), /000002.sql leaves a gap/)
})

test('pending migrations are those that the store lacks, in order', () => {
  const known: Migration[] = [1, 2, 3].map((number) => ({ number, sql: '', checksum: `sum ${number}` }))
  assert.deepEqual(pendingMigrations(known, []), known)
  assert.deepEqual(pendingMigrations(known, known.slice(0, 2)), known.slice(2))
  assert.deepEqual(pendingMigrations(known, known), [])
})

test('opening refuses a store with another or a newer schema', () => {
  const known: Migration[] = [1, 2].map((number) => ({ number, sql: '', checksum: `sum ${number}` }))
  const changed = [...known.slice(0, 1), { number: 2, checksum: 'another sum' }]
  assert.throws(() => pendingMigrations(known, changed), fails(/schema 2 was created by a migration that differs/))
  const newer = [...known, { number: 3, checksum: 'sum 3' }]
  assert.throws(
    () => pendingMigrations(known, newer),
    fails(/schema 3, newer than this program's 2; update the program/),
  )
})

test('migrating a store of any older version gives the schema of a new store', (t) => {
  const folder = tempFolder(t)
  const schemas = OURS.map((_, count) => {
    const path = join(folder, `${count}.db`)
    oldStore(path, count)
    const db = openWriter(path)
    migrate(db)
    migrate(db)
    db.close()
    return schemaOf(path)
  })
  const fresh = join(folder, 'new.db')
  oldStore(fresh, OURS.length)
  for (const schema of schemas) assert.deepEqual(schema, schemaOf(fresh))
})

test('migrating a store applies each later migration once, in order', (t) => {
  const path = join(tempFolder(t), 'plants.db')
  oldStore(path, OURS.length)
  const [first, second] = [1, 2].map((i) => ({
    number: OURS.length + i,
    sql: i === 1 ? 'CREATE TABLE later (i INTEGER) STRICT' : 'INSERT INTO later VALUES (2)',
    checksum: `later ${i}`,
  }))
  assert.ok(first && second)
  const db = openWriter(path)
  migrate(db, [...OURS, first])
  for (let i = 0; i < 2; i++) migrate(db, [...OURS, first, second])
  assert.throws(() => migrate(db), fails(/newer than this program's/))
  assert.throws(
    () => migrate(db, [...OURS, second, first]),
    new RegExp(`schema ${first.number} was created by a migration that differs`),
  )
  assert.deepEqual(
    db
      .prepare('SELECT i FROM later')
      .all()
      .map((row) => row['i']),
    [2n],
  )
  db.close()
})

test('a failed migration leaves the store unchanged', (t) => {
  const path = join(tempFolder(t), 'plants.db')
  oldStore(path, 0)
  const db = openWriter(path)
  db.exec('CREATE TABLE tokens (in_the_way TEXT) STRICT')
  assert.throws(() => migrate(db), /table tokens already exists/)
  assert.equal(db.isTransaction, false)
  const tables = db.prepare('SELECT name FROM sqlite_schema ORDER BY name').all()
  const found = tables.map((row) => row['name'])
  assert.deepEqual(found, ['tokens'])
  db.close()
})

/** Starts eight processes at once that open the same store, and each create a token. */
async function startMany(t: TestContext, path: string): Promise<void> {
  const starts = Array.from({ length: 8 }, (_, i) =>
    run(t, ['token', 'create', '--name', `number ${i}`, '--store', `sqlite:${path}`]),
  )
  for (const { code, stderr } of await Promise.all(starts)) assert.equal(code, 0, stderr)
  const db = new DatabaseSync(path, { readOnly: true })
  assert.equal(db.prepare('SELECT count(DISTINCT name) AS count FROM tokens').get()?.['count'], 8)
  db.close()
  const expected = OURS.map(({ number, checksum }) => ({ number, checksum }))
  assert.deepEqual(schemaOf(path).migrations, expected)
  assert.ok(isIntact(path))
}

test('eight processes that start at once without a store create one store, and lose no token', async (t) => {
  const folder = tempFolder(t)
  await startMany(t, join(folder, 'plants.db'))
  const found = readdirSync(folder).filter((name) => name.includes('.new-'))
  assert.deepEqual(found, [], 'no draft of a store is left')
})

test('a draft whose lock another start has taken first gets another name', async (t) => {
  const folder = tempFolder(t)
  const taker = new Worker(new URL('./support/draft-taker.ts', import.meta.url), { workerData: folder })
  cleanUp(t, () => void taker.terminate())
  await once(taker, 'message')
  let taken = 0
  taker.on('message', () => taken++)
  const make = async () => {
    for (let i = 0; i < 20; i++) makeDraft(join(folder, 'plants.db'))[Symbol.dispose]()
    return taken >= 10
  }
  await until(make, 'the other start takes no lock')
  assert.deepEqual(
    readdirSync(folder).filter((name) => !name.endsWith('.lock')),
    [],
  )
})

test('eight processes that start at once on an old store migrate it once, and lose no token', async (t) => {
  const folder = tempFolder(t)
  oldStore(join(folder, 'plants.db'), 0)
  await startMany(t, join(folder, 'plants.db'))
})

test('a store that another process has open is not migrated', async (t) => {
  const path = join(tempFolder(t), 'plants.db')
  oldStore(path, OURS.length - 1)
  const older = new DatabaseSync(path)
  older.exec('SELECT count(*) FROM sqlite_schema')
  const before = schemaOf(path)
  for (const command of [
    ['token', 'create', '--name', 'x'],
    ['serve', '--port', '0'],
    ['token', 'list'],
  ]) {
    const { code, stderr } = await run(t, [...command, '--store', `sqlite:${path}`])
    assert.equal(code, 1)
    assert.match(stderr, /another process has it open, perhaps a service of an older version; stop that process first/)
    assert.deepEqual(schemaOf(path), before)
  }
  older.close()
  const { code, stderr } = await run(t, ['token', 'create', '--name', 'x', '--store', `sqlite:${path}`])
  assert.equal(code, 0, stderr)
  assert.equal(schemaOf(path).migrations.length, OURS.length)
})

test('a store is created as a whole or not at all, and leftovers of a crash do no harm', async (t) => {
  const folder = tempFolder(t)
  mkdirSync(join(folder, 'plants.db.new-1-00000000'))
  const before = snapshot(folder)
  const { code, stderr } = await run(t, ['token', 'create', '--name', 'x', '--store', `sqlite:${folder}/plants.db`])
  assert.equal(code, 0, stderr)
  const { 'plants.db': made, ...others } = snapshot(folder)
  assert.deepEqual(others, before)
  assert.match(made ?? '', /mode 600/)
})

test('a file of SQL is split into statements, whatever its strings and comments contain', () => {
  const sql = `
    -- A comment; with a semicolon and an apostrophe's end.
    CREATE TABLE a (b text DEFAULT ';''"'); /* another; one */
    CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $body$ BEGIN x; y := '$$'; END $body$;
    SELECT $1, "a;b", 1 - 2 / 3;;
    SELECT 'the last'`
  assert.deepEqual(statementsOf(sql), [
    `CREATE TABLE a (b text DEFAULT ';''"')`,
    "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $body$ BEGIN x; y := '$$'; END $body$",
    'SELECT $1, "a;b", 1 - 2 / 3',
    "SELECT 'the last'",
  ])
})
