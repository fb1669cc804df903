import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { gunzipSync, gzipSync } from 'node:zlib'
import { plainSql, readMigrations } from '../src/base/migrations.ts'
import { type NewPlant, NO_EXPECTATION } from '../src/domain/plant.ts'
import { filterOf } from '../src/domain/plant-query.ts'
import type { Store } from '../src/domain/store.ts'
import { makeBackup } from '../src/sqlite/upkeep/backup.ts'
import { TESTER } from './support/actor.ts'
import { deletePlant, replacePlant } from './support/change-plant.ts'
import { tempFolder } from './support/files.ts'
import { openStore } from './support/open-postgres.ts'
import { openSqlite } from './support/open-sqlite.ts'
import { newDatabase, query } from './support/postgres.ts'
import { plant } from './support/store-under-test.ts'

/** Checksums of the statements of each migration, in order. One that has changed keeps older stores from opening. */
const CHECKSUMS = {
  sqlite: [
    'fce87b7005f6c44619131a3bc5889a019cfe9cc3c6e017a58ea6939e316ec346',
    '142d55ddafa67ee57b1ac6dd1f5d2bacef2f2fd92c287071477c6e791798b9f1',
    '0de3524e0d273032b67bbfcf3a09c0c3d7eeba01f5bcb9fe1a243b91e1c33a19',
    '6426730289b67ae0533a980872b4329e4264594066d98308cea0045112bad2a6',
  ],
  postgres: [
    '2b95630896496689b4f4c5dced23da9238a7af2e63a797b9daba16cecf812d7b',
    '65ee7b6d7c64e45bba234375b277231bf45216d4cfacad141353c000a8724c97',
    'ed6eb6ee76c07f16229a467cfab7a2b565a90f4c87c716fcc3fae291b9fc491c',
    'ffff361b5361bac9cc0eb1f567304c2c8ce6f5dd9cc78e3584f91e51a49ee9ed',
    'ea767e87e383539c7ad2df20e9fad0883f36cfd6f670e7986832a386abbaee3b',
  ],
}

const migrationsOf = (engine: keyof typeof CHECKSUMS) => readMigrations(new URL(`../sql/${engine}/`, import.meta.url))

for (const engine of ['sqlite', 'postgres'] as const) {
  test(`no migration of ${engine} has changed`, () => {
    const checksums = migrationsOf(engine).map(({ checksum }) => checksum)
    assert.deepEqual(checksums, CHECKSUMS[engine])
  })
}

test('comments and blanks of a migration may change, but nothing else', () => {
  const sql = "CREATE TABLE a (b text, -- a comment; of one line\n  c text DEFAULT 'x  --y');\n"
  assert.equal(plainSql(sql), "CREATE TABLE a(b text,c text DEFAULT 'x  --y')")
  assert.equal(plainSql(sql), plainSql("/* new */ CREATE  TABLE a(b text,c text\nDEFAULT 'x  --y')"))
  for (const [from, to] of [
    ['text', 'bytea'],
    ['x  --y', 'x --y'],
    ['b text', 'btext'],
    ["');", "');\nDROP TABLE a"],
  ] as const) {
    assert.notEqual(plainSql(sql.replace(from, to)), plainSql(sql), to)
  }
})

/** Stores that the program wrote when each schema was the newest: files of SQLite, and SQL for an empty database. */
const fixture = (name: string): URL => new URL(`./fixtures/stores/${name}.gz`, import.meta.url)
/** Set to have the tests write the fixtures of the newest schema. Never replace one after the release of its schema. */
const isMaking = process.env['PLANTSTORE_MAKE_FIXTURES'] === '1'

const PLANTS: readonly NewPlant[] = [
  plant(-(2n ** 63n), 'Magnolia × soulangeana', 'tree'),
  plant(0n, ''),
  plant(7n, 'Écheveria 🌵', ''),
  plant(2n ** 63n - 1n, 'Rosa\u0301', 'bed 3'),
]

