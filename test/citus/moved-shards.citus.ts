import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { AppError } from '../../src/domain/errors.ts'
import { CITUS_VARIABLE, joinedDatabase } from '../support/citus.ts'
import { createPlant } from '../support/create-plant.ts'
import { openCitus } from '../support/open-postgres.ts'
import { plantsOf, query } from '../support/postgres.ts'
import { run } from '../support/process.ts'
import { plant } from '../support/store-under-test.ts'

const CLIENTS = 16

interface Node {
  readonly id: number
  readonly name: string
  readonly port: number
}

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
  await query(url, `SELECT citus_move_shard_placement($1, $2, $3, $4, $5, 'block_writes')`, [
    moved,
    one.name,
    one.port,
    other.name,
    other.port,
  ])
  const before = created.size
  while (created.size < before + 100) await sleep(20)
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
