import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fold, words } from '../src/domain/plant-query.ts'
import { statementsOf } from '../src/postgres/migrate.ts'
import { cleanUp } from './support/clean-up.ts'
import { openStore } from './support/open-postgres.ts'
import { newDatabase, query, WITHOUT_LOG } from './support/postgres.ts'
import { importAll } from './support/store-calls.ts'
import { plant } from './support/store-under-test.ts'

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

test('a migration folds the plants again that releases before have folded by other rules', async (t) => {
  const url = await newDatabase((work) => cleanUp(t, work))
  const store = await openStore(t, url)
  const changed: string[] = []
  for (let code = 0x80; code <= 0xe0fff; code++) {
    if (code === 0xd800) code = 0xe000
    if (code === 0x20000) code = 0xe0000
    const text = `rosa${String.fromCodePoint(code)}alba`
    if (fold(text) !== foldBefore(text) || words(text).join() !== wordsBefore(text).join()) changed.push(text)
  }
  assert.ok(changed.length > 4000, `${changed.length} characters`)
  const many = Array.from({ length: 12_000 }, (_, i) => `wide${i}`).join(' ')
  const plants = [...changed, 'rosa × alba', 'Rösá', many].map((name, i) =>
    i % 3 === 0 ? plant(BigInt(i), 'x', name) : plant(BigInt(i), name),
  )
  await importAll(store, plants)
  const stored = () =>
    query<{ id: string; sort_key: string; words: string }>(
      url,
      'SELECT id, sort_key, words::text AS words FROM plants ORDER BY id',
    )
  const blocks = () => query(url, 'SELECT * FROM wide_words ORDER BY plant, first')
  const [after, blocksAfter] = [await stored(), await blocks()]
  await store.close()
  await query(
    url,
    `UPDATE plants SET sort_key = key, words = CASE words WHEN '''*'' ''**''' THEN '''*''' ELSE array_to_tsvector(list) END
      FROM (SELECT (one->>0)::bigint AS old, one->>1 AS key, ARRAY(SELECT jsonb_array_elements_text(one->2)) AS list
        FROM jsonb_array_elements($1::jsonb) AS one) AS before WHERE id = old`,
    [
      JSON.stringify(
        plants.map(({ id, name, tag = '' }) => [
          Number(id),
          foldBefore(name).slice(0, 128),
          [...new Set(wordsBefore(`${name} ${tag}`))],
        ]),
      ),
    ],
  )
  await query(url, `DELETE FROM plantstore_migrations WHERE number >= 10; DELETE FROM wide_words; ${WITHOUT_LOG}`)
  const reopened = await openStore(t, url)
  assert.deepEqual(await blocks(), blocksAfter)
  // Words that were folded right before have no mark of a first word.
  const plain = (rows: Awaited<ReturnType<typeof stored>>) =>
    rows.map(({ id, sort_key: key, words }) => [id, key, words.replaceAll('<', '').split(' ').sort().join(' ')])
  assert.deepEqual(plain(await stored()), plain(after))
  const found = await reopened.listPlants({ tags: [], words: ['rosaalba'], order: 'name', after: undefined }, 1000)
  assert.ok(found.length > 100)
})

/** How releases before folded. */
function foldBefore(text: string): string {
  const withoutMarks = (some: string): string => some.normalize('NFKD').replaceAll(/\p{M}+/gu, '')
  return withoutMarks(withoutMarks(text).toLowerCase().toUpperCase().toLowerCase()).replaceAll('ς', 'σ')
}

const wordsBefore = (text: string): string[] =>
  foldBefore(text).match(/[\p{L}\p{N}]+|\p{Extended_Pictographic}/gu) ?? []
