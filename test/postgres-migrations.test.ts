import assert from 'node:assert/strict'
import { test } from 'node:test'
import { statementsOf } from '../src/base/migrations.ts'
import { DEVELOPMENT_STORE } from './support/development-store.ts'
import { openStore } from './support/open-postgres.ts'
import { newDatabase, query } from './support/postgres.ts'
import { run } from './support/process.ts'

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

test('a store of a development version is refused in one sentence, and left as it is', async (t) => {
  const url = await newDatabase(t)
  await (await openStore(t, url)).close()
  // As the files of those versions had other contents, and there were twelve of them.
  await query(url, "UPDATE plantstore_migrations SET checksum = 'before 1.0.0'")
  await query(
    url,
    "INSERT INTO plantstore_migrations SELECT number, 'x' FROM generate_series((SELECT max(number) + 1 FROM plantstore_migrations), 12) AS number",
  )
  const { code, stderr } = await run(t, ['serve', '--port', '0', '--store', url])
  assert.equal(code, 1)
  assert.match(stderr, DEVELOPMENT_STORE)
  assert.equal((await query(url, 'SELECT FROM plantstore_migrations')).length, 12)
})
