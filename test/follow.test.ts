import assert from 'node:assert/strict'
import { test } from 'node:test'
import { followThrough } from './support/follow.ts'

test('followers miss and repeat no change across a restart, a kill and connections that break', async (t) => {
  const plants = 6000
  for (const [reader, ids] of Object.entries(await followThrough(t, plants))) {
    assert.deepEqual(
      ids,
      Array.from({ length: plants }, (_, id) => id),
      reader,
    )
  }
})
