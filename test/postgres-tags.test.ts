import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Client } from 'pg'
import { ALL_PLANTS } from '../src/domain/plant-query.ts'
import type { PostgresStore } from '../src/postgres/store.ts'
import { openNew, openStore } from './support/open-postgres.ts'
import { newDatabase, query } from './support/postgres.ts'
import { importAll, importMany } from './support/store-calls.ts'
import { plant } from './support/store-under-test.ts'
import { until } from './support/until.ts'

/** More plants than the store writes before it adds up changes of the counts. */
const PLANTS = 21_000
const tagOf = (i: number): string | undefined => (i % 7 === 0 ? undefined : `${'long '.repeat(i % 39)}${i % 300}`)

async function assertCounted(store: PostgresStore, url: string): Promise<void> {
  const counted = await query<{ tag: string; plants: string }>(
    url,
    'SELECT tag, count(*) AS plants FROM plants WHERE tag IS NOT NULL GROUP BY tag ORDER BY tag',
  )
  const expected = counted.map(({ tag, plants }) => ({ tag, plants: Number(plants) }))
  assert.deepEqual(await store.listTags({}, 100_000), expected)
  for (const [i, { tag }] of expected.entries()) {
    if (i % 40 === 0) assert.deepEqual(await store.listTags({ after: tag }, 7), expected.slice(i + 1, i + 8))
  }
  const [row] = await query(
    url,
    'SELECT count(*) AS every, count(*) FILTER (WHERE tag IS NULL) AS untagged FROM plants',
  )
  // Nothing of the plants is read, or the counts would wait for the lock.
  const blocker = new Client({ connectionString: url })
  await blocker.connect()
  try {
    await blocker.query('BEGIN')
    await blocker.query('LOCK TABLE plants IN ACCESS EXCLUSIVE MODE')
    assert.equal(await store.countMatches(ALL_PLANTS, 1), Number(row?.['every']))
    assert.equal(await store.countMatches({ ...ALL_PLANTS, untagged: true }, 1), Number(row?.['untagged']))
  } finally {
    await blocker.end()
  }
}

test('the counts of tags are right before and after changes are added up, and for several writers', async (t) => {
  const { url, store } = await openNew(t)
  const plants = Array.from({ length: PLANTS }, (_, i) => plant(BigInt(i), 'x', tagOf(i)))
  for (let i = 0; i < PLANTS; i += 3000) await importAll(store, plants.slice(i, i + 3000))
  // Changes that came during the last run wait for the next one, which later writes begin.
  const counts = () => query(url, 'SELECT FROM tag_counts')
  await until(async () => (await counts()).length > 0, 'the changes of counts of tags are not summed up')
  await assertCounted(store, url)
  await query(url, "UPDATE plants SET tag = 'new' WHERE id % 300 = 1")
  await query(url, "UPDATE plants SET tag = NULL WHERE tag LIKE 'long long %'")
  await query(url, "DELETE FROM plants WHERE tag LIKE 'long %'")
  assert.ok((await query(url, 'SELECT FROM tag_changes')).length > 0)
  await assertCounted(store, url)
  await query(url, 'TRUNCATE plants')
  await assertCounted(store, url)
})

test('the counts of tags are right when two instances add up changes at once', async (t) => {
  const url = await newDatabase(t)
  const stores = [await openStore(t, url), await openStore(t, url), await openStore(t, url)] as const
  const count = 20_000
  const write = (store: PostgresStore, first: number) =>
    importMany(store, count, (i) => plant(BigInt(first + i), 'x', 'tag'))
  await query(url, "INSERT INTO tag_counts VALUES ('none', 0)")
  const blocker = new Client({ connectionString: url })
  await blocker.connect()
  try {
    // An instance removes this row after it has added up; with the lock of the table, it waits before.
    await blocker.query('BEGIN')
    await blocker.query('SELECT FROM tag_counts FOR UPDATE')
    const waiting = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`
    for (const i of [0, 1] as const) {
      await write(stores[i], i * count)
      await until(async () => (await query(url, waiting)).length > i, 'an instance does not add up')
    }
    await blocker.query('COMMIT')
  } finally {
    await blocker.end()
  }
  const isDone = async () => (await query(url, 'SELECT FROM tag_changes')).length === 0
  await until(isDone, 'the changes of counts of tags are not summed up')
  let plants = 2 * count
  // What an addition that fails has left, such as one that gets no connection, the next one adds up.
  const isDoneAgain = async () => {
    if (plants === 2 * count || (await query(url, 'SELECT FROM tag_changes')).length > 0) {
      await write(stores[2], plants)
      plants += count
    }
    return isDone()
  }
  await until(isDoneAgain, 'further changes of counts of tags are not summed up')
  assert.deepEqual(await stores[0].listTags({}, 10), [{ tag: 'tag', plants }])
})
