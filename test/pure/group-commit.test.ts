import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { GroupCommit, type GroupCommitOptions, newCommitStats } from '../../src/base/group-commit.ts'
import { AppError } from '../../src/domain/errors.ts'
import { turns } from '../support/turns.ts'

type Results = readonly (string | Error)[]

/** A commit function under the control of the test, which ends each commit. */
class Commits {
  readonly groups: (readonly string[])[] = []
  readonly #ends: PromiseWithResolvers<Results>[] = []

  readonly commit = (rows: readonly string[]): Promise<Results> => {
    this.groups.push([...rows])
    const end = Promise.withResolvers<Results>()
    this.#ends.push(end)
    return end.promise
  }

  /** Ends the i-th commit with success. The result of each row is its own text, unless the test gives another. */
  async succeed(i: number, results: Results = this.groups[i] ?? []): Promise<void> {
    this.#ends[i]?.resolve(results)
    await turns()
  }

  async fail(i: number, error: Error): Promise<void> {
    this.#ends[i]?.reject(error)
    await turns()
  }
}

/** A group commit in which the weight of a row is its number of characters. */
function make(options: Partial<GroupCommitOptions<string>> = {}) {
  const commits = new Commits()
  const weigh = (row: string) => row.length
  const limits = { maxWaiting: 100, maxWeight: 1000, maxGroup: 10, maxInFlight: 1, weigh, ...options }
  return { commits, group: new GroupCommit<string, string>(commits.commit, limits) }
}

/** Collects the results of promises in the order in which they settle. */
function watch(promises: Record<string, Promise<string>>): string[] {
  const settled: string[] = []
  for (const [name, promise] of Object.entries(promises)) {
    promise.then(
      (result) => settled.push(`${name}: ${result}`),
      (error: Error) => settled.push(`${name}! ${error.message}`),
    )
  }
  return settled
}

const refusal = (number: number) => (error: unknown) => error instanceof AppError && error.number === number

test('rows of one turn of the event loop share a commit, in order', async () => {
  const { commits, group } = make()
  watch({ a: group.submit('a'), b: group.submit('b'), c: group.submit('c') })
  assert.deepEqual(commits.groups, [], 'nothing is committed before the turn is over')
  await turns()
  assert.deepEqual(commits.groups, [['a', 'b', 'c']])
})

test('rows of consecutive turns of the event loop share a commit, which does not wait for ever', async () => {
  const { commits, group } = make({ maxGroup: 1000 })
  const sent: Promise<string>[] = []
  while (commits.groups.length === 0 && sent.length < 100) {
    const next = turn()
    sent.push(group.submit(`row ${sent.length}`))
    await next
  }
  const first = commits.groups[0]?.length ?? 0
  assert.ok(first > 1 && first <= sent.length, `${first} of ${sent.length} rows`)
  await turns()
  await commits.succeed(0)
  await turns()
  if (commits.groups.length > 1) await commits.succeed(1)
  assert.equal((await Promise.all(sent)).length, sent.length)
})

test('no caller gets an answer before the commit of its row ends', async () => {
  const { commits, group } = make()
  const settled = watch({ a: group.submit('a'), b: group.submit('b') })
  await turns()
  assert.deepEqual(settled, [])
  await commits.succeed(0)
  assert.deepEqual(settled, ['a: a', 'b: b'])
})

test('rows that arrive during a commit share the next one', async () => {
  const { commits, group } = make()
  const settled = watch({ a: group.submit('a') })
  await turns()
  const later = watch({ b: group.submit('b') })
  await turns()
  const latest = watch({ c: group.submit('c') })
  await turns()
  assert.deepEqual(commits.groups, [['a']], 'one commit at a time')
  await commits.succeed(0)
  assert.deepEqual(commits.groups, [['a'], ['b', 'c']])
  assert.deepEqual([settled, later, latest], [['a: a'], [], []], 'an earlier commit answers no later row')
  await commits.succeed(1)
  assert.deepEqual([later, latest], [['b: b'], ['c: c']])
})

test('each caller gets the result of its own row', async () => {
  const { commits, group } = make()
  const settled = watch({ a: group.submit('a'), b: group.submit('b'), c: group.submit('c') })
  await turns()
  await commits.succeed(0, ['first', 'second', 'third'])
  assert.deepEqual(settled, ['a: first', 'b: second', 'c: third'])
})

