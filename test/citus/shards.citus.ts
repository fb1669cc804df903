import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findOnShards } from '../../src/citus/search.ts'
import { AppError } from '../../src/domain/errors.ts'
import { PLANT_ORDERS, type PlantQuery } from '../../src/domain/plant-query.ts'
import { budgetOf, type Run } from '../../src/postgres/pool/client.ts'
import { CITUS_VARIABLE, joinedDatabase } from '../support/citus.ts'
import { createPlant } from '../support/create-plant.ts'
import { send } from '../support/load.ts'
import { openCitus, openStore, shareOf } from '../support/open-postgres.ts'
import { newDatabase, plantsOf, query } from '../support/postgres.ts'
import { run, serveStore } from '../support/process.ts'
import { importAll } from '../support/store-calls.ts'
import { plant } from '../support/store-under-test.ts'
import { until } from '../support/until.ts'

test('a coordinator that would get shards itself is refused, before anything is moved', async (t) => {
  const url = await joinedDatabase(process.env[CITUS_VARIABLE] ?? '')
  const { hostname, port } = new URL(url)
  await query(url, "SELECT citus_set_node_property($1, $2, 'shouldhaveshards', true)", [hostname, Number(port)])
  const { code, stderr } = await run(t, ['distribute'], { env: { PLANTSTORE_STORE: url } })
  assert.equal(code, 1, stderr)
  assert.match(stderr, /the coordinator would get shards itself.*citus_set_node_property/)
  assert.deepEqual(await query(url, 'SELECT FROM pg_dist_partition'), [])
})

test('a store is moved to the workers with its plants and tokens, and distributing it again changes nothing', async (t) => {
  const url = await joinedDatabase(process.env[CITUS_VARIABLE] ?? '')
  const store = await openStore(t, url)
  const plants = Array.from({ length: 3000 }, (_, i) => plant(BigInt(i), `plant ${i}`, `tag ${i % 3}`))
  await importAll(store, plants)
  const tags = await store.listTags({}, 10)
  const env = { PLANTSTORE_STORE: url }
  const plain = { PLANTSTORE_STORE: url.replace('citus:', 'postgres:') }
  const early = await run(t, ['token', 'create', '--name', 'Kew app'], { env })
  assert.match(early.stderr, /it is not distributed/)
  await run(t, ['token', 'create', '--name', 'Kew app'], { env: plain })
  const tokens = await store.tokens.exportTokens()
  const inUse = await run(t, ['distribute', '--shards', '6'], { env })
  assert.equal(inUse.code, 1, inUse.stderr)
  assert.match(inUse.stderr, /other sessions are connected to the database: stop every service/)
  await store.close()
  for (const moved of ['plants: moved to 6 shards', 'plants: distributed already']) {
    const { code, stderr } = await run(t, ['distribute', '--shards', '6'], { env })
    assert.equal(code, 0, stderr)
    assert.match(stderr, new RegExp(moved))
    assert.match(stderr, /done: 6 shards on 2 servers/)
    assert.deepEqual(await plantsOf(url), plants)
  }
  const late = await run(t, ['token', 'list'], { env: plain })
  assert.match(late.stderr, /it is distributed; begin its address with citus:/)
  const opened = await openCitus(t, url)
  assert.deepEqual(await opened.tokens.exportTokens(), tokens)
  assert.deepEqual(await opened.listTags({}, 10), tags)
  assert.equal(await createPlant(opened, plant(3000n), { mustBeNew: true }), 'created')
  for (const table of ['plants', 'tokens']) {
    assert.deepEqual(await query(url, `SELECT pg_relation_size('${table}') AS bytes`), [{ bytes: '0' }])
  }
})

test('a distributed store has no log of changes, and says so at its start', async (t) => {
  const url = await joinedDatabase(process.env[CITUS_VARIABLE] ?? '')
  const before = await openStore(t, url, { history: 'keep' })
  await createPlant(before, plant(1n), { mustBeNew: true })
  await before.close()
  const env = { PLANTSTORE_STORE: url }
  assert.equal((await run(t, ['distribute'], { env })).code, 0)
  const { program, address } = await serveStore(t, url, [], { env: { PLANTSTORE_LOG_LEVEL: 'warn' } })
  await program.tells(/it has no log of changes: no feed, no history of a plant, no webhooks/)
  assert.equal((await send('POST', `${address}/plants`, { body: '{"id":2,"name":"Monstera"}' })).status, 200)
  assert.equal((await send('GET', `${address}/changes`)).status, 404)
  assert.deepEqual(await query(url, 'SELECT FROM changes'), [])
})

