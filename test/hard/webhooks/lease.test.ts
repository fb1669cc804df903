import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { LEASE_TIME, type WebhookSave } from '../../../src/domain/webhook-store.ts'
import { cleanUp } from '../../support/clean-up.ts'
import { movableTime } from '../../support/clock.ts'
import { Hooks } from '../../support/deliverer.ts'
import { startReceiver } from '../../support/receiver.ts'
import { settled } from '../../support/until.ts'
import { untilReceived } from '../../support/webhooks.ts'

suite('a deliverer whose lease ends', () => {
  test('ends its requests, because another one may send their events, even while the store does not answer', async (t) => {
    const hooks = await Hooks.open(t)
    const cut = Promise.withResolvers<void>()
    const receiver = await startReceiver(t, { respond: (response) => response.on('close', cut.resolve) })
    const move = movableTime(t)
    const ids = [await hooks.create(receiver.url, { concurrency: 1 })]
    const never = Promise.withResolvers<string[]>()
    let leases = 0
    const lease = async () => {
      if (++leases > 1) return never.promise
      // A slow store takes most of the lease. The rest is enough to begin a request on a busy machine.
      move(LEASE_TIME - 3000)
      return ids
    }
    hooks.deliver({ lease })
    cleanUp(t, () => never.resolve([]))
    for (const plant of [1, 2]) await hooks.put(plant)
    await untilReceived(receiver, 1)
    await settled(cut.promise, 'the request goes on')
    assert.equal(receiver.received.length, 1)
  })

  test('while it looks at the webhooks begins none', async (t) => {
    const hooks = await Hooks.open(t)
    const receiver = await startReceiver(t, { respond: () => {} })
    const move = movableTime(t)
    const { webhooks } = hooks.store
    const id = await hooks.create(receiver.url)
    const again = Promise.withResolvers<number>()
    let isLast = false
    let hasEnded = false
    const lease = async () => {
      if (hasEnded) again.resolve(receiver.received.length)
      if (isLast) move(LEASE_TIME - 200)
      return [id]
    }
    const save = async (holder: string, saves: readonly WebhookSave[]) => {
      // The request of the webhook whose address has changed was cut. Its attempt is stored until the lease is over.
      if (isLast) {
        await sleep(400)
        hasEnded = true
        isLast = false
      }
      return webhooks.save(holder, saves)
    }
    const deliverer = hooks.deliver({ lease, save })
    await hooks.put(1)
    await untilReceived(receiver, 1)
    const { webhook, version } = await hooks.stored(id)
    await webhooks.change(id, version, { ...webhook, url: `${receiver.url}?new` })
    isLast = true
    deliverer.changed()
    assert.equal(await settled(again.promise, 'it takes no further lease'), 1)
    await untilReceived(receiver, 2)
  })
})
