import assert from 'node:assert/strict'
import { test } from 'node:test'
import { WritePace } from '../src/sqlite/search-index/write-pace.ts'

/** Simulates an index that takes in `rate` plants per ms, and writers that write `rows` plants as often as allowed. */
function behindAfter(seconds: number, rate: number, rows: number, groupTime: number): number {
  let now = 0
  let behind = 0
  const pace = new WritePace(() => now)
  for (let stepAt = 0; now < seconds * 1000; ) {
    const wait = Math.max(pace.delay(rows, behind), 0) + groupTime
    behind += rows
    now += wait
    while (stepAt < now) {
      const indexed = Math.min(behind, rate * 100)
      behind -= indexed
      pace.learn(indexed, 100)
      stepAt += 100
    }
  }
  return behind
}

test('writes run at full speed while the index keeps up', () => {
  const pace = new WritePace(() => 0)
  for (let i = 0; i < 100; i++) assert.equal(pace.delay(1000, 4999), 0)
})

test('the lag of the index stays bounded, however many plants are written at once', () => {
  for (const [rate, rows] of [
    [0.01, 1],
    [0.01, 64],
    [1, 1],
    [1, 1000],
    [20, 64],
    [20, 1000],
    [100, 1000],
  ] as const) {
    const behind = behindAfter(300, rate, rows, 0.1)
    assert.ok(behind <= 50_000, `${behind} behind at ${rate} per ms and ${rows} rows`)
  }
})

test('large plants slow writes down at a smaller lag', () => {
  const pace = new WritePace(() => 0)
  for (let i = 0; i < 20; i++) pace.learn(2, 1000)
  assert.equal(pace.delay(1, 0), 0)
  assert.ok(pace.delay(1, 5) > 100)
})
