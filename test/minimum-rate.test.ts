import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MinimumRate } from '../src/http/port/slow-clients.ts'

const LIMITS = { stallTimeout: 30_000, leastSpeed: 1024 }

test('a client at the least speed may continue without limit', () => {
  const rate = new MinimumRate(LIMITS)
  for (let second = 1; second < 10_000; second++) rate.update(1000, 1024 * second)
  assert.equal(rate.left, 30_000)
})

test('a client that stops is too slow after one stall timeout, whatever it sent before', () => {
  const rate = new MinimumRate(LIMITS)
  rate.update(10, 10 ** 9)
  for (let second = 0; second < 30; second++) {
    assert.ok(rate.left > 0, `after ${second} s`)
    rate.update(1000, 10 ** 9)
  }
  assert.equal(rate.left, 0)
})

test('a client at half the least speed is too slow after two stall timeouts', () => {
  const rate = new MinimumRate(LIMITS)
  for (let second = 0; second < 60; second++) {
    assert.ok(rate.left > 0, `after ${second} s`)
    rate.update(1000, 512 * (second + 1))
  }
  assert.equal(rate.left, 0)
})