test('a group takes at most maxGroup rows, and later groups take the rest in order', async () => {
  const { commits, group } = make({ maxGroup: 2 })
  for (const row of ['a', 'b', 'c', 'd', 'e']) watch({ [row]: group.submit(row) })
  await turns()
  for (let i = 0; i < 3; i++) await commits.succeed(i)
  assert.deepEqual(commits.groups, [['a', 'b'], ['c', 'd'], ['e']])
})

test('actors take turns where a group takes less than all rows', async () => {
  const actorOf = ([actor = '']: string) => actor
  const { commits, group } = make({ maxGroup: 3, actorOf })
  for (const row of ['a1', 'a2', 'a3', 'a4', 'a5', 'b1', 'b2', 'c1']) watch({ [row]: group.submit(row) })
  await turns()
  for (let i = 0; i < 3; i++) await commits.succeed(i)
  assert.deepEqual(commits.groups, [
    ['a1', 'b1', 'c1'],
    ['a2', 'b2', 'a3'],
    ['a4', 'a5'],
  ])
})

test('a group has at most maxOfActor rows of one actor, and who had no turn is first in the next one', async () => {
  const actorOf = ([actor = '']: string) => actor
  const { commits, group } = make({ maxGroup: 4, maxOfActor: 2, actorOf })
  for (const row of ['a1', 'a2', 'a3', 'a4', 'a5', 'b1', 'c1', 'd1', 'd2']) watch({ [row]: group.submit(row) })
  await turns()
  for (let i = 0; i < 3; i++) await commits.succeed(i)
  assert.deepEqual(commits.groups, [
    ['a1', 'b1', 'c1', 'd1'],
    ['a2', 'd2', 'a3'],
    ['a4', 'a5'],
  ])
})

test('an Error as the result of a row rejects that row alone', async () => {
  const { commits, group } = make()
  const settled = watch({ a: group.submit('a'), b: group.submit('b'), c: group.submit('c') })
  await turns()
  await commits.succeed(0, ['a', new Error('bad row'), 'c'])
  assert.deepEqual(settled.sort(), ['a: a', 'b! bad row', 'c: c'])
})

test('a missing result rejects its row', async () => {
  const { commits, group } = make()
  const settled = watch({ a: group.submit('a'), b: group.submit('b') })
  await turns()
  await commits.succeed(0, ['a'])
  assert.deepEqual(settled, ['a: a', 'b! the commit gave no result for a row'])
})

test('a failed commit rejects all of its rows and no others', async () => {
  const { commits, group } = make({ maxGroup: 2 })
  const settled = watch(Object.fromEntries(['a', 'b', 'c'].map((row) => [row, group.submit(row)])))
  await turns()
  await commits.fail(0, new Error('disk'))
  assert.deepEqual(settled, ['a! disk', 'b! disk'])
  await commits.succeed(1)
  assert.deepEqual(settled, ['a! disk', 'b! disk', 'c: c'])
  assert.equal(group.rows.used, 0)
})

test('a failed commit does not stop later ones', async () => {
  const { commits, group } = make()
  watch({ a: group.submit('a') })
  await turns()
  await commits.fail(0, new Error('disk'))
  const settled = watch({ b: group.submit('b') })
  await turns()
  await commits.succeed(1)
  assert.deepEqual(settled, ['b: b'])
})

test('rows beyond maxWaiting, rows in flight included, are refused at once and never committed', async () => {
  const { commits, group } = make({ maxWaiting: 3 })
  watch({ a: group.submit('a') })
  await turns()
  watch({ b: group.submit('b'), c: group.submit('c') })
  assert.equal(group.rows.used, 3)
  await assert.rejects(group.submit('d'), refusal(50302))
  await commits.succeed(0)
  watch({ e: group.submit('e') })
  await assert.rejects(group.submit('f'), refusal(50302), 'one answer made room for one row')
  await commits.succeed(1)
  await commits.succeed(2)
  assert.deepEqual(commits.groups.flat(), ['a', 'b', 'c', 'e'])
})

test('failed and refused rows make room too', async () => {
  const { commits, group } = make({ maxWaiting: 2 })
  watch({ a: group.submit('a'), b: group.submit('b') })
  await turns()
  await commits.succeed(0, ['a', new Error('bad row')])
  watch({ c: group.submit('c'), d: group.submit('d') })
  await turns()
  await commits.fail(1, new Error('disk'))
  assert.equal(group.rows.used, 0)
  const settled = watch({ e: group.submit('e'), f: group.submit('f') })
  await turns()
  await commits.succeed(2)
  assert.deepEqual(settled, ['e: e', 'f: f'])
})

