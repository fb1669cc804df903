import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { Admission, FairQueue, type QueueOptions } from '../../src/http/admission/admission.ts'
import { DeferredTasks } from '../../src/http/admission/turns.ts'
import { readConfig } from '../../src/settings/config.ts'
import { TESTER } from '../support/actor.ts'
import { refusal } from '../support/store-under-test.ts'

const NEVER = new AbortController().signal
/** A queue, and the names of its work in the order in which it began. */
function queueOf(options: Partial<QueueOptions> = {}) {
  const queue = new FairQueue('searches', { running: 2, waiting: 100, ...options })
  const begun: string[] = []
  const leave = new Map<string, () => void>()
  const enter = async (work: string, signal = NEVER): Promise<void> => {
    leave.set(work, await queue.enter(work.slice(0, 1), signal))
    begun.push(work)
  }
  const end = async (work: string): Promise<void> => {
    leave.get(work)?.()
    await turn()
  }
  return { queue, begun, enter, end }
}

suite('queued work', () => {
  test('starts at once if a place is free, and otherwise when one becomes free', async () => {
    const { queue, begun, enter, end } = queueOf()
    for (const work of ['a1', 'b1', 'c1', 'd1']) void enter(work)
    await turn()
    assert.deepEqual(begun, ['a1', 'b1'])
    assert.deepEqual([queue.running.used, queue.waiting.used], [2, 2])
    await end('b1')
    assert.deepEqual(begun, ['a1', 'b1', 'c1'])
    for (const work of ['a1', 'c1', 'd1']) await end(work)
    assert.deepEqual([queue.running.used, queue.waiting.used], [0, 0])
  })

  test('of one token takes no more than its share of the places, even if others are free', async () => {
    const { begun, enter, end } = queueOf({ running: 10, runningPerToken: 2 })
    for (const work of ['a1', 'a2', 'a3', 'b1']) void enter(work)
    await turn()
    assert.deepEqual(begun, ['a1', 'a2', 'b1'])
    await end('b1')
    assert.deepEqual(begun, ['a1', 'a2', 'b1'])
    await end('a1')
    assert.deepEqual(begun, ['a1', 'a2', 'b1', 'a3'])
  })

  test('of several tokens runs in turns, however much work one of them has', async () => {
    const { begun, enter, end } = queueOf({ running: 1 })
    for (let i = 0; i < 64; i++) void enter(`a${i}`)
    for (const work of ['b0', 'c0', 'b1']) void enter(work)
    for (const work of ['a0', 'a1', 'b0', 'c0', 'a2', 'b1', 'a3']) {
      await turn()
      assert.equal(begun.at(-1), work)
      await end(work)
    }
  })

  test('frees its place once, even if it leaves twice', async () => {
    const { begun, enter, end } = queueOf({ running: 1 })
    for (const work of ['a1', 'b1', 'c1']) void enter(work)
    await turn()
    await end('a1')
    await end('a1')
    assert.deepEqual(begun, ['a1', 'b1'])
  })

  test('leaves the queue without running when its signal aborts', async () => {
    const { queue, begun, enter, end } = queueOf({ running: 1 })
    const leaving = new AbortController()
    const reason = new Error('the client has left')
    void enter('a1')
    const waiting = Array.from({ length: 50 }, (_, i) => enter(`b${i}`, leaving.signal))
    void enter('c1')
    const outcomes = Promise.allSettled(waiting)
    leaving.abort(reason)
    for (const outcome of await outcomes) assert.deepEqual(outcome, { status: 'rejected', reason })
    assert.equal(queue.waiting.used, 1)
    await assert.rejects(enter('b51', leaving.signal), reason)
    await end('a1')
    assert.deepEqual(begun, ['a1', 'c1'])
  })
})

suite('excess work', () => {
  test('of one token is refused with 42901 while work of others is accepted', async () => {
    const { queue, enter } = queueOf({ waitingPerToken: 3 })
    for (let i = 0; i < 4; i++) void enter(`a${i}`)
    await assert.rejects(enter('a4'), refusal(42901))
    void enter('b0')
    await turn()
    assert.equal(queue.waiting.refused, 1)
    assert.deepEqual([queue.running.used, queue.waiting.used], [2, 3])
  })

  test('of all tokens together is refused with 50302', async () => {
    const { queue, enter } = queueOf({ waiting: 3 })
    for (let i = 0; i < 5; i++) void enter(`${i}`)
    await assert.rejects(enter('x'), refusal(50302))
    assert.equal(queue.waiting.refused, 1)
  })

  test('is refused at once if the queue has no places', async () => {
    const { queue, enter, end } = queueOf({ running: 3, waiting: 0 })
    for (const work of ['a1', 'a2']) await enter(work)
    await assert.rejects(enter('a3'), refusal(42901))
    await enter('b1')
    await assert.rejects(enter('b2'), refusal(50302))
    await end('a1')
    await enter('b2')
    assert.deepEqual([queue.running.used, queue.waiting.used, queue.running.refused], [3, 0, 2])
  })

  test('is refused with a time to retry', async () => {
    const { enter } = queueOf({ waiting: 0 })
    await enter('a1')
    await assert.rejects(enter('a2'), { retryAfter: 1 })
    await enter('b1')
    await assert.rejects(enter('c1'), { retryAfter: 1 })
  })
})

suite('admitted work', () => {
  const begins = async () => assert.fail('it begins')
  const sender = { actor: TESTER, scopes: [], expiresAt: Number.POSITIVE_INFINITY, hash: undefined }

  /** An admission whose deferred tasks run in the next turns, and the watches of tokens that are open. */
  function admissionOf() {
    const watched = new Set<object>()
    const tokens = {
      watch(_: unknown, end: (reason: unknown) => void) {
        const watch = { end }
        watched.add(watch)
        return () => void watched.delete(watch)
      },
    }
    const config = readConfig({ token: 'of-this-test-k7Qz3fV0pW9mX2rT5sN8' }, {})
    return { admission: new Admission(config, tokens, new DeferredTasks()), watched }
  }

  test('has its token watched from its request to its end, however it ends', async () => {
    const { admission, watched } = admissionOf()
    const { signal } = new AbortController()
    assert.equal(await admission.during('search', { sender, signal }, async () => watched.size), 1)
    assert.equal(watched.size, 0)
    const failing = admission.during('search', { sender, signal }, () => Promise.reject(new Error('failed')))
    await assert.rejects(failing, /failed/)
    await assert.rejects(admission.during('search', { sender, signal: AbortSignal.abort() }, begins))
    assert.equal(watched.size, 0)
  })

  test('does not begin for a client that leaves between its place and its turn', async () => {
    const { admission } = admissionOf()
    const client = new AbortController()
    const gone = new Error('the client closed the connection')
    const search = admission.during('search', { sender, signal: client.signal }, begins)
    await Promise.resolve()
    client.abort(gone)
    await assert.rejects(search, (error) => error === gone)
    assert.equal(admission.bounds.maxSearches?.used, 0)
  })
})
