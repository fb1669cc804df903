import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { NEWEST_ROWS } from '../../src/postgres/changes/log-sql.ts'
import { rowsAfter } from '../../src/postgres/changes/read-rows.ts'
import { Retention } from '../../src/postgres/changes/retention.ts'
import { created, deleted, FIRST, known, logOf, readAll, remove, replace, updated } from '../support/change-entries.ts'
import { cleanUp } from '../support/clean-up.ts'
import { createPlant } from '../support/create-plant.ts'
import { openNew, openStore, shareOf } from '../support/open-postgres.ts'
import { OpenTransaction } from '../support/open-transaction.ts'
import { newDatabase, query, untilLockedOut } from '../support/postgres.ts'
import { buffersOf, poolOf } from '../support/search-plans.ts'
import { importMany } from '../support/store-calls.ts'
import { plant, refusal } from '../support/store-under-test.ts'

const DAY = 24 * 60 * 60_000
const HUGE = Number.MAX_SAFE_INTEGER
const [one, two, three] = [plant(1n, 'one', 'a'), plant(2n, 'two'), plant(3n, 'three')]

const retentionOf = (t: TestContext, url: string, keep: number, keepSize: number): Retention =>
  new Retention(shareOf(t, url), { keep, keepSize })

/** Makes all changes until now older, by the clock that counts. */
async function age(t: TestContext, url: string, milliseconds: number): Promise<void> {
  await retentionOf(t, url, 1000 * DAY, HUGE).run()
  await query(url, `INSERT INTO steady_times SELECT time - ${milliseconds}, wall, newest FROM steady_times`)
}

/** Imports plants as the service does, and returns what a page of the feed reads of the server, one third into the import. */
async function buffersOfPage(t: TestContext, plants: number): Promise<number> {
  const { url, store } = await openNew(t)
  for (let from = 0; from < plants; from += 1000) await importMany(store, 1000, (i) => plant(BigInt(from + i)))
  let after: string | undefined
  for (let seen = 0; seen < plants / 3; seen += 1000) {
    after = (await logOf(store).read({ ...FIRST, after, limit: 1000 })).entries.at(-1)?.position
  }
  return buffersOf(poolOf(t, url), (run) => rowsAfter(run, after, { rows: 64, changes: 100 }, null))
}

test('PostgreSQL: a page of the feed reads no more of a long import than of a short one', async (t) => {
  const [short, long] = [await buffersOfPage(t, 10_000), await buffersOfPage(t, 100_000)]
  assert.ok(long <= 2 * short, `${short} pages of the server after 10,000 plants, ${long} after 100,000`)
})

test('PostgreSQL: what is deleted is read without the texts of what was only created', async (t) => {
  const { url, store } = await openNew(t)
  for (let from = 0; from < 10_000; from += 1000) {
    await importMany(store, 1000, (i) => plant(BigInt(from + i), randomBytes(150).toString('base64')))
  }
  const end = (await logOf(store).read({ ...FIRST, limit: 1 })).next
  assert.ok(end !== undefined)
  const pool = poolOf(t, url)
  const read = (isOfDeleted: boolean) => {
    const values = [HUGE, HUGE, 0, 1000, 20_000].map(String)
    const statement = { name: `newest ${isOfDeleted}`, text: NEWEST_ROWS, values: [...values, isOfDeleted ? 't' : 'f'] }
    return buffersOf(pool, (run) => run(statement))
  }
  const [deletions, changes] = [await read(true), await read(false)]
  assert.ok(deletions < changes / 4, `${deletions} pages of the server without texts, ${changes} with them`)
})

test('PostgreSQL: changes go when all of their tick are older than the log keeps, and their positions are refused', async (t) => {
  const { url, store } = await openNew(t)
  await createPlant(store, one)
  await replace(store, plant(1n, 'again'))
  const [first, second] = await readAll(logOf(store))
  const old = await logOf(store).end()
  await age(t, url, 2 * DAY)
  await createPlant(store, two)
  const kept = await logOf(store).end()
  await remove(store, 1n)
  const retention = retentionOf(t, url, DAY, HUGE)
  await retention.run()
  assert.deepEqual((await readAll(logOf(store))).map(known), [created(two), deleted(plant(1n, 'again'))])
  for (const after of [first?.position, second?.position]) {
    await assert.rejects(logOf(store).read({ ...FIRST, after }), (error) => {
      refusal(41001)(error)
      const oldest = /[0-9a-f]{40,64}$/.exec((error as Error).message)?.[0]
      assert.equal(oldest, old, 'the message names the oldest position')
      return true
    })
  }
  // Every change after these positions is there.
  assert.equal((await readAll(logOf(store), { after: old })).length, 2)
  assert.equal((await readAll(logOf(store), { after: kept })).length, 1)
  assert.deepEqual((await logOf(store).history(1n, undefined, 10)).map(known), [deleted(plant(1n, 'again'))])
  assert.equal((await logOf(store).usage()).entries, 2)
  const tables = 'SELECT (SELECT count(*) FROM changes) AS rows, (SELECT count(*) FROM change_plants) AS plants'
  assert.deepEqual(await query(url, tables), [{ rows: '2', plants: '1' }])
})

