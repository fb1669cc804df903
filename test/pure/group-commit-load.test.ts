import assert from 'node:assert/strict'
import { test } from 'node:test'
import { GroupCommit, type GroupCommitOptions, newCommitStats } from '../../src/base/group-commit.ts'
import { AppError } from '../../src/domain/errors.ts'
import { turns } from '../support/turns.ts'

/** A group commit whose commits end, one after the other, when the test calls `finish`. */
function make(options: Partial<GroupCommitOptions<string>>) {
  const ends: PromiseWithResolvers<readonly string[]>[] = []
  const commit = async (rows: readonly string[]) => {
    const end = Promise.withResolvers<readonly string[]>()
    ends.push(end)
    await end.promise
    return rows
  }
  const limits = { maxWaiting: 100, maxGroup: 10, maxInFlight: 1, ...options }
  const group = new GroupCommit<string, string>(commit, limits)
  const finish = async (i: number, error?: Error) => {
    if (error === undefined) ends[i]?.resolve([])
    else ends[i]?.reject(error)
    await turns()
  }
  return { group, finish }
}

const isOverload = (error: unknown): boolean => error instanceof AppError && error.number === 50302

test('rows beyond one group are refused while queued rows would take longer than maxDelay', async () => {
  const stats = newCommitStats()
  const { group, finish } = make({ maxGroup: 2, maxDelay: 0, stats })
  const first = Promise.all([group.submit('a'), group.submit('b')])
  await turns()
  await assert.rejects(group.submit('c'), isOverload)
  await finish(0)
  assert.deepEqual(await first, ['a', 'b'])
  const second = group.submit('d')
  await turns()
  // Fewer rows than a group wait, so the next commit includes this row whatever its delay.
  const third = group.submit('e')
  await finish(1)
  await finish(2)
  assert.deepEqual(await Promise.all([second, third]), ['d', 'e'])
  assert.deepEqual([stats.rows.counts[0], stats.rows.counts[1], stats.rows.sum, stats.failures], [2, 1, 4, 0])
})

test('rows of one actor are refused by the commits that its own bound makes them take', async () => {
  const { group, finish } = make({ maxGroup: 100, maxOfActor: 2, maxDelay: 0, actorOf: ([actor = '']) => actor })
  const first = ['a1', 'a2', 'a3'].map((row) => group.submit(row))
  await turns()
  await assert.rejects(group.submit('a4'), isOverload)
  await finish(0)
  await finish(1)
  assert.deepEqual(await Promise.all(first), ['a1', 'a2', 'a3'])
})

test('rows beyond one group are accepted while queued rows take less than maxDelay', async () => {
  const { group, finish } = make({ maxGroup: 2, maxDelay: 600_000 })
  const all = ['a', 'b', 'c', 'd', 'e'].map((row) => group.submit(row))
  await turns()
  for (const i of [0, 1, 2]) await finish(i)
  assert.deepEqual(await Promise.all(all), ['a', 'b', 'c', 'd', 'e'])
})

test('the counter of failed groups counts each group that fails as a whole', async () => {
  const stats = newCommitStats()
  const { group, finish } = make({ stats })
  const row = group.submit('a')
  await turns()
  await Promise.all([assert.rejects(row, /no disk/), finish(0, new Error('no disk'))])
  assert.deepEqual([stats.failures, stats.rows.sum], [1, 0])
})
