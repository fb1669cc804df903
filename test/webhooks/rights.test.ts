import assert from 'node:assert/strict'
import { suite, type TestContext, test } from 'node:test'
import type { Webhook } from '../../src/domain/webhook.ts'
import { startReceiver } from '../support/receiver.ts'
import { emptyService, type Service } from '../support/service.ts'
import { as } from '../support/tokens.ts'
import { createdWebhook, LOCAL, patchWebhook, untilReceived, untilState, webhookOf } from '../support/webhooks.ts'

/** Ends the right of the token behind a webhook. Each of these holds within a second. */
type End = (service: Service, id: string, token: string) => Promise<unknown>

/** Changes a webhook in the store. */
async function store(service: Service, id: string, change: Partial<Webhook>): Promise<void> {
  const stored = (await service.store.webhooks.list()).find(({ webhook }) => webhook.id === id) ?? assert.fail()
  assert.ok(await service.store.webhooks.change(id, stored.version, { ...stored.webhook, ...change }))
}

async function pausedBy(t: TestContext, end: End, expiresAt?: Date): Promise<void> {
  const service = await emptyService(LOCAL)
  const receiver = await startReceiver(t)
  const { secret, token } = await service.issueToken(['webhooks', 'plants:read'], expiresAt)
  const { id } = await createdWebhook(service, { url: receiver.url }, as(secret))
  await end(service, id, token.id)
  await untilState(service, id, 'paused')
  const { reason, since } = await webhookOf(service, id)
  assert.equal(reason, 'creator')
  if (expiresAt !== undefined) assert.ok(Date.parse(since) >= expiresAt.getTime())
  await service.sendJson('POST', '/plants', { id: 1, name: 'Fern' })
  assert.equal(receiver.received.length, 0)
  assert.ok(service.log.includes(`the webhook ${id} is paused`), 'the operator reads of it')
  assert.equal((await patchWebhook(service, id, { state: 'active' })).status, 200)
  await untilReceived(receiver, 1)
  assert.equal((await webhookOf(service, id)).creator, 'configured')
}

suite('a webhook is paused, and goes on with the token that makes it active, once its token', () => {
  test('was revoked', (t) => pausedBy(t, (service, _id, token) => service.send('DELETE', `/tokens/${token}`)))

  test('has expired', (t) => {
    const { now } = Date
    const passes = async () => void t.mock.method(Date, 'now', () => now() + 600_000)
    return pausedBy(t, passes, new Date(now() + 600_000))
  })

  test('lacks a scope', (t) =>
    pausedBy(t, async (service, id) => {
      const { token } = await service.issueToken(['webhooks'])
      await store(service, id, { creator: token })
    }))

  test('of an identity provider has expired', (t) =>
    pausedBy(t, (service, id) => store(service, id, { creatorExpiresAt: Date.now() })))

  test('is not in the store', (t) =>
    pausedBy(t, (service, id) => store(service, id, { creator: { id: 'tok_00000000000', name: 'gone' } })))
})