test('PostgreSQL: the oldest changes go until the log is as small as it may be', async (t) => {
  const { url, store } = await openNew(t)
  for (let i = 0; i < 30; i++) {
    await importMany(store, 300, (at) => plant(BigInt(i * 300 + at), 'a plant of a hundred bytes'.repeat(4)))
    await logOf(store).end()
  }
  const before = await logOf(store).usage()
  const keepSize = Math.floor(before.bytes / 3)
  await retentionOf(t, url, 1000 * DAY, keepSize).run()
  const after = await logOf(store).usage()
  assert.ok(after.bytes <= keepSize && after.bytes > keepSize / 2, `${after.bytes} of ${keepSize} bytes`)
  const entries = await readAll(logOf(store))
  assert.equal(entries.length, after.entries)
  assert.equal(entries.at(-1)?.plant?.id, 8999n)
  assert.equal(after.oldest, entries[0]?.time)
})

test('PostgreSQL: a change that commits after its tick was removed stays in the log', async (t) => {
  const { url, store } = await openNew(t)
  const open = await OpenTransaction.begin(t, url)
  await open.create(one)
  for (const each of [two, three]) {
    await createPlant(store, each)
    await logOf(store).end()
  }
  await age(t, url, 2 * DAY)
  await createPlant(store, plant(4n))
  const retention = retentionOf(t, url, DAY, HUGE)
  await retention.run()
  assert.deepEqual((await readAll(logOf(store))).map(known), [created(plant(4n))])
  await open.sql('COMMIT')
  await retention.run()
  assert.deepEqual((await readAll(logOf(store))).map(known), [created(plant(4n)), created(one)])
})

test('PostgreSQL: a database that was made of another one begins a new history', async (t) => {
  const { url, store } = await openNew(t)
  await createPlant(store, one)
  const after = await logOf(store).end()
  await store.close()
  const name = new URL(url).pathname.slice(1)
  const copy = new URL(url)
  copy.pathname = `${name}_copy`
  await query(serverOf(url), `CREATE DATABASE ${name}_copy TEMPLATE ${name}`)
  cleanUp(t, async () => void (await query(serverOf(url), `DROP DATABASE ${name}_copy WITH (FORCE)`)))
  const other = await openStore(t, copy.href)
  await assert.rejects(logOf(other).read({ ...FIRST, after }), refusal(41001))
  await createPlant(other, two)
  assert.deepEqual((await readAll(logOf(other))).map(known), [created(two)])
  const again = await openStore(t, url)
  assert.deepEqual(await readAll(logOf(again), { after }), [])
})

const serverOf = (url: string): string => {
  const server = new URL(url)
  server.pathname = 'postgres'
  return server.href
}

test('PostgreSQL: a position from before the files of the database were restored is refused, if its tick was lost', async (t) => {
  const { url, store } = await openNew(t)
  await createPlant(store, one)
  const kept = await logOf(store).end()
  await createPlant(store, two)
  const lost = await logOf(store).end()
  const [, entry] = await readAll(logOf(store))
  // What the files had before the second plant.
  await query(
    url,
    `DELETE FROM change_ticks WHERE tick > 1; DELETE FROM changes WHERE 2 = ANY (ids); DELETE FROM plants WHERE id = 2;
      SELECT setval(pg_get_serial_sequence('changes', 'number'), (SELECT max(number) FROM changes))`,
  )
  await assert.rejects(logOf(store).read({ ...FIRST, after: lost }), refusal(41001))
  await createPlant(store, three)
  for (const after of [lost, entry?.position]) {
    await assert.rejects(logOf(store).read({ ...FIRST, after }), refusal(41001))
  }
  assert.deepEqual((await readAll(logOf(store), { after: kept })).map(known), [created(three)])
})

test('PostgreSQL: a store that is opened without a log ends its history, and writes nothing to it', async (t) => {
  const { url, store } = await openNew(t)
  await createPlant(store, one)
  const after = await logOf(store).end()
  await store.close()
  const off = await openStore(t, url, { history: 'end' })
  assert.equal(off.changes, undefined)
  await createPlant(off, two)
  await off.close()
  // A command leaves it so.
  const command = await openStore(t, url)
  assert.equal(command.changes, undefined)
  await replace(command, plant(2n, 'unlogged'))
  await command.close()
  const on = await openStore(t, url, { history: 'keep' })
  await assert.rejects(logOf(on).read({ ...FIRST, after }), refusal(41001))
  await replace(on, plant(2n, 'logged'))
  assert.deepEqual((await readAll(logOf(on))).map(known), [updated(plant(2n, 'unlogged'), plant(2n, 'logged'))])
})

