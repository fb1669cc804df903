import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AppError } from '../src/domain/errors.ts'
import { Pool } from '../src/postgres/pool/pool.ts'
import { PoolShare } from '../src/postgres/pool/pool-share.ts'
import { ShardGroups } from '../src/postgres/sharding/shard-groups.ts'
import { ShardMap } from '../src/postgres/sharding/shard-map.ts'
import { Shards } from '../src/postgres/sharding/shards.ts'
import { readPostgresAddress } from '../src/settings/postgres-address.ts'
import { until } from './support/until.ts'

/** Two shards on one server, and one on another. */
const MAP = new ShardMap([
  { number: '1', first: -(2 ** 31), node: 'host:1' },
  { number: '2', first: 0, node: 'host:1' },
  { number: '3', first: 2 ** 30, node: 'host:2' },
])

class KnownShards extends Shards {
  override get map(): ShardMap {
    return MAP
  }
}

/** Groups of ids whose commits the test ends. */
function make() {
  const address = readPostgresAddress('postgres://user@127.0.0.1:1/plants', {})
  const pool = new Pool({ address, max: 1, timeout: 1000, onTrouble: () => {} })
  const groups: bigint[][] = []
  const ends: PromiseWithResolvers<readonly bigint[]>[] = []
  const commit = (ids: readonly bigint[]) => {
    groups.push([...ids])
    const end = Promise.withResolvers<readonly bigint[]>()
    ends.push(end)
    return end.promise
  }
  const queue = new ShardGroups<bigint, bigint>(new KnownShards(new PoolShare(pool, 1)), commit, {
    maxWaiting: 6,
    maxGroup: 100,
    maxInFlight: 2,
    idOf: (id) => id,
  })
  const begun = (count: number) => until(() => groups.length === count, `there are ${groups.length} commits`)
  const succeed = (i: number) => ends[i]?.resolve(groups[i] ?? [])
  const fail = (i: number, error: Error) => ends[i]?.reject(error)
  const submit = (...ids: readonly bigint[]) => Promise.allSettled(ids.map((id) => queue.submit(id)))
  return { groups, queue, submit, begun, succeed, fail }
}

const all = Array.from({ length: 100 }, (_, i) => BigInt(i))
const onShard = (number: string) => all.filter((id) => MAP.shardOf(id).number === number)
const [[a1 = 0n, a2 = 0n, a3 = 0n], [b1 = 0n, b2 = 0n], [c1 = 0n]] = [onShard('1'), onShard('2'), onShard('3')]
const valuesOf = (settled: readonly PromiseSettledResult<bigint>[]) =>
  settled.map((one) => (one.status === 'fulfilled' ? one.value : one.reason))

test('rows of different shards never share a commit, and those of one shard do', async () => {
  const { groups, submit, begun, succeed } = make()
  const sent = submit(a1, b1, a2, b2, a3)
  await begun(1)
  succeed(0)
  await begun(2)
  succeed(1)
  assert.deepEqual(groups, [
    [a1, a2, a3],
    [b1, b2],
  ])
  assert.deepEqual(valuesOf(await sent), [a1, b1, a2, b2, a3])
})

test('a shard whose commit fails rejects its rows alone, and the bounds are free again', async () => {
  const { queue, submit, begun, succeed, fail } = make()
  const sent = submit(a1, b1, a2)
  await begun(1)
  const error = new Error('no disk')
  fail(0, error)
  await begun(2)
  succeed(1)
  assert.deepEqual(valuesOf(await sent), [error, b1, error])
  assert.equal(queue.rows.used, 0)
})

test('a server that hangs delays no other, and all share one bound', async () => {
  const { groups, submit, begun, succeed } = make()
  const hanging = submit(a1, b1, b2)
  await begun(1)
  const other = submit(c1)
  await begun(2)
  succeed(1)
  assert.deepEqual([groups[1], valuesOf(await other)], [[c1], [c1]])
  const waiting = submit(a2, a3, c1)
  const [refused] = valuesOf(await submit(c1))
  assert.ok(refused instanceof AppError && refused.number === 50302)
  await begun(3)
  succeed(2)
  for (const i of [0, 3, 4]) {
    await begun(Math.max(3, i + 1))
    succeed(i)
  }
  await Promise.all([hanging, waiting])
})

test('close refuses further rows, and resolves after those that wait', async () => {
  const { queue, submit, begun, succeed } = make()
  const sent = submit(a1, b1)
  await begun(1)
  let isClosed = false
  const closed = queue.close().then(() => {
    isClosed = true
  })
  for (const id of [a2, c1]) {
    await assert.rejects(queue.submit(id), (error) => error instanceof AppError && error.number === 50303)
  }
  succeed(0)
  await begun(2)
  assert.equal(isClosed, false)
  succeed(1)
  await closed
  assert.deepEqual(valuesOf(await sent), [a1, b1])
})
