import assert from 'node:assert/strict'
import { suite } from 'node:test'
import type { Webhook } from '../../client/src/contract.generated.ts'
import { startReceiver } from '../support/receiver.ts'
import { errorOf, messageOf } from '../support/service.ts'
import { onEmpty } from '../support/service-tests.ts'
import { until } from '../support/until.ts'
import { createdWebhook, LOCAL, untilListed, untilReceived, webhookOf } from '../support/webhooks.ts'

suite('a webhook', () => {
  onEmpty('delivers again from a position, up to another one', LOCAL, async (service, t) => {
    const receiver = await startReceiver(t)
    const { id, position } = await createdWebhook(service, { url: receiver.url, concurrency: 1 })
    const redeliver = (body: unknown) => service.sendJson('POST', `/webhooks/${id}/redeliver`, body)
    for (let i = 1; i <= 5; i++) await service.sendJson('POST', '/plants', { id: i, name: 'a' })
    await untilReceived(receiver, 5)
    const events = () => receiver.received.map(({ headers }) => headers['webhook-id'])
    const [first, , third] = events()
    await untilListed(service, id, 5)
    assert.equal((await redeliver({ after: first, until: third })).status, 200)
    await untilReceived(receiver, 7)
    await service.sendJson('POST', '/plants', { id: 6, name: 'a' })
    await untilReceived(receiver, 8)
    assert.deepEqual(events().slice(5, 7), events().slice(1, 3))
    await untilListed(service, id, 8)
    assert.equal((await redeliver({ after: position })).status, 200)
    await untilReceived(receiver, 14)
    assert.deepEqual(events().slice(8), [...events().slice(0, 5), events()[7]])
    for (const range of [
      { after: 'misplaced' },
      { after: 'now', until: 'misplaced' },
      { after: first, until: 'now' },
    ]) {
      assert.equal(errorOf(await redeliver(range)), 40003, JSON.stringify(range))
    }
    assert.equal(errorOf(await redeliver({ after: `${position.slice(0, -1)}x` })), 40003)
    for (const after of [position, 'now']) {
      for (const until of ['x', '', 'now']) assert.equal(errorOf(await redeliver({ after, until })), 40003)
    }
    assert.doesNotMatch(service.audited.join(), /misplaced/)
    const bodies = [{}, { after: 1 }, { after: 'now', until: 1 }, { after: 'now', from: 'x' }]
    for (const body of [...bodies, { after: third, until: first }, { after: 'now', until: first }]) {
      assert.equal(errorOf(await redeliver(body)), 40002, JSON.stringify(body))
    }
    assert.match(messageOf(await redeliver({ after: 1 })), /^after must be a position, or now$/)
  })

  onEmpty('that delivers a part again loses no event that waits behind it', LOCAL, async (service, t) => {
    const receiver = await startReceiver(t)
    const failing = new Set([1, 2, 3])
    const plantIn = (body: string) => (JSON.parse(body) as { data: { id: number } }).data.id
    receiver.respond = (response, { body }) => response.writeHead(failing.has(plantIn(body)) ? 500 : 204).end()
    const { id, position } = await createdWebhook(service, { url: receiver.url })
    for (let i = 1; i <= 5; i++) await service.sendJson('POST', '/plants', { id: i, name: 'a' })
    await untilListed(service, id, 5)
    const events = new Map(receiver.received.map(({ headers, body }) => [plantIn(body), headers['webhook-id']]))
    const redeliver = async (body: unknown) => {
      const answer = await service.sendJson('POST', `/webhooks/${id}/redeliver`, body)
      assert.equal(answer.status, 200, answer.body)
      return answer.json as Webhook
    }
    assert.equal((await redeliver({ after: events.get(5), until: events.get(5) })).position, position)
    failing.clear()
    await redeliver({ after: position, until: events.get(1) })
    const count = (plant: number) => receiver.received.filter(({ body }) => plantIn(body) === plant).length
    await until(
      () => [1, 2, 3].every((plant) => count(plant) >= 2),
      () => `plants ${receiver.received.map(({ body }) => plantIn(body))}`,
    )
    // Positions are in the order of the log, as texts.
    await until(async () => (await webhookOf(service, id)).position >= String(events.get(5)), 'something waits')
  })
})
