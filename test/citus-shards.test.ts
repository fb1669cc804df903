import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hashInt8, ShardMap } from '../src/citus/shard-map.ts'
import { Shards } from '../src/citus/shards.ts'
import { MAX_ID, MIN_ID, NO_EXPECTATION } from '../src/domain/plant.ts'
import { TESTER } from './support/actor.ts'
import { deletePlant, updatePlant } from './support/change-plant.ts'
import { cleanUp } from './support/clean-up.ts'
import { createPlant } from './support/create-plant.ts'
import { openCitus, openStore, shareOf } from './support/open-postgres.ts'
import { newDatabase, plantsOf, query } from './support/postgres.ts'
import { run } from './support/process.ts'
import { plant } from './support/store-under-test.ts'
import { until } from './support/until.ts'

const IDS = [0n, 1n, -1n, 2n ** 31n, -(2n ** 31n), 2n ** 32n, 2n ** 53n + 1n, -(2n ** 53n), MAX_ID, MIN_ID]

test('the hash of an id equals that of PostgreSQL', async (t) => {
  const url = await newDatabase(t)
  const ids = [...IDS, ...Array.from({ length: 1000 }, (_, i) => (BigInt(i) * 9_176_263_871n ** 2n) % 2n ** 63n)]
  const rows = await query<{ hash: number }>(url, 'SELECT hashint8(id) AS hash FROM unnest($1::bigint[]) AS id', [ids])
  const expected = rows.map(({ hash }) => hash)
  assert.deepEqual(ids.map(hashInt8), expected)
})

test('an id belongs to the shard whose range contains its hash', () => {
  const first = (number: number) => Math.round(-(2 ** 31) + (number * 2 ** 32) / 3)
  const shards = [2, 0, 1].map((i) => ({ number: String(i), first: first(i), node: `host:${i % 2}` }))
  const map = new ShardMap(shards)
  assert.deepEqual(map.nodes, ['host:0', 'host:1'])
  for (const id of IDS) {
    const hash = hashInt8(id)
    assert.equal(map.shardOf(id).number, String(hash < first(1) ? 0 : hash < first(2) ? 1 : 2), `${id}`)
  }
  for (const node of map.nodes) assert.equal(map.shardOf(map.idOn(node)).node, node)
})

test('an id whose hash is the lowest of a shard belongs to that shard, and the one below to the shard before', () => {
  const shard = (number: string, first: number) => ({ number, first, node: 'host:0' })
  for (const id of IDS) {
    const hash = hashInt8(id)
    const withBorder = (border: number) => new ShardMap([shard('before', -(2 ** 31)), shard('behind', border)])
    assert.equal(withBorder(hash).shardOf(id).number, 'behind', `${id}`)
    assert.equal(withBorder(hash + 1).shardOf(id).number, 'before', `${id}`)
  }
})

/** Four shards of the plants on two servers, in tables like those of Citus; the plants stay in one table. */
const SHARDS = `SET allow_system_table_mods = on;
  CREATE TABLE pg_catalog.pg_dist_partition AS SELECT 'plants'::regclass AS logicalrelid, 'h' AS partmethod, '' AS partkey;
  CREATE TABLE pg_catalog.pg_dist_shard AS SELECT 'plants'::regclass AS logicalrelid, n AS shardid,
    (-2147483648 + n * 1073741824::bigint)::text AS shardminvalue FROM generate_series(0, 3) AS n;
  CREATE TABLE pg_catalog.pg_dist_placement AS SELECT n AS placementid, n AS shardid, n % 2 AS groupid
    FROM generate_series(0, 3) AS n;
  CREATE TABLE pg_catalog.pg_dist_node AS SELECT n AS groupid, 'host' AS nodename, n AS nodeport, 'primary' AS noderole
    FROM generate_series(0, 1) AS n;
  CREATE FUNCTION pg_catalog.column_to_column_name(regclass, text) RETURNS text LANGUAGE sql AS $$ SELECT 'id' $$`
/** Notes for each statement on how many shards it inserts plants. */
const NOTES = `CREATE TABLE notes (shards bigint);
  CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO notes SELECT count(DISTINCT (hashint8(id) + 2147483648) / 1073741824) FROM added; RETURN NULL;
  END $$;
  CREATE TRIGGER note AFTER INSERT ON plants REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION note()`

