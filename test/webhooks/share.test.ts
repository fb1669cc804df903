import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Share } from '../../src/webhooks/share.ts'

test('a webhook that has given everything back gets as much again', () => {
  const share = new Share(256, 1)
  const taker = { retry: () => {} }
  const rounds = Array.from({ length: 3 }, () => {
    let taken = 0
    while (share.take(taker, 1)) taken++
    for (let i = 0; i < taken; i++) share.give(taker, 1)
    return taken
  })
  assert.equal(share.used, 0)
  assert.ok((rounds[0] ?? 0) > 1, String(rounds))
  assert.equal(new Set(rounds).size, 1, String(rounds))
})
