import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { SlowClients } from '../../src/http/answer/slow-clients.ts'

const LIMITS = { stallTimeout: 30_000, leastSpeed: 1024, unreadLimit: 0 }

/** A client for which the service waits, and a function that lets a second pass in which the client moves bytes. */
function slowClient(t: TestContext) {
  let now = 0
  let moved = 0
  let isEnded = false
  t.mock.method(performance, 'now', () => now)
  t.mock.timers.enable({ apis: ['setInterval'] })
  const end = () => {
    isEnded = true
  }
  new SlowClients(LIMITS).watch({ moved: () => moved, isWaiting: () => true, end, size: 0, verb: 'read' })
  return (bytes: number): boolean => {
    moved += bytes
    now += 1000
    t.mock.timers.tick(1000)
    return isEnded
  }
}

test('a client at the least speed may continue without limit', (t) => {
  const second = slowClient(t)
  for (let i = 0; i < 10_000; i++) assert.equal(second(1024), false)
})

test('a client that stops is too slow after one stall timeout, whatever it sent before', (t) => {
  const second = slowClient(t)
  second(10 ** 9)
  for (let i = 1; i < 30; i++) assert.equal(second(0), false, `after ${i} s`)
  assert.equal(second(0), true)
})

test('a client at half the least speed is too slow after two stall timeouts', (t) => {
  const second = slowClient(t)
  for (let i = 1; i < 60; i++) assert.equal(second(512), false, `after ${i} s`)
  assert.equal(second(512), true)
})