test('close refuses new rows, and resolves after all waiting rows have their answers', async () => {
  const { commits, group } = make({ maxGroup: 1 })
  const settled = watch({ a: group.submit('a'), b: group.submit('b') })
  let closed = false
  const closing = group.close().then(() => {
    closed = true
  })
  await assert.rejects(group.submit('late'), refusal(50303))
  await turns()
  await commits.succeed(0)
  assert.equal(closed, false)
  await commits.succeed(1)
  await closing
  assert.deepEqual(settled, ['a: a', 'b: b'])
  assert.deepEqual(commits.groups.flat(), ['a', 'b'])
})

test('close resolves even if the last commit fails, and at once if no row waits', async () => {
  const { commits, group } = make()
  const settled = watch({ a: group.submit('a') })
  const closings = [group.close(), group.close()]
  await turns()
  await commits.fail(0, new Error('disk'))
  await Promise.all(closings)
  assert.deepEqual(settled, ['a! disk'])
  await group.close()
  await make().group.close()
})

test('with two commits in flight each answers its own rows, and the second does not wait for the first', async () => {
  const { commits, group } = make({ maxInFlight: 2 })
  const first = watch({ a: group.submit('a') })
  await turns()
  const second = watch({ b: group.submit('b') })
  await turns()
  const third = watch({ c: group.submit('c') })
  await turns()
  assert.deepEqual(commits.groups, [['a'], ['b']], 'the third commit waits')
  await commits.fail(0, new Error('no disk'))
  assert.deepEqual([first, second, third], [['a! no disk'], [], []])
  assert.deepEqual(commits.groups, [['a'], ['b'], ['c']])
  await commits.succeed(1)
  await commits.succeed(2)
  assert.deepEqual([second, third], [['b: b'], ['c: c']])
})

test('rows beyond one group are refused while queued rows would take longer than maxDelay', async () => {
  const stats = newCommitStats()
  const { commits, group } = make({ maxGroup: 2, maxDelay: 0, stats })
  const first = Promise.all([group.submit('a'), group.submit('b')])
  await turns()
  await assert.rejects(group.submit('c'), refusal(50302))
  await commits.succeed(0)
  assert.deepEqual(await first, ['a', 'b'])
  const second = group.submit('d')
  await turns()
  // Fewer rows than a group wait, so the next commit includes this row whatever its delay.
  const third = group.submit('e')
  await commits.succeed(1)
  await commits.succeed(2)
  assert.deepEqual(await Promise.all([second, third]), ['d', 'e'])
  assert.deepEqual([stats.rows.counts[0], stats.rows.counts[1], stats.rows.sum, stats.failures], [2, 1, 4, 0])
})

test('rows of one actor are refused by the commits that its own bound makes them take', async () => {
  const { commits, group } = make({ maxGroup: 100, maxOfActor: 2, maxDelay: 0, actorOf: ([actor = '']) => actor })
  const first = ['a1', 'a2', 'a3'].map((row) => group.submit(row))
  await turns()
  await assert.rejects(group.submit('a4'), refusal(50302))
  await commits.succeed(0)
  await commits.succeed(1)
  assert.deepEqual(await Promise.all(first), ['a1', 'a2', 'a3'])
})

test('rows beyond one group are accepted while queued rows take less than maxDelay', async () => {
  const { commits, group } = make({ maxGroup: 2, maxDelay: 600_000 })
  const all = ['a', 'b', 'c', 'd', 'e'].map((row) => group.submit(row))
  await turns()
  for (const i of [0, 1, 2]) await commits.succeed(i)
  assert.deepEqual(await Promise.all(all), ['a', 'b', 'c', 'd', 'e'])
})

test('the counter of failed groups counts each group that fails as a whole', async () => {
  const stats = newCommitStats()
  const { commits, group } = make({ stats })
  const row = group.submit('a')
  await turns()
  await Promise.all([assert.rejects(row, /no disk/), commits.fail(0, new Error('no disk'))])
  assert.deepEqual([stats.failures, stats.rows.sum], [1, 0])
})
