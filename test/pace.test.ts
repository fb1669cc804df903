import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Pace } from '../src/http/connection/pace.ts'

const OPTIONS = { stallTimeout: 30_000, leastSpeed: 1024 }

test('a client at the least speed may continue without limit', () => {
  const pace = new Pace(OPTIONS)
  for (let second = 0; second < 10_000; second++) pace.moved(1000, 1024)
  assert.equal(pace.left, 60_000)
})

test('a client below the least speed runs out of time', () => {
  const pace = new Pace(OPTIONS)
  pace.moved(29_000, 1)
  pace.moved(29_000, 1)
  assert.ok(pace.left > 2000 && pace.left < 2003)
  pace.moved(29_000, 1)
  assert.equal(pace.left, 0)
})

test('a client at half the least speed gets twice the time, and earlier speed earns none', () => {
  const pace = new Pace(OPTIONS)
  pace.moved(10, 10 ** 9)
  for (let second = 0; second < 120; second++) {
    assert.ok(pace.left > 0, `after ${second} s`)
    pace.moved(1000, 512)
  }
  assert.equal(pace.left, 0)
})

test('without a least speed each byte renews the time, and without a stall timeout time is unlimited', () => {
  const anySpeed = new Pace({ ...OPTIONS, leastSpeed: undefined })
  anySpeed.moved(59_999, 0)
  assert.equal(anySpeed.left, 1)
  anySpeed.moved(0, 1)
  assert.equal(anySpeed.left, 60_000)
  const patient = new Pace({ ...OPTIONS, stallTimeout: 0 })
  patient.moved(10 ** 9, 0)
  assert.equal(patient.left, Number.POSITIVE_INFINITY)
})
