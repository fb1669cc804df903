import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Lanes } from '../../src/citus/lanes.ts'
import { ShardMap } from '../../src/citus/shard-map.ts'
import { Shards } from '../../src/citus/shards.ts'
import { AppError } from '../../src/domain/errors.ts'
import type { CreateResult } from '../../src/domain/plant.ts'
import { Pool } from '../../src/postgres/pool/pool.ts'
import { PoolShare } from '../../src/postgres/pool/pool-share.ts'
import { readPostgresAddress } from '../../src/settings/postgres-address.ts'
import { TESTER } from '../support/actor.ts'
import { plant } from '../support/store-under-test.ts'
import { PATIENCE, until } from '../support/until.ts'

/** Two shards on one server, and one on another. */
const MAP = new ShardMap([
  { number: '1', first: -(2 ** 31), node: 'host:1' },
  { number: '2', first: 0, node: 'host:1' },
  { number: '3', first: 2 ** 30, node: 'host:2' },
])

/** Creates of plants whose commits the test ends. */
function make() {
  const address = readPostgresAddress('postgres://user@127.0.0.1:1/plants', {})
  const pool = new Pool({ address, max: 1, timeout: 1000, onTrouble: () => {} })
  const groups: bigint[][] = []
  const ends: PromiseWithResolvers<readonly CreateResult[]>[] = []
  const writer = {
    createPlants: (rows: readonly { readonly plant: { readonly id: bigint } }[]) => {
      groups.push(rows.map(({ plant }) => plant.id))
      const end = Promise.withResolvers<readonly CreateResult[]>()
      ends.push(end)
      return end.promise
    },
    changePlants: () => assert.fail(),
  }
  const shards = new Shards(new PoolShare(pool, 1), MAP, () => {})
  const lanes = new Lanes(shards, writer, () => assert.fail(), { maxWaiting: 6, timeout: PATIENCE })
  const begun = (count: number) => until(() => groups.length === count, `there are ${groups.length} commits`)
  const succeed = (i: number) => ends[i]?.resolve((groups[i] ?? []).map(() => 'created'))
  const fail = (i: number, error: Error) => ends[i]?.reject(error)
  const create = (id: bigint) => lanes.create(plant(id), true, TESTER)
  const send = async (...ids: readonly bigint[]) =>
    (await Promise.allSettled(ids.map(create))).map((one) => (one.status === 'fulfilled' ? one.value : one.reason))
  return { groups, lanes, send, begun, succeed, fail }
}

const all = Array.from({ length: 100 }, (_, i) => BigInt(i))
const onShard = (number: string) => all.filter((id) => MAP.shardOf(id).number === number)
const [[a1 = 0n, a2 = 0n, a3 = 0n], [b1 = 0n, b2 = 0n], [c1 = 0n]] = [onShard('1'), onShard('2'), onShard('3')]

test('rows of different shards never share a commit, and those of one shard do', async () => {
  const { groups, send, begun, succeed } = make()
  const sent = send(a1, b1, a2, b2)
  await begun(1)
  succeed(0)
  await begun(2)
  succeed(1)
  assert.deepEqual(groups, [
    [a1, a2],
    [b1, b2],
  ])
  assert.deepEqual(await sent, ['created', 'created', 'created', 'created'])
})

test('a shard whose commit fails rejects its rows alone, and the bounds are free again', async () => {
  const { lanes, send, begun, succeed, fail } = make()
  const sent = send(a1, b1, a2)
  await begun(1)
  const error = new Error('no disk')
  fail(0, error)
  await begun(2)
  succeed(1)
  assert.deepEqual(await sent, [error, 'created', error])
  assert.equal(lanes.queues[0].rows.used, 0)
})

test('a server that hangs delays no other, and all share one bound', async () => {
  const { groups, lanes, send, begun, succeed } = make()
  const hanging = send(a1, b1, b2)
  await begun(1)
  const other = send(c1)
  await begun(2)
  succeed(1)
  assert.deepEqual([groups[1], await other], [[c1], ['created']])
  const waiting = send(a2, a3, c1)
  const [refused] = await send(c1)
  assert.ok(refused instanceof AppError && refused.number === 50302)
  assert.deepEqual({ ...lanes.queues[0].rows }, { max: 6, used: 6, refused: 1 })
  await begun(3)
  succeed(2)
  for (const i of [0, 3, 4]) {
    await begun(Math.max(3, i + 1))
    succeed(i)
  }
  await Promise.all([hanging, waiting])
})

test('close refuses further rows, and resolves after those that wait', async () => {
  const { lanes, send, begun, succeed } = make()
  const sent = send(a1, b1)
  await begun(1)
  let isClosed = false
  const closed = lanes.close().then(() => {
    isClosed = true
  })
  for (const error of await send(a2, c1)) assert.ok(error instanceof AppError && error.number === 50303)
  succeed(0)
  await begun(2)
  assert.equal(isClosed, false)
  succeed(1)
  await closed
  assert.deepEqual(await sent, ['created', 'created'])
})
