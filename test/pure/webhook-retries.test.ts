import assert from 'node:assert/strict'
import { test } from 'node:test'
import { retryDelay } from '../../src/webhooks/delivery.ts'
import { movableTime } from '../support/clock.ts'
import { startReceiver } from '../support/receiver.ts'
import { withService } from '../support/service.ts'
import { until } from '../support/until.ts'
import { createdWebhook, LOCAL, untilListed, webhookOf } from '../support/webhooks.ts'

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

test('a receiver that refuses one plant for weeks, and takes others, is not given up', async (t) => {
  const service = await withService(t, { ...LOCAL, changesKeep: '365d' })
  const [receiver, pass] = [await startReceiver(t), movableTime(t)]
  const idIn = (body: string) => (JSON.parse(body) as { data: { id: number } }).data.id
  receiver.respond = (response, { body }) => response.writeHead(idIn(body) === 1 ? 500 : 204).end()
  const { id } = await createdWebhook(service, { url: receiver.url })
  const put = (plant: number, name: string) => service.sendJson('PUT', `/plants/${plant}`, { name })
  const seen = (plant: number) => receiver.received.filter(({ body }) => idIn(body) === plant).length
  await put(1, 'refused')
  await until(() => seen(1) === 1, 'nothing comes')
  // A receiver that takes nothing is given up after 12 attempts in five days.
  for (let day = 1; day <= 14; day++) {
    pass(29 * 3_600_000)
    await put(2, `taken on day ${day}`)
    await until(() => seen(2) === day && seen(1) === day + 1, `no attempt on day ${day}`)
    await untilListed(service, id, 2 * day + 1)
  }
  assert.equal((await webhookOf(service, id)).state, 'active')
})
