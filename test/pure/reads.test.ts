import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { AppError } from '../../src/domain/errors.ts'
import { ALL_PLANTS } from '../../src/domain/plant-query.ts'
import { lazySignalOf } from '../../src/domain/store.ts'
import { DeferredTasks } from '../../src/http/admission/turns.ts'
import { ReadScheduler } from '../../src/http/port/read-scheduler.ts'
import { GroupRead } from '../../src/sqlite/read/group-read.ts'
import { PageCache } from '../../src/sqlite/read/point-reader.ts'
import { plant } from '../support/store-under-test.ts'
import { until } from '../support/until.ts'

/** Reads the lengths of texts, and records the keys that it reads. */
function make() {
  const groups: string[][] = []
  const read = (texts: readonly string[]) => {
    if (texts[0]?.startsWith('bad')) throw new Error('no such text')
    groups.push([...texts])
    return texts.map((text) => text.length)
  }
  return { group: new GroupRead<string, number>(read, 60_000, 512), groups }
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
  /** Whether two groups of 64 are answered in the turn that asks for them. On a busy machine, one may take its time. */
  const areTogether = async (): Promise<boolean> => {
    let isSameTurn = true
    setImmediate(() => (isSameTurn = false))
    const values = Array.from({ length: 150 }, () => group.get('a'))
    await values[127]
    const wereTogether = isSameTurn
    await Promise.all(values)
    assert.ok(!isSameTurn)
    return wereTogether
  }
  await until(areTogether, 'no two groups are answered in one turn')
})

test('reads beyond 512 are read once in later turns, in order, together with new requests', async () => {
  const groups: string[][] = []
  const read = (texts: readonly string[]) => {
    groups.push([...texts])
    // So long that the turn answers no further group.
    for (const startedAt = performance.now(); groups.length === 1 && performance.now() - startedAt < 11; );
    return texts.map((text) => text.length)
  }
  const group = new GroupRead<string, number>(read, 60_000, 512)
  const texts = Array.from({ length: 1000 }, (_, i) => 'x'.repeat(i))
  const values = texts.map((text) => group.get(text))
  await values[64]
  const late = group.get('late')
  assert.deepEqual(await Promise.all([...values, late]), [...texts.keys(), 4])
  assert.deepEqual(groups, [texts.slice(0, 64), texts.slice(64, 576), [...texts.slice(576), 'late']])
})

test('a turn whose first group took long answers no further group, so that other work comes in between', async () => {
  const slow = (texts: readonly string[]) => {
    const startedAt = performance.now()
    while (performance.now() - startedAt < 11);
    return texts
  }
  const group = new GroupRead<string, string>(slow, 60_000, 512)
  let done = 0
  for (let i = 0; i < 300; i++) void group.get(`text ${i}`).then(() => done++)
  await new Promise(setImmediate)
  assert.ok(done > 0 && done < 300, `${done} of 300 in one turn`)
  while (done < 300) await new Promise(setImmediate)
})

test('nothing is read for callers that have left', async () => {
  const { group, groups } = make()
  const leaving = new AbortController()
  const wanted = ['aa', 'bb'].map((text) => group.get(text))
  const abandoned = ['cc', 'dd', 'ee'].map((text) => group.get(text, lazySignalOf(leaving.signal)))
  leaving.abort(new Error('the client no longer waits'))
  await Promise.all(wanted)
  for (const value of abandoned) await assert.rejects(value, /no longer waits/)
  assert.deepEqual(groups, [['aa', 'bb']])
})

test('a read that has waited longer than maxDelay is refused and not run', async () => {
  const read: string[] = []
  // All of them are asked for before the first turn ends, which reads 64 at a time for 10 ms.
  const group = new GroupRead<string, string>(
    (texts) => {
      for (const startedAt = performance.now(); performance.now() - startedAt < 11; );
      read.push(...texts)
      return texts
    },
    0,
    512,
  )
  const settled = await Promise.allSettled(Array.from({ length: 1000 }, (_, i) => group.get(`${i}`)))
  const errors = settled.filter((one) => one.status === 'rejected').map(({ reason }) => reason as unknown)
  assert.equal(errors.length, 1000 - 64 - 512)
  for (const error of errors) assert.ok(error instanceof AppError && error.number === 50302)
  assert.equal(read.length, 64 + 512)
  assert.equal(await group.get('later'), 'later')
})

/** A cache of pages with as many plants as the limit says. Records the limits of all reads. */
function makeCache() {
  const cache = new PageCache()
  const asked: number[] = []
  const pageOf = (limit: number) => Array.from({ length: limit }, (_, i) => plant(BigInt(i)))
  const get = (limit: number, version = 1n) =>
    cache.get({ query: { ...ALL_PLANTS, order: 'id', after: undefined }, limit }, version, () => {
      asked.push(limit)
      return pageOf(limit)
    })
  return { asked, pageOf, get }
}

test('the cache keeps a page from its second read on while the version of the store stays', () => {
  const { asked, pageOf, get } = makeCache()
  for (const limit of [3, 0, 3, 0, 3, 0]) assert.deepEqual(get(limit), pageOf(limit))
  assert.equal(get(3), get(3))
  assert.deepEqual(asked, [3, 0, 3, 0])
})

test('after a write the cache keeps frequent pages from their first read on', () => {
  const { asked, get } = makeCache()
  for (const version of [1n, 2n, 2n, 3n]) get(3, version)
  assert.deepEqual(asked, [3, 3, 3])
})

test('the cache keeps no large page, and forgets pages that were read only once', () => {
  const { asked, get } = makeCache()
  for (let i = 0; i < 3; i++) get(102)
  assert.deepEqual(asked.splice(0), [102, 102, 102])
  for (let limit = 0; limit <= 256; limit++) get(limit)
  asked.splice(0)
  for (let i = 0; i < 3; i++) get(0)
  assert.deepEqual(asked, [0, 0])
})

/** Bytes of requests that fill a turn of the event loop. */
const FULL = 3 * 2 ** 20

test('a new client reads within two turns, however much the clients before it send', async (t) => {
  const read: string[] = []
  const all: Client[] = []
  const scheduler = new ReadScheduler(() => all, new DeferredTasks())
  class Client {
    isPaused = false
    isGone = false
    wasRead = true
    readonly name: string
    constructor(name: string) {
      this.name = name
      all.push(this)
    }
    pause() {
      this.isPaused = true
    }
    /** Each read fills the turn again, so all others stay paused. */
    read() {
      this.isPaused = false
      this.wasRead = true
      read.push(this.name)
      scheduler.count(FULL)
    }
  }
  t.after(() => {
    for (const client of all) client.isGone = true
  })
  for (let i = 0; i < 5; i++) new Client('flood')
  scheduler.count(FULL)
  for (let i = 0; i < 4; i++) await turn()
  assert.ok(read.length >= 3, 'the flood reads in turns')
  const fresh = new Client('fresh')
  fresh.wasRead = false
  scheduler.add(fresh)
  read.length = 0
  for (let i = 0; i < 5; i++) await turn()
  assert.ok(read.slice(0, 3).includes('fresh'), `${read} in this order`)
})
