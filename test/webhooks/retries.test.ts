import assert from 'node:assert/strict'
import { test } from 'node:test'
import { retryDelay } from '../../src/webhooks/delivery.ts'

test('retries follow after 5 s, 30 s, 5 and 30 min, 2, 5, 10, 14, 20 and 24 h, then daily, give or take a fifth', () => {
  const [minute, hour] = [60, 3600]
  const hours = [2, 5, 10, 14, 20, 24, 24, 24].map((count) => count * hour)
  for (const [i, seconds] of [5, 30, 5 * minute, 30 * minute, ...hours].entries()) {
    const delays = Array.from({ length: 1000 }, () => retryDelay(i + 1) / 1000)
    for (const delay of delays)
      assert.ok(delay >= 0.8 * seconds && delay <= 1.2 * seconds, `${delay} s of ${seconds} s`)
    assert.ok(Math.min(...delays) < 0.9 * seconds && Math.max(...delays) > 1.1 * seconds, 'chance changes them')
  }
})