async function fill(store: Store): Promise<void> {
  const imported = [...PLANTS.slice(1), plant(8n, 'gone'), plant(PLANTS[0]?.id ?? 0n, 'before')]
  await store.importPlants(imported, 'add', TESTER)
  await replacePlant(store, PLANTS[0] ?? plant(0n, ''), NO_EXPECTATION, TESTER)
  await deletePlant(store, 8n, NO_EXPECTATION, TESTER)
  await store.ids.reserveIds(3, undefined, TESTER)
}

async function assertFilled(store: Store): Promise<void> {
  const list = (q: string) =>
    store.listPlants({ ...(filterOf({ tag: [], q: q }) ?? assert.fail()), order: 'id', after: undefined }, 10)
  assert.deepEqual(await list(''), PLANTS)
  assert.deepEqual(await list('magnolia x'), PLANTS.slice(0, 1))
  assert.deepEqual(await list('ech 🌵'), PLANTS.slice(2, 3))
  const found = (await store.listTags({}, 10)).map(({ tag, plants }) => [tag, Number(plants)])
  assert.deepEqual(found, [
    ['', 1],
    ['bed 3', 1],
    ['tree', 1],
  ])
  const added = plant(9n, 'new')
  await store.importPlants([added], 'add', TESTER)
  assert.deepEqual(await list('new'), [added])
}

for (const { number } of migrationsOf('sqlite')) {
  test(`a store of SQLite with schema ${number} opens, with all that it had`, async (t) => {
    const path = join(tempFolder(t), 'plants.db')
    if (isMaking && number === migrationsOf('sqlite').length) await makeSqlite(t, fixture(`sqlite-${number}.db`))
    writeFileSync(path, gunzipSync(readFileSync(fixture(`sqlite-${number}.db`))), { mode: 0o600 })
    await assertFilled((await openSqlite(t, { path })).store)
  })
}

async function makeSqlite(t: TestContext, file: URL): Promise<void> {
  const folder = tempFolder(t)
  const { store } = await openSqlite(t, { path: join(folder, 'plants.db') })
  await fill(store)
  await makeBackup(join(folder, 'plants.db'), join(folder, 'backup.db'))
  writeFileSync(file, gzipSync(readFileSync(join(folder, 'backup.db')), { level: 9 }))
}

for (const { number } of migrationsOf('postgres')) {
  test(`a store of PostgreSQL with schema ${number} opens, with all that it had`, async (t) => {
    if (isMaking && number === migrationsOf('postgres').length) await makePostgres(t, fixture(`postgres-${number}.sql`))
    const url = await newDatabase(t)
    await query(url, gunzipSync(readFileSync(fixture(`postgres-${number}.sql`))).toString())
    await assertFilled(await openStore(t, url))
  })
}

async function makePostgres(t: TestContext, file: URL): Promise<void> {
  const url = await newDatabase(t)
  await fill(await openStore(t, url))
  const statements = migrationsOf('postgres').map(({ sql }) => sql)
  statements.push(
    'CREATE TABLE plantstore_migrations (number integer PRIMARY KEY, checksum text COLLATE "C" NOT NULL);',
  )
  // Without the triggers, which would count the tags of the plants again.
  statements.push('SET session_replication_role = replica;')
  const tables = await query<{ name: string }>(
    url,
    "SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public'",
  )
  for (const { name } of tables) {
    const [row] = await query<{ rows: string }>(url, `SELECT coalesce(json_agg(t), '[]')::text AS rows FROM ${name} t`)
    const rows = row?.rows.replaceAll("'", "''")
    statements.push(
      `TRUNCATE ${name}; INSERT INTO ${name} OVERRIDING SYSTEM VALUE SELECT * FROM json_populate_recordset(NULL::${name}, '${rows}');`,
    )
  }
  const numbered = await query<{ name: string; column: string }>(
    url,
    "SELECT table_name AS name, column_name AS column FROM information_schema.columns WHERE is_identity = 'YES'",
  )
  for (const { name, column } of numbered) {
    statements.push(`SELECT setval(pg_get_serial_sequence('${name}', '${column}'), max(${column})) FROM ${name};`)
  }
  writeFileSync(file, gzipSync(statements.join('\n'), { level: 9 }))
}
