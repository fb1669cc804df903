import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LogThrottle } from '../../src/http/log-throttle.ts'

test('a flood of one refusal is cut off, and told of once it is over', (t) => {
  let now = 0
  t.mock.method(performance, 'now', () => now)
  const throttle = new LogThrottle()
  const admitted = Array.from({ length: 100 }, () => throttle.admit(50304)).filter((told) => told !== undefined)
  assert.equal(admitted.length, 20)
  assert.equal(throttle.admit(40002), 0, 'another refusal has lines of its own')
  now = 1001
  assert.equal(throttle.admit(50304), 80, 'the next line says how many there were')
  assert.equal(throttle.admit(50304), 0)
})
