import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { NO_EXPECTATION } from '../src/domain/plant.ts'
import { ALL_PLANTS } from '../src/domain/plant-query.ts'
import { hashSecret, isScope, makeSecret, SCOPES, type Token } from '../src/domain/token.ts'
import type { PostgresStore } from '../src/postgres/store.ts'
import { TESTER } from './support/actor.ts'
import { updatePlant } from './support/change-plant.ts'
import { createPlant } from './support/create-plant.ts'
import { openNew, openStore } from './support/open-postgres.ts'
import { OpenTransaction } from './support/open-transaction.ts'
import { lockedOut, newDatabase, plantsOf, query, untilLockedOut } from './support/postgres.ts'
import { importAll, importMany } from './support/store-calls.ts'
import { plant } from './support/store-under-test.ts'
import { until } from './support/until.ts'
import { token } from './token-suite.ts'

/** A store with plant 1, which another transaction has changed and not committed yet. */
async function openContended(t: TestContext, sql = '') {
  const { url, store } = await openNew(t)
  await createPlant(store, plant(1n, 'one'), { mustBeNew: true })
  await query(url, sql)
  const other = await OpenTransaction.begin(t, url)
  await other.update(plant(1n, 'one'), plant(1n, 'first'))
  const waits = (statement: string, event = '%') =>
    untilLockedOut(url, 1, `wait_event LIKE '${event}' AND query LIKE '%${statement}%'`)
  return { url, store, other, waits }
}

test('an import goes on after another transaction has changed one of its plants, and writes the others once', async (t) => {
  const { url, store, other, waits } = await openContended(
    t,
    `CREATE SEQUENCE inserts;
    CREATE FUNCTION count_insert() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM nextval('inserts'); RETURN NULL; END $$;
    CREATE TRIGGER counted AFTER INSERT ON plants FOR EACH STATEMENT EXECUTE FUNCTION count_insert()`,
  )
  const imported = store.importPlants([plant(1n, 'imported'), plant(2n)], 'update', TESTER)
  await waits('UPDATE plants')
  await other.sql('COMMIT')
  assert.deepEqual(await imported, ['updated', 'added'])
  assert.deepEqual(await plantsOf(url), [plant(1n, 'imported'), plant(2n)])
  assert.deepEqual(await query(url, 'SELECT last_value FROM inserts'), [{ last_value: '1' }])
})

test('a change that another transaction overtakes locks the plant, so that no third one overtakes it', async (t) => {
  const { store, other, waits } = await openContended(
    t,
    // An update that has changed nothing yet ends when the test wants.
    `CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_advisory_xact_lock(1); RETURN NULL; END $$;
    CREATE TRIGGER waits AFTER UPDATE ON plants FOR EACH STATEMENT EXECUTE FUNCTION wait()`,
  )
  await other.sql('SELECT pg_advisory_lock(1)')
  const changed = updatePlant(store, 1n, { tag: 'new' }, NO_EXPECTATION, TESTER)
  await waits('UPDATE plants')
  await other.sql('COMMIT')
  await waits('UPDATE plants', 'advisory')
  await other.sql('BEGIN; SELECT FROM plants WHERE id = 1 FOR UPDATE; SELECT pg_advisory_unlock(1)')
  await waits('WHERE id = ANY ($1::bigint[]) ORDER BY id FOR UPDATE')
  await other.sql("UPDATE plants SET name = 'second' WHERE id = 1; COMMIT")
  await changed
  assert.deepEqual(await store.getPlant(1n), plant(1n, 'second', 'new'))
})

test('concurrent look-ups of tokens share a statement and use at most one connection', async (t) => {
  const { url, store } = await openNew(t, { timeout: 60_000 })
  const good = makeSecret()
  await store.tokens.createToken(token('good'), hashSecret(good))
  const other = await OpenTransaction.begin(t, url)
  await other.sql('LOCK TABLE tokens IN ACCESS EXCLUSIVE MODE')
  const found = Promise.all(
    Array.from({ length: 500 }, (_, i) => store.tokens.findToken(hashSecret(i === 250 ? good : makeSecret()))),
  )
  await until(async () => (await lockedOut(url)) > 0, 'no look-up waits for the lock')
  await sleep(200)
  assert.equal(await lockedOut(url), 1)
  await other.sql('COMMIT')
  const names = (await found).flatMap((each) => (each === undefined ? [] : [each.name]))
  assert.deepEqual(names, ['good'])
})

