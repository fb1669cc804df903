import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { words } from '../src/fold.ts'
import type { PlantQuery } from '../src/plant-query.ts'
import { selectStatement } from '../src/postgres/reader.ts'
import { cleanUp } from './support/clean-up.ts'
import { openStore } from './support/open-postgres.ts'
import { newDatabase, query } from './support/postgres.ts'
import { ownServer } from './support/postgres-faults.ts'
import { plant } from './support/store-under-test.ts'

const COUNT = 30_000

/** Plants of which each has a word of its own, and one of a thousand tags. */
async function fill(t: TestContext, url: string): Promise<void> {
  const store = await openStore(t, url)
  for (let first = 0; first < COUNT; first += 1000) {
    const plants = Array.from({ length: 1000 }, (_, i) => plant(BigInt(first + i), `name${first + i}`, `tag ${i}`))
    await store.importPlants(plants, 'add')
  }
}

test('lists and searches find their plants by an index', async (t) => {
  const url = await newDatabase((work) => cleanUp(t, work))
  await fill(t, url)
  await query(url, 'ANALYZE plants')
  const all: PlantQuery = { tags: [], words: [], order: 'id', after: undefined }
  const cases: readonly (readonly [Partial<PlantQuery>, RegExp])[] = [
    [{}, /Index Scan using plants_pkey/],
    [{ after: { key: '', id: 5n } }, /Index Scan using plants_pkey.*Index Cond: \(id > /],
    [{ order: '-id' }, /Index Scan Backward using plants_pkey/],
    [{ order: 'name' }, /Index Scan using plants_by_name/],
    [
      { order: '-name', after: { key: 'name5', id: 5n } },
      /Index Scan Backward using plants_by_name.*Index Cond: \(ROW\(sort_key, id\) </,
    ],
    [{ tags: ['tag 7'] }, /plants_by_tag/],
    [{ words: words('name2345') }, /Bitmap Index Scan on plants_by_word/],
    [{ words: words('name2345'), order: 'name' }, /Bitmap Index Scan on plants_by_word/],
  ]
  for (const [part, plan] of cases) {
    const { order, after, ...filter } = { ...all, ...part }
    const { text, values } = selectStatement(filter, order, after)
    const lines = await query<{ 'QUERY PLAN': string }>(url, `EXPLAIN ${text} LIMIT 100`, values)
    assert.match(lines.map((line) => line['QUERY PLAN']).join(' '), plan, JSON.stringify(part, String))
  }
})

test('new words are sorted into their index beside the writes', async (t) => {
  const server = await ownServer(t)
  await fill(t, server.url())
  await query(server.url(), 'CREATE EXTENSION pgstattuple')
  const pending = async (): Promise<number> => {
    const rows = await query<{ pending: string }>(
      server.url(),
      "SELECT pending_tuples AS pending FROM pgstatginindex('plants_by_word')",
    )
    return Number(rows[0]?.pending)
  }
  while ((await pending()) > COUNT / 2) await sleep(50)
})

test('what the index can not hold whole is found all the same, and nothing else is', async (t) => {
  const store = await openStore(t, await newDatabase((work) => cleanUp(t, work)))
  const many = Array.from({ length: 50_000 }, (_, i) => `w${i.toString(36)}x`)
  const plants = [
    plant(1n, many.join(' ')),
    plant(2n, many.toReversed().join(' '), 'fern'),
    plant(3n, `${'a'.repeat(100)}b`),
    plant(4n, `${'a'.repeat(100)}c`),
    plant(5n, '🌵'.repeat(70)),
    ...Array.from({ length: 20 }, (_, i) => plant(BigInt(10 + i), 'fern')),
  ]
  await store.importPlants(plants, 'add')
  const idsOf = async (text: string, limit = 100, order: PlantQuery['order'] = 'id') => {
    const found = await store.listPlants({ tags: [], words: words(text), order, after: undefined }, limit)
    return found.map(({ id }) => Number(id))
  }
  assert.deepEqual(await idsOf('w1x wzzx'), [1, 2])
  assert.deepEqual(await idsOf('a'.repeat(80)), [3, 4])
  assert.deepEqual(await idsOf(`${'a'.repeat(100)}c`), [4])
  assert.deepEqual(await idsOf('🌵'), [5])
  assert.deepEqual(await idsOf('nothing'), [])
  // The first is looked at because of its many words; its place is taken by what comes behind.
  assert.deepEqual(await idsOf('fern', 3), [2, 10, 11])
  assert.deepEqual(await idsOf('fern', 22), [2, ...Array.from({ length: 20 }, (_, i) => 10 + i)])
  assert.deepEqual(await idsOf('fern', 2, '-name'), [2, 29])
})
