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
