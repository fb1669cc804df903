import assert from 'node:assert/strict'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { suite, type TestContext, test } from 'node:test'
import { CONFIGURED_TOKEN } from '../../src/domain/token.ts'
import { movableTime } from '../support/clock.ts'
import { startReceiver, type TestReceiver } from '../support/receiver.ts'
import { type Service, withService } from '../support/service.ts'
import { onService } from '../support/service-tests.ts'
import { as } from '../support/tokens.ts'
import { until } from '../support/until.ts'
import {
  createdWebhook,
  deliveriesOf,
  LOCAL,
  patchWebhook,
  untilReceived,
  untilState,
  webhookOf,
} from '../support/webhooks.ts'

const plantsIn = ({ received }: TestReceiver): number[] =>
  received.map(({ body }) => (JSON.parse(body) as { data: { id: number } }).data.id)

const put = (service: Service, id: number) => service.sendJson('PUT', `/plants/${id}`, { name: 'Fern' })

/** Lets the clock of the process go. Returns how to set it forward by seconds. */
function clock(t: TestContext): (seconds: number) => void {
  const move = movableTime(t)
  return (seconds) => move(seconds * 1000)
}

/** Waits until so many attempts had no answer. */
const untilUnanswered = (service: Service, count: number) =>
  until(async () => {
    const { body } = await service.send('GET', '/metrics')
    return Number(/attempts_total\{outcome="unanswered"\} (\d+)/.exec(body)?.[1]) >= count
  }, `no ${count} attempts fail`)

suite('the whole webhook waits', () => {
  for (const [status, headers] of [
    [429, {}],
    [502, {}],
    [503, {}],
    [504, {}],
    [500, { 'Retry-After': '5' }],
  ] as const) {
    test(`after ${status} with ${Object.keys(headers)[0] ?? 'no Retry-After'}, and goes on with the event that got it`, async (t) => {
      const [service, receiver, pass] = [await withService(t, LOCAL), await startReceiver(t), clock(t)]
      const other = await startReceiver(t)
      receiver.respond = (response) => {
        if (receiver.received.length === 1) response.writeHead(status, headers).end()
        else response.writeHead(204).end()
      }
      const { id } = await createdWebhook(service, { url: receiver.url, concurrency: 1 })
      await createdWebhook(service, { url: other.url })
      await put(service, 1)
      await until(async () => (await deliveriesOf(service, id)).length === 1, 'the attempt is not listed')
      await put(service, 2)
      // Both webhooks read it at once.
      await untilReceived(other, 2)
      pass(7)
      await put(service, 3)
      await untilReceived(receiver, 4)
      assert.deepEqual(plantsIn(receiver), [1, 1, 2, 3])
    })
  }

  test('also after the service has read it from the store again', async (t) => {
    const [service, pass] = [await withService(t, LOCAL), clock(t)]
    const [receiver, other] = [await startReceiver(t), await startReceiver(t)]
    const { id } = await createdWebhook(service, { url: receiver.url, concurrency: 1 })
    const { version, webhook, progress } = (await service.store.webhooks.list(id))[0] ?? assert.fail()
    await service.store.webhooks.change(id, version, webhook, { ...progress, waitUntil: Date.now() + 3_600_000 })
    await createdWebhook(service, { url: other.url })
    await put(service, 1)
    await untilReceived(other, 1)
    pass(3601)
    assert.equal(receiver.received.length, 0)
    await put(service, 2)
    await untilReceived(receiver, 2)
    assert.deepEqual(plantsIn(receiver), [1, 2])
  })

  test('not after 500, which is about one plant', async (t) => {
    const [service, receiver, pass] = [await withService(t, LOCAL), await startReceiver(t), clock(t)]
    receiver.respond = (response) => response.writeHead(receiver.received.length === 1 ? 500 : 204).end()
    await createdWebhook(service, { url: receiver.url, concurrency: 1 })
    await put(service, 1)
    await untilReceived(receiver, 1)
    await put(service, 2)
    await untilReceived(receiver, 2)
    pass(7)
    await put(service, 3)
    await untilReceived(receiver, 4)
    assert.deepEqual(plantsIn(receiver).slice(0, 3), [1, 2, 1])
  })
})

