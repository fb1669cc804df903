import assert from 'node:assert/strict'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { suite, type TestContext, test } from 'node:test'
import type { Webhook } from '../../src/domain/webhook.ts'
import { movableClock, movableTime } from '../support/clock.ts'
import { CONFIG, Hooks } from '../support/deliverer.ts'
import { startReceiver, withStatus } from '../support/receiver.ts'
import { emptyService, type Service, withService } from '../support/service.ts'
import { onService } from '../support/service-tests.ts'
import { importMany } from '../support/store-calls.ts'
import { plant } from '../support/store-under-test.ts'
import { as } from '../support/tokens.ts'
import { until } from '../support/until.ts'
import {
  createdWebhook,
  deliveriesOf,
  idsIn,
  LOCAL,
  patchWebhook,
  plantIn,
  startWebhook,
  untilReceived,
  untilState,
  webhookOf,
} from '../support/webhooks.ts'

const put = (service: Service, id: number) => service.sendJson('PUT', `/plants/${id}`, { name: 'Fern' })

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
      const [service, receiver, pass] = [await withService(t, LOCAL), await startReceiver(t), movableTime(t)]
      receiver.respond = (response) => {
        if (receiver.received.length === 1) response.writeHead(status, headers).end()
        else response.writeHead(204).end()
      }
      const { id } = await createdWebhook(service, { url: receiver.url, concurrency: 1 })
      const { receiver: other } = await startWebhook(service, t)
      await put(service, 1)
      await until(async () => (await deliveriesOf(service, id)).length === 1, 'the attempt is not listed')
      await put(service, 2)
      // Both webhooks read it at once.
      await untilReceived(other, 2)
      pass(7000)
      await put(service, 3)
      await untilReceived(receiver, 4)
      assert.deepEqual(idsIn(receiver), [1, 1, 2, 3])
    })
  }

  test('also after the service has read it from the store again', async (t) => {
    const [service, pass] = [await withService(t, LOCAL), movableTime(t)]
    const { id, receiver } = await startWebhook(service, t, { concurrency: 1 })
    const { version, webhook, progress } = (await service.store.webhooks.list(id))[0] ?? assert.fail()
    await service.store.webhooks.change(id, version, webhook, { ...progress, waitUntil: Date.now() + 3_600_000 })
    const { receiver: other } = await startWebhook(service, t)
    await put(service, 1)
    await untilReceived(other, 1)
    pass(3_601_000)
    assert.equal(receiver.received.length, 0)
    await put(service, 2)
    await untilReceived(receiver, 2)
    assert.deepEqual(idsIn(receiver), [1, 2])
  })

  test('not after 500, which is about one plant', async (t) => {
    const [service, receiver, pass] = [await withService(t, LOCAL), await startReceiver(t), movableTime(t)]
    receiver.respond = (response) => response.writeHead(receiver.received.length === 1 ? 500 : 204).end()
    await createdWebhook(service, { url: receiver.url, concurrency: 1 })
    await put(service, 1)
    await untilReceived(receiver, 1)
    await put(service, 2)
    await untilReceived(receiver, 2)
    pass(7000)
    await put(service, 3)
    await untilReceived(receiver, 4)
    assert.deepEqual(idsIn(receiver).slice(0, 3), [1, 2, 1])
  })
})