test('a new token does not wait for an ended one that another transaction holds, and the next one removes it', async (t) => {
  const { url, store } = await openNew(t)
  const [ended, first, second] = [token('ended'), token('first'), token('second')]
  await store.tokens.createToken({ ...ended, revokedAt: ended.createdAt }, hashSecret(makeSecret()))
  const issue = (wanted: Token) =>
    store.tokens.issueToken(wanted, hashSecret(makeSecret()), { creator: undefined, max: 9, maxEnded: 0 })
  const names = async () => (await store.tokens.listTokens()).map(({ name }) => name).toSorted()
  const holder = await OpenTransaction.begin(t, url)
  await holder.sql('SELECT FROM tokens FOR UPDATE')
  await issue(first)
  assert.deepEqual(await names(), ['ended', 'first'])
  await holder.sql('ROLLBACK')
  await issue(second)
  assert.deepEqual(await names(), ['first', 'second'])
})

test('of two tokens that revoke each other at once, one stays', async (t) => {
  const url = await newDatabase(t)
  const instances = [await openStore(t, url), await openStore(t, url)]
  const managers = [token('a', { scopes: ['tokens'] }), token('b', { scopes: ['tokens'] })]
  for (const one of managers) await instances[0]?.tokens.createToken(one, hashSecret(makeSecret()))
  const other = await OpenTransaction.begin(t, url)
  // Neither transaction can write before both have begun.
  await other.sql('SELECT FROM tokens FOR UPDATE')
  const results = Promise.all(instances.map(({ tokens }, i) => tokens.revokeToken(managers[i]?.id ?? '', true)))
  await untilLockedOut(url, 2)
  await other.sql('COMMIT')
  assert.deepEqual((await results).toSorted(), ['last', 'revoked'])
})

test('an instance of the release before finds no scope that it knows in a token with a part', async (t) => {
  const { url, store } = await openNew(t)
  const ours = token('of a part', { part: ['a/'], scopes: SCOPES })
  await store.tokens.createToken(ours, hashSecret('x'))
  const [row] = await query<{ scopes: string }>(url, 'SELECT scopes FROM tokens')
  assert.deepEqual(row?.scopes.split(' ').filter(isScope), [])
  assert.deepEqual((await store.tokens.findToken(hashSecret('x')))?.scopes, SCOPES)
})

/** More plants than the store writes before it adds up changes of the counts. */
const PLANTS = 21_000
const tagOf = (i: number): string | undefined => (i % 7 === 0 ? undefined : `${'long '.repeat(i % 39)}${i % 300}`)

async function assertCounted(t: TestContext, store: PostgresStore, url: string): Promise<void> {
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
  const other = await OpenTransaction.begin(t, url)
  await other.sql('LOCK TABLE plants IN ACCESS EXCLUSIVE MODE')
  assert.equal(await store.countMatches(ALL_PLANTS, 1), Number(row?.['every']))
  assert.equal(await store.countMatches({ ...ALL_PLANTS, untagged: true }, 1), Number(row?.['untagged']))
  await other.sql('COMMIT')
}

test('the counts of tags are right before and after changes are added up, and for several writers', async (t) => {
  const { url, store } = await openNew(t)
  const plants = Array.from({ length: PLANTS }, (_, i) => plant(BigInt(i), 'x', tagOf(i)))
  for (let i = 0; i < PLANTS; i += 3000) await importAll(store, plants.slice(i, i + 3000))
  // Changes that came during the last run wait for the next one, which later writes begin.
  const counts = () => query(url, 'SELECT FROM tag_counts')
  await until(async () => (await counts()).length > 0, 'the changes of counts of tags are not summed up')
  await assertCounted(t, store, url)
  await query(url, "UPDATE plants SET tag = 'new' WHERE id % 300 = 1")
  await query(url, "UPDATE plants SET tag = NULL WHERE tag LIKE 'long long %'")
  await query(url, "DELETE FROM plants WHERE tag LIKE 'long %'")
  assert.ok((await query(url, 'SELECT FROM tag_changes')).length > 0)
  await assertCounted(t, store, url)
  await query(url, 'TRUNCATE plants')
  await assertCounted(t, store, url)
})

test('the counts of tags are right when two instances add up changes at once', async (t) => {
  const url = await newDatabase(t)
  const open = () => openStore(t, url, { timeout: 60_000 })
  const stores = [await open(), await open(), await open()] as const
  const count = 20_000
  const write = (store: PostgresStore, first: number) =>
    importMany(store, count, (i) => plant(BigInt(first + i), 'x', 'tag'))
  await query(url, "INSERT INTO tag_counts VALUES ('none', 0)")
  const other = await OpenTransaction.begin(t, url)
  // An instance removes this row after it has added up; with the lock of the table, it waits before.
  await other.sql('SELECT FROM tag_counts FOR UPDATE')
  for (const i of [0, 1] as const) {
    await write(stores[i], i * count)
    await untilLockedOut(url, i + 1)
  }
  await other.sql('COMMIT')
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
