import assert from 'node:assert/strict'
import { hashSecret } from '../src/domain/token.ts'
import {
  makeWebhookId,
  makeWebhookSecret,
  type Webhook,
  type WebhookAttempt,
  type WebhookProgress,
} from '../src/domain/webhook.ts'
import { ATTEMPTS_KEEP, MAX_ATTEMPTS } from '../src/domain/webhook-store.ts'
import type { Suite } from './support/store-under-test.ts'
import { token } from './token-suite.ts'

export const webhook = (more: Partial<Webhook> = {}): Webhook => ({
  id: makeWebhookId(),
  url: 'https://hooks.garden.example/plants?a=ö',
  types: ['plant.created'],
  tags: ['fern', ''],
  description: 'the label printer 🌿',
  body: 'event',
  concurrency: 8,
  createdAt: Date.now(),
  creator: { id: 'configured', name: 'PLANTSTORE_TOKEN' },
  creatorExpiresAt: undefined,
  state: 'active',
  reason: undefined,
  since: Date.now(),
  keys: { secret: makeWebhookSecret(), previous: undefined },
  ...more,
})

export const progress = (position: string, more: Partial<WebhookProgress> = {}): WebhookProgress => ({
  position,
  held: [],
  redelivery: undefined,
  failingSince: undefined,
  waitUntil: undefined,
  ...more,
})

export const attempt = (event: string, more: Partial<WebhookAttempt> = {}): WebhookAttempt => ({
  event,
  type: 'plant.created',
  time: new Date().toISOString(),
  durationMs: 3,
  status: 500,
  failure: 'the status 500',
  answer: 'sorry 🌿',
  nextAttempt: new Date(Date.now() + 5000).toISOString(),
  ...more,
})

/** Leaves out members that are undefined, as JSON does. */
const plain = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T