test('a receiver that was away for a minute gets every event once, and no person has to do anything', async (t) => {
  const [service, receiver, pass] = [await withService(t, LOCAL), await startReceiver(t), movableTime(t)]
  const { id } = await createdWebhook(service, { url: receiver.url })
  await receiver.stop()
  for (const plant of [1, 2, 3]) await put(service, plant)
  await untilUnanswered(service, 3)
  // The retries after 5 and after 30 seconds. Each change makes the service look at its clock.
  pass(7000)
  await put(service, 4)
  await untilUnanswered(service, 7)
  pass(37_000)
  await put(service, 5)
  await untilUnanswered(service, 12)
  await receiver.restart()
  pass(16_000)
  await put(service, 6)
  await untilReceived(receiver, 6)
  assert.deepEqual(idsIn(receiver).toSorted(), [1, 2, 3, 4, 5, 6])
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
  await importMany(service.store, 300, (i) => plant(BigInt(i)))
  for (let change = 0; receiver.received.length < 300; change++) {
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
    await importMany(service.store, 500, (i) => plant(BigInt(i)))
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

/**
 * A webhook whose receiver answers each request by a status, after its first attempt. `pass` lets time pass, in
 * milliseconds, by all clocks, and `set` sets the wall clock while no time passes.
 */
async function attempted(t: TestContext, status: number, config = CONFIG) {
  const hooks = await Hooks.open(t)
  const receiver = await startReceiver(t, { respond: withStatus(status) })
  const [run, set] = [movableTime(t), movableClock(t)]
  const id = await hooks.create(receiver.url)
  const deliverer = hooks.deliver({}, { config })
  await hooks.put(1)
  await hooks.untilStored(id, 1)
  const pass = (time: number) => {
    set(time)
    run(time)
  }
  return { hooks, receiver, id, deliverer, pass, set }
}

const BRIEF = { ...CONFIG, webhookGiveUp: 60_000 }
const BACK = -2 * 3_600_000
/** More than a webhook retries by default, and less than the log and the attempts are kept. */
const AHEAD = 6 * 86_400_000

suite('a webhook waits for as long as it should', () => {
  for (const [what, step, status] of [
    ['back by hours', BACK, 503],
    ['ahead by days, for which it does not give up', AHEAD, 500],
  ] as const) {
    test(`while the wall clock is set ${what}`, async (t) => {
      const { hooks, id, pass, set } = await attempted(t, status)
      set(step)
      pass(7000)
      const [{ nextAttempt = '' } = assert.fail()] = await hooks.untilStored(id, 2)
      const minutes = (Date.parse(nextAttempt) - Date.now()) / 60_000
      assert.ok(Math.abs(minutes - 0.5) < 0.2, 'the next attempt is told by the wall clock')
      assert.equal((await hooks.stored(id)).webhook.state, 'active')
    })
  }

  for (const [what, step, restarts] of [
    ['back by hours, and the service starts again', BACK, true],
    ['ahead by days', AHEAD, false],
  ] as const) {
    test(`beside others that are delivered while the wall clock is set ${what}`, async (t) => {
      const { hooks, receiver, deliverer, pass, set } = await attempted(t, 503)
      if (restarts) await deliverer.close()
      set(step)
      const present = restarts ? hooks.deliver() : deliverer
      const other = await startReceiver(t)
      await hooks.create(other.url)
      present.changed()
      await until(async () => {
        await hooks.put(2 + other.received.length)
        return other.received.length > 0
      }, 'the other webhook gets nothing')
      assert.equal(receiver.received.length, 1, 'it waits until 5 s are over')
      pass(7000)
      await untilReceived(receiver, 2)
    })
  }
})

suite('a webhook gives up after days of attempts', () => {
  test('in which nothing was delivered, and not because one event fails beside others', async (t) => {
    const { hooks, receiver, id, pass } = await attempted(t, 500, BRIEF)
    receiver.respond = (response, one) => response.writeHead(plantIn(one).id === 1 ? 500 : 204).end()
    // The attempts, the last of which comes after the minute, each before another event.
    for (const [i, seconds] of [0, 7, 37, 370].entries()) {
      pass(seconds * 1000)
      await hooks.untilStored(id, 1 + 2 * i)
      await hooks.put(2 + i)
      await hooks.untilStored(id, 2 + 2 * i)
    }
    assert.equal(idsIn(receiver).filter((each) => each === 1).length, 4)
    assert.equal((await hooks.stored(id)).webhook.state, 'active')
  })

  test('and not because it is set ahead while the service is down, but after as many attempts as fit', async (t) => {
    const { hooks, receiver, id, deliverer, pass, set } = await attempted(t, 500, BRIEF)
    await deliverer.close()
    set(AHEAD)
    hooks.deliver({}, { config: BRIEF })
    await hooks.untilStored(id, 2)
    // At the start, after 5 and 30 seconds, and after the minute.
    for (const [attempts, seconds] of [
      [3, 37],
      [4, 370],
    ] as const) {
      assert.equal((await hooks.stored(id)).webhook.state, 'active')
      pass(seconds * 1000)
      await hooks.untilStored(id, attempts)
    }
    await until(async () => (await hooks.stored(id)).webhook.state === 'failed', 'it does not give up')
    assert.equal((await hooks.stored(id)).webhook.reason, 'gave-up')
    assert.equal(receiver.received.length, 4)
  })
})
