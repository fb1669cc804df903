import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AppError } from '../src/domain/errors.ts'
import { Pool } from '../src/postgres/pool/pool.ts'
import { PoolShare } from '../src/postgres/pool/pool-share.ts'
import { ShardGroups } from '../src/postgres/sharding/shard-groups.ts'
import { hashInt8, ShardMap } from '../src/postgres/sharding/shard-map.ts'
import { Shards } from '../src/postgres/sharding/shards.ts'
import { readPostgresAddress } from '../src/settings/postgres-address.ts'
import { turns } from './support/turns.ts'
import { until } from './support/until.ts'

/** Two shards on one server. */
const MAP = new ShardMap([
  { number: '1', first: -(2 ** 31), node: 'host:1' },
  { number: '2', first: 0, node: 'host:1' },
])

class KnownShards extends Shards {
  override get map(): ShardMap {
    return MAP
  }
}

/** Groups of ids whose commits the test ends. `take` returns ids of a shard. */
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
    maxWaiting: 100,
    maxWeight: 100,
    maxGroup: 3,
    maxInFlight: 1,
    weigh: () => 1,
    idOf: (id) => id,
  })
  const succeed = async (i: number) => {
    ends[i]?.resolve(groups[i] ?? [])
    await turns()
  }
  const fail = async (i: number, error: Error) => {
    ends[i]?.reject(error)
    await turns()
  }
  const submit = (...ids: readonly bigint[]) => ids.map((id) => queue.submit(id))
  return { groups, queue, submit, succeed, fail }
}

const all = Array.from({ length: 100 }, (_, i) => BigInt(i))
const [low, high] = [all.filter((id) => hashInt8(id) < 0), all.filter((id) => hashInt8(id) >= 0)]
const [a1 = 0n, a2 = 0n, a3 = 0n, a4 = 0n] = low
const [b1 = 0n, b2 = 0n] = high

test('rows of different shards never share a group, and the shard of the oldest row goes first', async () => {
  const { groups, submit, succeed } = make()
  const sent = submit(a1, b1, a2, b2, a3, a4)
  await turns()
  for (let i = 0; i < 3; i++) {
    await until(() => groups.length > i, 'a group is missing')
    await succeed(i)
  }
  assert.deepEqual(groups, [[a1], [b1, b2], [a2, a3, a4]])
  assert.deepEqual(await Promise.all(sent), [a1, b1, a2, b2, a3, a4])
})

test('a single row does not wait, and rows that are refused leave the others', async () => {
  const { groups, queue, submit, succeed, fail } = make()
  const [first] = submit(a1)
  await turns()
  assert.deepEqual(groups, [[a1]])
  await succeed(0)
  assert.equal(await first, a1)
  const [second] = submit(a2)
  await Promise.all([
    assert.rejects(second ?? assert.fail(), /no disk/),
    turns().then(() => fail(1, new Error('no disk'))),
  ])
  assert.deepEqual([queue.rows.used, queue.weight.used], [0, 0])
})

test('rows gather until most of those that came at once before are there, or for a moment', async () => {
  const { groups, submit, succeed } = make()
  submit(a1, a2, a3, a4)
  await turns()
  assert.deepEqual(groups, [[a1]])
  await succeed(0)
  assert.deepEqual(groups.slice(1), [[a2, a3, a4]])
  await succeed(1)
  const late = submit(a1)
  assert.equal(groups.length, 2, 'one of four is too few')
  await until(() => groups.length === 3, 'the row waits for others')
  await succeed(2)
  assert.deepEqual(await Promise.all(late), [a1])
})

test('close refuses further rows, and resolves after those that wait', async () => {
  const { groups, queue, submit, succeed } = make()
  const sent = submit(a1, b1)
  let isClosed = false
  const closed = queue.close().then(() => {
    isClosed = true
  })
  await assert.rejects(queue.submit(a2), (error) => error instanceof AppError && error.number === 50303)
  await succeed(0)
  assert.equal(isClosed, false)
  await until(() => groups.length === 2, 'a row is left')
  await succeed(1)
  await closed
  assert.deepEqual(await Promise.all(sent), [a1, b1])
})
