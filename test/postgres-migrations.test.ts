import assert from 'node:assert/strict'
import { test } from 'node:test'
import { statementsOf } from '../src/postgres/migrate.ts'

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
