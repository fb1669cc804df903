import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hashInt8, ShardMap } from '../src/postgres/sharding/shard-map.ts'
import { cleanUp } from './support/clean-up.ts'
import { newDatabase, query } from './support/postgres.ts'
import { run } from './support/process.ts'

const IDS = [
  0n,
  1n,
  -1n,
  2n ** 31n,
  -(2n ** 31n),
  2n ** 32n,
  2n ** 53n + 1n,
  -(2n ** 53n),
  2n ** 63n - 1n,
  -(2n ** 63n),
]

test('the hash of an id equals that of PostgreSQL', async (t) => {
  const url = await newDatabase((work) => cleanUp(t, work))
  const ids = [...IDS, ...Array.from({ length: 1000 }, (_, i) => (BigInt(i) * 9_176_263_871n ** 2n) % 2n ** 63n)]
  const rows = await query<{ hash: number }>(url, 'SELECT hashint8(id) AS hash FROM unnest($1::bigint[]) AS id', [ids])
  assert.deepEqual(
    ids.map(hashInt8),
    rows.map(({ hash }) => hash),
  )
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

test('plantstore distribute refuses a PostgreSQL without Citus, a file and an invalid number of shards', async (t) => {
  const url = await newDatabase((work) => cleanUp(t, work))
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
