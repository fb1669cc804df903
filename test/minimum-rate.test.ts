import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MinimumRate } from '../src/http/connection/minimum-rate.ts'

const OPTIONS = { stallTimeout: 30_000, leastSpeed: 1024 }

test('a client at the least speed may continue without limit', () => {
  const rate = new MinimumRate(OPTIONS)
  for (let second = 0; second < 10_000; second++) rate.moved(1000, 1024)
  assert.equal(rate.left, 60_000)
})

test('a client below the least speed runs out of time', () => {
  const rate = new MinimumRate(OPTIONS)
  rate.moved(29_000, 1)
  rate.moved(29_000, 1)
  assert.ok(rate.left > 2000 && rate.left < 2003)
  rate.moved(29_000, 1)
  assert.equal(rate.left, 0)
})

test('a client at half the least speed gets twice the time, and earlier speed earns none', () => {
  const rate = new MinimumRate(OPTIONS)
  rate.moved(10, 10 ** 9)
  for (let second = 0; second < 120; second++) {
    assert.ok(rate.left > 0, `after ${second} s`)
    rate.moved(1000, 512)
  }
  assert.equal(rate.left, 0)
})

test('without a least speed each byte renews the time, and without a stall timeout time is unlimited', () => {
  const anySpeed = new MinimumRate({ ...OPTIONS, leastSpeed: undefined })
  anySpeed.moved(59_999, 0)
  assert.equal(anySpeed.left, 1)
  anySpeed.moved(0, 1)
  assert.equal(anySpeed.left, 60_000)
  const patient = new MinimumRate({ ...OPTIONS, stallTimeout: 0 })
  patient.moved(10 ** 9, 0)
  assert.equal(patient.left, Number.POSITIVE_INFINITY)
})