test('a store with shards writes like one without, with the plants of one shard in each statement', async (t) => {
  const url = await newDatabase(t)
  await (await openStore(t, url)).close()
  await query(url, SHARDS)
  await query(url, NOTES)
  const store = await openCitus(t, url)
  const plants = Array.from({ length: 300 }, (_, i) => plant(BigInt(i), `plant ${i}`))
  const twice = await Promise.allSettled([...plants, plant(7n, 'another')].map((one) => createPlant(store, one)))
  assert.deepEqual(Map.groupBy(twice, ({ status }) => status).get('fulfilled')?.length, 300)
  await Promise.all([
    ...plants.slice(0, 50).map(({ id }) => deletePlant(store, id, NO_EXPECTATION, TESTER)),
    ...plants.slice(50, 100).map(({ id }) => updatePlant(store, id, { tag: 'new' }, NO_EXPECTATION, TESTER)),
  ])
  const rows = [...plants, plant(400n), plant(400n, 'again')]
  const results = await store.importPlants(rows, 'update', TESTER)
  const expected = plants.map((_, i) => (i < 50 ? 'added' : i < 100 ? 'updated' : 'unchanged'))
  assert.deepEqual(results, [...expected, 'added', 'updated'])
  assert.deepEqual(await plantsOf(url), [...plants, plant(400n, 'again')])
  const found = await Promise.all(plants.map(({ id }) => store.getPlant(id)))
  assert.deepEqual(found, plants)
  const notes = await query<{ shards: string }>(url, 'SELECT DISTINCT shards FROM notes WHERE shards > 0')
  assert.deepEqual(notes, [{ shards: '1' }])
})

test('while a server is lost, work on its shards and on all is refused at once, and other work goes on', async (t) => {
  const url = await newDatabase(t)
  await (await openStore(t, url)).close()
  await query(url, SHARDS)
  const share = shareOf(t, url)
  const notices: string[] = []
  const shards = await Shards.open(share, (text) => notices.push(text))
  cleanUp(t, () => shards.close())
  const [lost, other] = [shards.map.idOn('host:0'), shards.map.idOn('host:1')].map((id) => shards.map.shardOf(id))
  assert.ok(lost && other)
  // Citus passes the errors of a server on, also to the question whether it is back.
  const raise = "RAISE EXCEPTION 'could not connect' USING ERRCODE = '08006'"
  const answer = (body: string) =>
    query(url, `CREATE OR REPLACE FUNCTION answer() RETURNS SETOF bigint LANGUAGE plpgsql AS $$ BEGIN ${body}; END $$`)
  await answer(raise)
  await query(url, 'ALTER TABLE plants RENAME TO moved; CREATE VIEW plants AS SELECT id FROM answer() AS id')

  const isPartAway = { number: 50301, message: /^a part of the store is out of reach/ }
  await assert.rejects(
    shards.on(lost, () => share.run({ text: `DO $$ BEGIN ${raise}; END $$` })),
    isPartAway,
  )
  const done: string[] = []
  const work = (name: string) => async () => void done.push(name)
  await assert.rejects(shards.on(lost, work('on the lost one')), isPartAway)
  await assert.rejects(shards.onAll(work('on all')), isPartAway)
  const stream = shards.streamOfAll(async function* () {
    yield done.push('a stream of all')
  })
  await assert.rejects(Array.fromAsync(stream), isPartAway)
  await shards.on(other, work('on another'))
  assert.deepEqual(done, ['on another'])

  await answer('RETURN')
  await until(() => notices.length === 2, 'nothing says that it is back')
  assert.deepEqual(notices, ['the worker host:0 is out of reach', 'the worker host:0 is back'])
  await shards.onAll(work('on all'))
  await shards.on(lost, work('on the one that was lost'))
  assert.deepEqual(done, ['on another', 'on all', 'on the one that was lost'])
})

test('plantstore distribute refuses a PostgreSQL without Citus, a file and an invalid number of shards', async (t) => {
  const url = await newDatabase(t)
  const refused = async (args: readonly string[], code: number, message: RegExp) => {
    const outcome = await run(t, ['distribute', ...args])
    assert.deepEqual([outcome.code, outcome.stdout], [code, ''])
    assert.match(outcome.stderr, message)
  }
  await refused(['--store', url], 1, /the server is a plain PostgreSQL: it does not have the extension citus/)
  assert.deepEqual(await query(url, "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"), [])
  await refused(['--store', 'sqlite:plants.db'], 1, /is a file; only a store in PostgreSQL can be distributed/)
  for (const shards of ['0', '-1', '1.5', 'many', '64001']) {
    await refused(['--store', url, '--shards', shards], 2, /is not a whole number from 1 to 64000/)
  }
})