const CLIENTS = 16

type Node = { readonly id: number; readonly name: string; readonly port: number }

test('while shards are split and moved, no acknowledged create is lost', async (t) => {
  const url = await joinedDatabase(process.env[CITUS_VARIABLE] ?? '')
  const { code, stderr } = await run(t, ['distribute'], { env: { PLANTSTORE_STORE: url } })
  assert.equal(code, 0, stderr)
  assert.match(stderr, /plants: moved to 4 shards/)
  const store = await openCitus(t, url)
  const created = new Set<bigint>()
  const refusals: unknown[] = []
  let next = 0n
  let isDone = false
  const client = async () => {
    while (!isDone) {
      const id = next++
      try {
        await createPlant(store, plant(id), { mustBeNew: true })
        created.add(id)
      } catch (error) {
        refusals.push(error)
      }
    }
  }
  const clients = Array.from({ length: CLIENTS }, client)
  const [one, other] = await nodes(url)
  assert.ok(one !== undefined && other !== undefined)
  const [split = '', moved = ''] = await shardsOn(url, one)
  await query(
    url,
    `SELECT citus_split_shard_by_split_points($1::bigint,
      ARRAY[(SELECT ((shardminvalue::bigint + shardmaxvalue::bigint) / 2)::text FROM pg_dist_shard WHERE shardid = $1)],
      ARRAY[$2::integer, $3::integer], 'block_writes')`,
    [split, one.id, other.id],
  )
  const places = [moved, one.name, one.port, other.name, other.port]
  await query(url, `SELECT citus_move_shard_placement($1, $2, $3, $4, $5, 'block_writes')`, places)
  const before = created.size
  await until(() => created.size >= before + 100, 'no creates follow')
  isDone = true
  await Promise.all(clients)
  t.diagnostic(`${created.size} creates, ${before} of them before the shards had moved`)
  const unexpected = refusals.filter((error) => !(error instanceof AppError && error.number === 50301))
  assert.deepEqual(unexpected, [])
  const there = new Set((await plantsOf(url)).map(({ id }) => id))
  const found = [...created].filter((id) => !there.has(id))
  assert.deepEqual(found, [])
  assert.deepEqual([(await shardsOn(url, one)).length, (await shardsOn(url, other)).length], [1, 4])
})

const nodes = (url: string): Promise<Node[]> =>
  query<Node>(
    url,
    `SELECT nodeid AS id, nodename AS name, nodeport AS port FROM pg_dist_node WHERE shouldhaveshards ORDER BY nodeid`,
  )

/** The numbers of the shards of plants on a worker. */
async function shardsOn(url: string, { id }: Node): Promise<string[]> {
  const rows = await query<{ shard: string }>(
    url,
    `SELECT shardid AS shard FROM pg_dist_shard JOIN pg_dist_placement USING (shardid) JOIN pg_dist_node USING (groupid)
      WHERE logicalrelid = 'plants'::regclass AND nodeid = $1 ORDER BY shardid`,
    [id],
  )
  return rows.map(({ shard }) => shard)
}

const BUDGET = 10_000

test('Citus passes every statement of a search on to the shards as a whole, with the limit', async (t) => {
  const { run } = shareOf(t, await newDatabase(t), { max: 1, timeout: BUDGET })
  let explained = 0
  const explain: Run = async (statement) => {
    const { text } = statement
    const { rows, ...rest } = await run({ ...statement, text: `EXPLAIN ${text}` }, budgetOf(BUDGET))
    const plan = rows.map(([line]) => line).join('\n')
    assert.doesNotMatch(plan, /Distributed Subplan/, text)
    assert.match(plan, /Task Count: 4.*->\s+Task\s.*->\s+Limit/s, text)
    explained++
    // A walk that is full, and has no hit.
    return { ...rest, rows: Array.from({ length: 500 }, () => ['1', 'a', null, 'a', 'f']) }
  }
  for (const order of PLANT_ORDERS)
    for (const filter of [{}, { tags: ['x'] }, { tags: ['x', 'y'] }, { tagPrefix: 'x' }, { untagged: true }])
      for (const words of [[], ['x'], ['x', 'y']])
        for (const after of [undefined, { key: 'x', id: 7n }]) {
          const query: PlantQuery = { tags: [], ...filter, words, order, after }
          await findOnShards(explain, query, 50)
        }
  assert.ok(explained > 120, `${explained}`)
})