test('a receiver that was away for a minute gets every event once, and no person has to do anything', async (t) => {
  const [service, receiver, pass] = [await withService(t, LOCAL), await startReceiver(t), clock(t)]
  const { id } = await createdWebhook(service, { url: receiver.url })
  await receiver.stop()
  for (const plant of [1, 2, 3]) await put(service, plant)
  await untilUnanswered(service, 3)
  // The retries after 5 and after 30 seconds. Each change makes the service look at its clock.
  pass(7)
  await put(service, 4)
  await untilUnanswered(service, 7)
  pass(37)
  await put(service, 5)
  await untilUnanswered(service, 12)
  await receiver.restart()
  pass(16)
  await put(service, 6)
  await untilReceived(receiver, 6)
  assert.deepEqual(plantsIn(receiver).toSorted(), [1, 2, 3, 4, 5, 6])
  await until(async () => (await webhookOf(service, id)).pending === 0, 'something waits')
  assert.equal((await webhookOf(service, id)).state, 'active')
})

onService('what waits for a paused webhook is counted by its whole filter', LOCAL, async (service) => {
  const { id } = await createdWebhook(service, { url: 'http://127.0.0.1:9/', tagPrefix: 'conifer/' })
  assert.equal((await patchWebhook(service, id, { state: 'paused' })).status, 200)
  for (const [plant, tag] of ['fern', 'conifer/pine', 'moss'].entries()) {
    assert.equal((await service.sendJson('PUT', `/plants/${plant}`, { name: 'a', tag })).status, 201)
  }
  await until(async () => Number((await webhookOf(service, id)).pending) > 0, 'nothing waits')
  assert.equal((await webhookOf(service, id)).pending, 1)
})

test('a webhook that is changed while it delivers lists each attempt once', async (t) => {
  const [service, receiver] = [await withService(t, LOCAL), await startReceiver(t)]
  const { id } = await createdWebhook(service, { url: receiver.url })
  const plants = Array.from({ length: 300 }, (_, i) => ({ id: BigInt(i), name: 'a', tag: undefined }))
  await service.store.importPlants(plants, 'add', CONFIGURED_TOKEN)
  for (let change = 0; receiver.received.length < plants.length; change++) {
    const concurrency = 8 + (change % 8)
    const body = { concurrency, ...(change % 4 === 0 ? { url: `${receiver.url}?${change}` } : {}) }
    assert.equal((await patchWebhook(service, id, body)).status, 200)
  }
  await until(async () => (await webhookOf(service, id)).pending === 0, 'something waits')
  const listed = await deliveriesOf(service, id)
  const attempts = listed.map(({ event, time, durationMs, status }) => `${event} ${time} ${durationMs} ${status}`)
  assert.equal(new Set(attempts).size, attempts.length)
})

suite('pausing a webhook', () => {
  test('lists every attempt that its receiver saw', async (t) => {
    const [service, receiver] = [await withService(t, LOCAL), await startReceiver(t)]
    // One request is always under way.
    receiver.respond = (response) => (receiver.received.length === 1 ? undefined : response.writeHead(204).end())
    const { id } = await createdWebhook(service, { url: receiver.url })
    await service.store.importPlants(
      Array.from({ length: 500 }, (_, i) => ({ id: BigInt(i), name: 'a', tag: undefined })),
      'add',
      CONFIGURED_TOKEN,
    )
    await untilReceived(receiver, 50)
    await patchWebhook(service, id, { state: 'paused' })
    const listed = async () => new Set((await deliveriesOf(service, id)).map(({ event }) => event))
    await until(async () => {
      const events = await listed()
      return receiver.received.every(({ headers }) => events.has(String(headers['webhook-id'])))
    }, 'the list lacks attempts')
    const cut = (await deliveriesOf(service, id)).filter(({ status }) => status === undefined)
    assert.ok(cut.some(({ failure }) => failure === 'it was stopped before an answer came'))
  })

  test('because its token ends takes at most a second', async (t) => {
    const [service, receiver] = [await withService(t, LOCAL), await startReceiver(t)]
    for (let round = 0; round < 3; round++) {
      const delay = monitorEventLoopDelay({ resolution: 5 })
      const { secret, token } = await service.issueToken(['webhooks', 'plants:read'])
      const { id } = await createdWebhook(service, { url: receiver.url }, as(secret))
      delay.enable()
      await service.send('DELETE', `/tokens/${token.id}`)
      const endedAt = Date.now()
      await untilState(service, id, 'paused')
      // On a busy machine, the process itself waits for its turn.
      const late = Date.parse((await webhookOf(service, id)).since) - endedAt
      assert.ok(late <= 1000 + (2 * delay.max) / 1e6, `${late} ms`)
    }
  })
})
