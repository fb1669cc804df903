import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AppError } from '../src/domain/errors.ts'
import { lazySignalOf } from '../src/domain/store.ts'
import { GroupRead, LARGE, type Sizes } from '../src/sqlite/read/group-read.ts'

/** Reads the lengths of up to `max` texts at once, and records the keys that it reads. `large…` are large. */
function make({ max = Number.POSITIVE_INFINITY, maxDelay = 60_000 } = {}) {
  const groups: string[][] = []
  const read = (texts: readonly string[], sizes: Sizes) => {
    if (texts[0]?.startsWith('bad')) throw new Error('no such text')
    const some = texts.slice(0, max)
    groups.push(some)
    return some.map((text) => (sizes === 'small' && text.startsWith('large') ? LARGE : text.length))
  }
  return { group: new GroupRead<string, number>(read, maxDelay), groups }
}

test('reads of one turn of the event loop run together, and each caller gets its own value', async () => {
  const { group, groups } = make()
  assert.deepEqual(await Promise.all([group.get('a'), group.get('bcd'), group.get('ef')]), [1, 3, 2])
  assert.deepEqual(groups, [['a', 'bcd', 'ef']])
})

test('reads run after the turn of their requests, so no value is older than its request', async () => {
  const { group, groups } = make()
  const value = group.get('a')
  await Promise.resolve()
  assert.deepEqual(groups, [])
  await value
  assert.deepEqual(groups, [['a']])
})

test('a failed read rejects the calls of its turn and no later calls', async () => {
  const { group } = make()
  const both = [group.get('bad'), group.get('good')]
  for (const value of both) await assert.rejects(value, /no such text/)
  assert.equal(await group.get('good'), 4)
})

test('64 reads are answered within their turn', async () => {
  const { group } = make()
  let isSameTurn = true
  setImmediate(() => (isSameTurn = false))
  const values = Array.from({ length: 150 }, () => group.get('a'))
  await values[127]
  assert.ok(isSameTurn)
  await Promise.all(values)
  assert.ok(!isSameTurn)
})

test('values beyond the bound of a turn are read once in later turns, in order, together with new requests', async () => {
  const { group, groups } = make({ max: 2 })
  const first = ['a', 'bb', 'ccc', 'd', 'ee'].map((text) => group.get(text))
  await first[0]
  const late = group.get('late')
  assert.deepEqual(await Promise.all([...first, late]), [1, 2, 3, 1, 2, 4])
  assert.deepEqual(groups, [
    ['a', 'bb'],
    ['ccc', 'd'],
    ['ee', 'late'],
  ])
})

test('a turn whose first group took long answers no further group, so that other work comes in between', async () => {
  const slow = (texts: readonly string[]) => {
    const startedAt = performance.now()
    while (performance.now() - startedAt < 11);
    return texts
  }
  const group = new GroupRead<string, string>(slow, 60_000)
  let done = 0
  for (let i = 0; i < 300; i++) void group.get(`text ${i}`).then(() => done++)
  await new Promise(setImmediate)
  assert.ok(done > 0 && done < 300, `${done} of 300 in one turn`)
  while (done < 300) await new Promise(setImmediate)
})

test('small values do not wait for large ones, which are all read in the end', async () => {
  const order: string[] = []
  const read = (texts: readonly string[], sizes: Sizes) =>
    sizes === 'small' ? texts.map((text) => (text.startsWith('large') ? LARGE : text)) : texts.slice(0, 2)
  const group = new GroupRead<string, string>(read, 60_000)
  const ask = (text: string) => group.get(text).then(() => order.push(text))
  const large = Array.from({ length: 30 }, (_, i) => ask(`large ${i}`))
  await large[1]
  await ask('small')
  assert.ok(order.length < 10, order.join())
  await Promise.all(large)
})

test('after a part of large values, other work has as much time as that part took', async () => {
  const slow = (texts: readonly string[], sizes: Sizes) => {
    if (sizes === 'small') return texts.map((): typeof LARGE => LARGE)
    const startedAt = performance.now()
    while (performance.now() - startedAt < 20);
    return texts.slice(0, 1)
  }
  const group = new GroupRead<string, string>(slow, 60_000)
  const ends = await Promise.all(['a', 'b', 'c'].map((text) => group.get(text).then(() => performance.now())))
  const [first = 0, second = 0, third = 0] = ends
  // Timers count whole milliseconds.
  assert.ok(second - first >= 38 && third - second >= 38, ends.join())
})

test('nothing is read for callers that have left', async () => {
  const { group, groups } = make({ max: 2 })
  const leaving = new AbortController()
  const wanted = ['aa', 'bb'].map((text) => group.get(text))
  const abandoned = ['cc', 'large', 'ee'].map((text) => group.get(text, lazySignalOf(leaving.signal)))
  leaving.abort(new Error('the client no longer waits'))
  await Promise.all(wanted)
  for (const value of abandoned) await assert.rejects(value, /no longer waits/)
  assert.deepEqual(groups, [['aa', 'bb']])
})

test('a failed read rejects the callers that wait for a later turn too', async () => {
  const { group } = make({ max: 2 })
  const values = ['aa', 'bb', 'bad', 'cc'].map((text) => group.get(text))
  const [first, second, ...late] = await Promise.allSettled(values)
  assert.deepEqual([first?.status, second?.status], ['fulfilled', 'fulfilled'])
  for (const { status } of late) assert.equal(status, 'rejected')
  assert.equal(await group.get('good'), 4)
})

test('a read that has waited longer than maxDelay is refused and not run', async () => {
  const { group, groups } = make({ max: 2, maxDelay: 0 })
  const texts = ['aa', 'bb', 'cc', 'dd', 'large 1', 'large 2', 'gg', 'large 3']
  const settled = await Promise.allSettled(texts.map((text) => group.get(text)))
  const errors = settled.filter((one) => one.status === 'rejected').map(({ reason }) => reason as unknown)
  assert.ok(errors.length > 0, 'each turn reads two values')
  for (const error of errors) assert.ok(error instanceof AppError && error.number === 50302)
  assert.ok(groups.flat().length >= settled.length - errors.length)
  assert.equal(await group.get('later'), 5)
})