test('PostgreSQL: changes of one plant that share a group each have an entry, also when they cancel each other out', async (t) => {
  const { store } = await openNew(t)
  await createPlant(store, one)
  const other = plant(1n, 'other', 'a')
  const brief = [plant(9n, 'brief'), plant(9n, 'again')] as const
  // The first write is under way alone; the others share the next group.
  await Promise.all([
    replace(store, two),
    replace(store, other),
    replace(store, one),
    replace(store, one),
    replace(store, brief[0]),
    remove(store, 9n),
    replace(store, brief[1]),
    remove(store, 9n),
  ])
  const entries = await readAll(logOf(store))
  const of = (id: bigint) => entries.filter((entry) => (entry.plant ?? entry.before)?.id === id).map(known)
  assert.deepEqual(of(1n), [created(one), updated(one, other), updated(other, one)])
  assert.deepEqual(of(9n), [created(brief[0]), deleted(brief[0]), created(brief[1]), deleted(brief[1])])
  assert.deepEqual((await logOf(store).history(9n, undefined, 10)).map(known), of(9n).toReversed())
})

for (const [what, sql] of [
  // As pg_restore --clean does.
  [
    'of tables that were restored in the same database since',
    'ALTER TABLE change_history RENAME TO old; CREATE TABLE change_history AS SELECT * FROM old; DROP TABLE old',
  ],
  // Files that were restored below the database, and then changed in another way, have other marks.
  [
    'of another past, which had the same tick with another mark,',
    'UPDATE change_ticks SET mark = mark + 1 WHERE tick > 0',
  ],
] as const) {
  test(`PostgreSQL: a position ${what} is refused`, async (t) => {
    const { url, store } = await openNew(t)
    await createPlant(store, one)
    const after = await logOf(store).end()
    await createPlant(store, two)
    assert.deepEqual((await readAll(logOf(store), { after })).map(known), [created(two)])
    await store.close()
    await query(url, sql)
    const again = await openStore(t, url)
    await assert.rejects(logOf(again).read({ ...FIRST, after }), refusal(41001))
    await assert.rejects(logOf(again).history(1n, after, 10), refusal(41001))
  })
}

test('PostgreSQL: two instances that begin a history at once begin one', async (t) => {
  const url = await newDatabase(t)
  await (await openStore(t, url, { history: 'end' })).close()
  await query(
    url,
    `CREATE TABLE begun (identity text);
    CREATE FUNCTION note_begun() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN INSERT INTO begun VALUES (new.identity); RETURN new; END';
    CREATE TRIGGER begun AFTER INSERT ON change_history FOR EACH ROW EXECUTE FUNCTION note_begun()`,
  )
  const holding = await OpenTransaction.begin(t, url)
  // Both may see that there is no history, and neither may begin one.
  await holding.sql('LOCK TABLE change_history IN ROW EXCLUSIVE MODE')
  const opening = Promise.all([1, 2].map(() => openStore(t, url, { history: 'keep' })))
  await untilLockedOut(url, 2)
  await holding.sql('COMMIT')
  const [first, second] = await opening
  assert.ok(first && second)
  assert.equal((await query(url, 'SELECT FROM begun')).length, 1)
  await createPlant(first, one)
  assert.deepEqual((await readAll(logOf(second))).map(known), [created(one)])
})

test('PostgreSQL: while one instance removes changes, no other one does', async (t) => {
  const { url, store } = await openNew(t)
  for (const each of [one, two]) {
    await createPlant(store, each)
    await logOf(store).end()
  }
  await age(t, url, 2 * DAY)
  await createPlant(store, three)
  const retention = retentionOf(t, url, DAY, HUGE)
  const entries = async () => (await readAll(logOf(store))).map(known)
  const rows = async () => (await query<{ rows: string }>(url, 'SELECT count(*) AS rows FROM changes'))[0]?.rows
  const other = await OpenTransaction.begin(t, url)
  await other.sql('SELECT pg_advisory_xact_lock(5786085745363142989)')
  await retention.run()
  assert.deepEqual([await entries(), await rows()], [[created(one), created(two), created(three)], '3'])
  await other.sql('COMMIT')
  await retention.run()
  assert.deepEqual([await entries(), await rows()], [[created(three)], '1'])
})

test('PostgreSQL: the feed and the histories go on while the clock of the server is behind the last tick', async (t) => {
  const { url, store } = await openNew(t)
  await createPlant(store, one)
  const after = await logOf(store).end()
  for (const behind of ['90 s', '15 years']) {
    await query(url, `UPDATE change_ticks SET made_at = made_at + interval '${behind}'`)
    await replace(store, plant(1n, behind))
    const { entries, isEnd } = await logOf(store).read({ ...FIRST, after })
    assert.deepEqual([entries.at(-1)?.plant?.name, isEnd], [behind, true])
    assert.equal((await logOf(store).history(1n, undefined, 1))[0]?.plant?.name, behind)
  }
})

test('PostgreSQL: a read that waits for a tick ends with the reason of its signal', async (t) => {
  const { store } = await openNew(t)
  const ending = new AbortController()
  const reason = new Error('the client is gone')
  await createPlant(store, one)
  await logOf(store).end()
  // The last tick is too young for another one.
  const reading = logOf(store).read(FIRST, ending.signal)
  setTimeout(() => ending.abort(reason), 10)
  await assert.rejects(reading, (error) => error === reason)
})
