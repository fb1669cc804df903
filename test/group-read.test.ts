import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AppError } from '../src/domain/errors.ts'
import { GroupRead } from '../src/sqlite/read/group-read.ts'

/** Reads the length of texts, and records the keys of each call. */
function make() {
  const groups: (readonly string[])[] = []
  const read = (texts: readonly string[]) => {
    groups.push(texts)
    if (texts.includes('bad')) throw new Error('no such text')
    return texts.map((text) => text.length)
  }
  return {
    group: new GroupRead<string, number>(
      { read, areSmall: () => assert.fail('all fit a turn'), isSmall: () => true },
      60_000,
    ),
    groups,
  }
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

test('reads of the next turn run on their own', async () => {
  const { group, groups } = make()
  await group.get('a')
  await group.get('b')
  assert.deepEqual(groups, [['a'], ['b']])
})

test('a failed read rejects the calls of its turn and no later calls', async () => {
  const { group } = make()
  const both = [group.get('bad'), group.get('good')]
  for (const value of both) await assert.rejects(value, /no such text/)
  assert.equal(await group.get('good'), 4)
})

test('groups of 64 reads are answered within their turn, the rest at its end', async () => {
  const { group, groups } = make()
  let isSameTurn = true
  setImmediate(() => (isSameTurn = false))
  const values = Array.from({ length: 150 }, () => group.get('a'))
  assert.deepEqual(
    groups.map((texts) => texts.length),
    [64, 64],
  )
  await values[127]
  assert.ok(isSameTurn)
  await Promise.all(values)
  assert.deepEqual(
    groups.map((texts) => texts.length),
    [64, 64, 22],
  )
})

test('a group that fails within its turn rejects its calls and no others', async () => {
  const { group } = make()
  const values = Array.from({ length: 65 }, (_, i) => group.get(i === 63 ? 'bad' : 'good'))
  const settled = await Promise.allSettled(values)
  assert.ok(settled.slice(0, 64).every(({ status }) => status === 'rejected'))
  assert.equal(await values[64], 4)
})

/** The sizes of the groups of 300 reads, by the turns that read them. */
async function groupsByTurn(read: (texts: readonly string[]) => readonly string[]): Promise<number[][]> {
  const turns: number[][] = [[]]
  const counted = (texts: readonly string[]) => {
    const values = read(texts)
    turns.at(-1)?.push(values.length)
    return values
  }
  const areSmall = () => assert.fail('no large value waits')
  const group = new GroupRead<string, string>({ read: counted, areSmall, isSmall: () => true }, 60_000)
  const texts = Array.from({ length: 300 }, (_, i) => `text ${i}`)
  const values = Promise.all(texts.map((text) => group.get(text)))
  const nextTurn = () => {
    turns.push([])
    if (turns.length < 20) setImmediate(nextTurn)
  }
  setImmediate(nextTurn)
  assert.deepEqual(await values, texts)
  return turns.filter((sizes) => sizes.length > 0)
}

test('a turn answers no group behind one of which the reader took a part', async () => {
  assert.deepEqual(await groupsByTurn((texts) => texts.slice(0, 60)), [[60], [60], [60], [60], [60]])
})

test('a turn answers no group after one that began late', async () => {
  const slow = (texts: readonly string[]) => {
    const startedAt = performance.now()
    while (performance.now() - startedAt < 11);
    return texts
  }
  assert.deepEqual(await groupsByTurn(slow), [[64, 64], [172]])
})

/** A group read that reads two texts and looks up three sizes per turn. Texts of one character count as small. */
function makeNarrow(maxDelay = 60_000) {
  const groups: string[][] = []
  const read = (texts: readonly string[]) => {
    groups.push([...texts])
    if (texts[0] === 'bad') throw new Error('no such text')
    return texts.slice(0, 2).map((text) => text.length)
  }
  const areSmall = (texts: readonly string[]) => texts.slice(0, 3).map((text) => text.length === 1)
  const isSmall = (length: number) => length === 1
  return { group: new GroupRead<string, number>({ read, areSmall, isSmall }, maxDelay), groups }
}

test('small values beyond the bound of a turn are read in the next turns, in order and without size checks', async () => {
  const groups: (readonly string[])[] = []
  const read = (texts: readonly string[]) => {
    groups.push(texts.slice(0, 2))
    return texts.slice(0, 2).map(() => 1)
  }
  const areSmall = () => assert.fail('no large value waits')
  const group = new GroupRead<string, number>({ read, areSmall, isSmall: (value) => value === 1 }, 60_000)
  const texts = Array.from({ length: 9 }, (_, i) => `text ${i}`)
  await Promise.all(texts.map((text) => group.get(text)))
  assert.deepEqual(groups.flat(), texts)
})

test('values beyond the bound of a turn are read once in later turns, together with new requests', async () => {
  const { group, groups } = makeNarrow()
  const first = ['aa', 'bbb', 'cc', 'ddd', 'e'].map((text) => group.get(text))
  await first[0]
  const late = group.get('late')
  assert.deepEqual(await Promise.all([...first, late]), [2, 3, 2, 3, 1, 4])
  assert.deepEqual(groups, [
    ['aa', 'bbb', 'cc', 'ddd', 'e'],
    ['cc', 'ddd', 'e'],
    ['e', 'late'],
  ])
})

test('every other turn reads small values, however many large ones wait', async () => {
  const { group } = makeNarrow()
  const done: string[] = []
  const ask = (text: string) => group.get(text).then(() => done.push(text))
  const large = Array.from({ length: 30 }, (_, i) => ask(`large ${i}`))
  await large[5]
  const small = ['a', 'b', 'c', 'd'].map(ask)
  await Promise.all([...large, ...small])
  const before = (text: string) => done.slice(0, done.indexOf(text)).filter((one) => one.length > 1).length
  // Each turn looks up three sizes, so some turns pass before all sizes are known.
  assert.ok(before('d') <= before('a') + 4, done.join())
  assert.ok(before('large 29') >= 29, 'reads of large values continue')
  assert.equal(done.length, 34)
})

test('nothing is read for callers that have left', async () => {
  const { group, groups } = makeNarrow()
  const asker = { isOver: false }
  const wanted = ['aa', 'bb'].map((text) => group.get(text))
  const abandoned = ['cc', 'dd', 'ee'].map((text) => group.get(text, asker))
  asker.isOver = true
  await Promise.all(wanted)
  for (const value of abandoned) await assert.rejects(value, /no longer waits/)
  assert.equal(await group.get('f'), 1)
  assert.deepEqual(groups.at(-1), ['f'])
})

test('a failed read rejects the callers that wait for a later turn too', async () => {
  const { group } = makeNarrow()
  const values = ['aa', 'bb', 'bad', 'cc'].map((text) => group.get(text))
  const [first, second, ...late] = await Promise.allSettled(values)
  assert.deepEqual([first?.status, second?.status], ['fulfilled', 'fulfilled'])
  for (const { status } of late) assert.equal(status, 'rejected')
  assert.equal(await group.get('good'), 4)
})

test('a read that has waited longer than maxDelay is refused and not run', async () => {
  const { group, groups } = makeNarrow(0)
  const values = ['aa', 'bb', 'cc', 'dd', 'ee', 'ff', 'gg', 'hh'].map((text) => group.get(text))
  const settled = await Promise.allSettled(values)
  const errors = settled.filter((one) => one.status === 'rejected').map(({ reason }) => reason as unknown)
  assert.ok(errors.length > 0, 'each turn reads two values')
  for (const error of errors) assert.ok(error instanceof AppError && error.number === 50302)
  assert.ok(groups.length >= (settled.length - errors.length) / 2)
  assert.equal(await group.get('later'), 5)
})
