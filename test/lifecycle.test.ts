import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Lifecycle } from '../src/lifecycle.ts'

test('what was opened last is closed first, and each close ends before the next one begins', async () => {
  const lifecycle = new Lifecycle()
  const events: string[] = []
  for (const name of ['store', 'server', 'watch']) {
    lifecycle.register(name, async () => {
      events.push(`closing ${name}`)
      await sleep(1)
      events.push(`closed ${name}`)
    })
  }
  await lifecycle.close()
  await lifecycle.close()
  assert.deepEqual(
    events,
    ['watch', 'server', 'store'].flatMap((name) => [`closing ${name}`, `closed ${name}`]),
  )
})

test('a close that fails keeps no other from being done, and is thrown in the end', async () => {
  const lifecycle = new Lifecycle()
  const closed: string[] = []
  lifecycle.register('store', () => void closed.push('store'))
  lifecycle.register('server', () => Promise.reject(new Error('stuck')))
  lifecycle.register('watch', () => {
    throw new Error('gone')
  })
  await assert.rejects(lifecycle.close(), { message: 'closing watch failed; closing server failed' })
  assert.deepEqual(closed, ['store'])
})
