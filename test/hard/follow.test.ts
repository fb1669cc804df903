import { test } from 'node:test'
import { followThrough } from '../support/follow.ts'

test('followers miss and repeat no change across a restart, a kill and connections that break', async (t) => {
  await followThrough(t, 6000)
})