/** The specification of WebhookStore. */
export function webhookTests(suite: Suite): void {
  suite('the store keeps webhooks, the oldest first', async ({ store, reopen }) => {
    assert.deepEqual(await store.webhooks.list(), [])
    const [old, young] = [webhook({ createdAt: 1 }), webhook({ createdAt: 2 })]
    for (const each of [young, old]) await store.webhooks.create(each, progress('a'), 100)
    assert.deepEqual(plain(await store.webhooks.list(young.id)), [
      plain({ webhook: young, progress: progress('a'), version: 1 }),
    ])
    const stored = (await (await reopen()).webhooks.list()).map((each) => plain(each))
    const expected = [old, young].map((each) => plain({ webhook: each, progress: progress('a'), version: 1 }))
    assert.deepEqual(stored, expected)
  })

  suite('a webhook is created once, and within the bound', async ({ store }) => {
    const first = webhook()
    assert.deepEqual(plain(await store.webhooks.create(first, progress('a'), 2)), plain(first))
    const again = { ...webhook(), id: first.id }
    assert.deepEqual(plain(await store.webhooks.create(again, progress('b'), 1)), plain(first))
    await store.webhooks.create(webhook(), progress('a'), 2)
    assert.equal(await store.webhooks.create(webhook(), progress('a'), 2), 'too many')
    assert.equal((await store.webhooks.list()).length, 2)
  })

  suite('of several webhooks at once, no more are created than the bound', async ({ store }) => {
    const all = Array.from({ length: 10 }, () => store.webhooks.create(webhook(), progress('a'), 3))
    const created = (await Promise.all(all)).filter((each) => each !== 'too many')
    assert.equal(created.length, 3)
  })

  suite('a webhook comes with the rights of its token', async ({ store }) => {
    const creator = token('Kew', { scopes: ['plants:read', 'webhooks'], expiresAt: new Date(2e12) })
    await store.tokens.createToken(creator, hashSecret('kew'))
    await store.webhooks.create(webhook({ creator: { id: creator.id, name: 'Kew' } }), progress('a'), 100)
    const rights = async () => (await store.webhooks.list())[0]?.token
    assert.deepEqual(await rights(), { scopes: creator.scopes, expiresAt: new Date(2e12), revokedAt: undefined })
    await store.tokens.revokeToken(creator.id)
    assert.ok((await rights())?.revokedAt)
  })

  suite('a change holds only against the version that it was decided on', async ({ store }) => {
    const first = webhook()
    const { id } = first
    await store.webhooks.create(first, progress('a'), 100)
    assert.equal(await store.webhooks.change(id, 1, { ...first, url: 'https://a.example/' }), true)
    assert.equal(await store.webhooks.change(id, 1, { ...first, url: 'https://b.example/' }, progress('c')), false)
    const [stored] = await store.webhooks.list()
    assert.deepEqual([stored?.webhook.url, stored?.progress.position], ['https://a.example/', 'a'])
    assert.equal(await store.webhooks.change(id, 2, first, progress('b')), true)
    assert.equal((await store.webhooks.list())[0]?.progress.position, 'b')
    assert.equal(await store.webhooks.change(makeWebhookId(), 1, first), false)
  })

  suite('progress is stored by its holder alone, against its version, and attempts always', async ({ store }) => {
    const [one, other] = [webhook({ createdAt: 1 }), webhook({ createdAt: 2 })]
    for (const each of [one, other]) await store.webhooks.create(each, progress('a'), 100)
    assert.deepEqual(new Set(await store.webhooks.lease('me')), new Set([one.id, other.id]))
    const held = [{ after: 'a', plant: '1', time: 1, attempts: 2, due: 3 }]
    const reached = progress('b', { held, redelivery: { until: 'c', resume: 'd' }, failingSince: 4, waitUntil: 5 })
    const save = (id: string, version: number, attempts: WebhookAttempt[] = []) =>
      store.webhooks.save('me', [{ id, version, progress: reached, attempts }])
    assert.deepEqual(await save(one.id, 1), [])
    assert.deepEqual(await save(other.id, 2, [attempt('late')]), [other.id])
    const events = (await store.webhooks.attempts(other.id, 10)).map(({ event }) => event)
    assert.deepEqual(events, ['late'])
    assert.deepEqual(await save(makeWebhookId(), 1, [attempt('x')]).then((lost) => lost.length), 1)
    const stored = await store.webhooks.list()
    const found = stored.map((each) => plain(each.progress))
    assert.deepEqual(found, [reached, plain(progress('a'))])
  })

  suite('the last attempts are listed, the newest first', async ({ store }) => {
    const [one, other] = [webhook(), webhook()]
    for (const each of [one, other]) await store.webhooks.create(each, progress('a'), 100)
    await store.webhooks.lease('me')
    const save = (id: string, attempts: WebhookAttempt[]) =>
      store.webhooks.save('me', [{ id, version: 1, progress: progress('a'), attempts }])
    const old = attempt('old', { time: new Date(Date.now() - ATTEMPTS_KEEP - 1000).toISOString() })
    const delivered = attempt('1', { status: 204, failure: undefined, answer: '', nextAttempt: undefined })
    await save(one.id, [old, delivered, attempt('2')])
    await save(other.id, [attempt('other')])
    await save(one.id, [attempt('3')])
    const listed = await store.webhooks.attempts(one.id, 10)
    const shown = listed.map(({ event }) => event)
    assert.deepEqual(shown, ['3', '2', '1'])
    assert.deepEqual(plain(listed[2]), plain(delivered))
    const seen = (await store.webhooks.attempts(one.id, 2)).map(({ event }) => event)
    assert.deepEqual(seen, ['3', '2'])
    for (let part = 0; part < 3; part++) {
      const attempts = Array.from({ length: 400 }, (_, i) => attempt(`${part}-${i}`))
      await save(one.id, attempts)
    }
    const last = await store.webhooks.attempts(one.id, 2 * MAX_ATTEMPTS)
    assert.equal(last.length, MAX_ATTEMPTS)
    assert.equal(last[0]?.event, '2-399')
    assert.equal((await store.webhooks.attempts(other.id, 10)).length, 1)
  })

  suite('a deleted webhook is gone with its attempts', async ({ store }) => {
    const first = webhook()
    await store.webhooks.create(first, progress('a'), 100)
    await store.webhooks.lease('me')
    await store.webhooks.save('me', [{ id: first.id, version: 1, progress: progress('b'), attempts: [attempt('1')] }])
    assert.equal(await store.webhooks.delete(first.id), true)
    assert.equal(await store.webhooks.delete(first.id), false)
    assert.deepEqual(await store.webhooks.list(), [])
    assert.deepEqual(await store.webhooks.attempts(first.id, 10), [])
  })
}
