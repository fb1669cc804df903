import assert from 'node:assert/strict'
import { suite, type TestContext, test } from 'node:test'
import type { Deliverer } from '../../src/webhooks/deliverer.ts'
import { movableTime } from '../support/clock.ts'
import { CONFIG, Hooks } from '../support/deliverer.ts'
import { startReceiver, type TestReceiver } from '../support/receiver.ts'
import { until } from '../support/until.ts'
import { untilReceived } from '../support/webhooks.ts'

const HOUR = 3_600_000

interface Scene {
  readonly hooks: Hooks
  readonly receiver: TestReceiver
  /** Lets time pass, in milliseconds, by all clocks. */
  readonly pass: (time: number) => void
  /** Sets the wall clock, by milliseconds, while no time passes. */
  readonly set: (step: number) => void
}

/** A receiver that answers each request with a status. */
async function withClocks(t: TestContext, status: number): Promise<Scene> {
  const hooks = await Hooks.open(t)
  const receiver = await startReceiver(t, { respond: (response) => response.writeHead(status).end() })
  const wall = Date.now.bind(Date)
  const run = movableTime(t)
  let ahead = 0
  t.mock.method(Date, 'now', () => wall() + ahead)
  const set = (step: number) => {
    ahead += step
  }
  return {
    hooks,
    receiver,
    set,
    pass(time) {
      set(time)
      run(time)
    },
  }
}

/** More than a webhook retries by default, and less than the log and the attempts are kept. */
const AHEAD = 6 * 86_400_000

const minutesUntil = (time = ''): number => (Date.parse(time) - Date.now()) / 60_000

/** Checks that the webhook, whose first attempt has failed, waits until 5 s are over. */
async function assertWaits({ hooks, receiver, pass }: Scene, deliverer: Deliverer): Promise<void> {
  const other = await startReceiver(hooks.t)
  await hooks.create(other.url)
  deliverer.changed()
  await until(async () => {
    await hooks.put(2 + other.received.length)
    return other.received.length > 0
  }, 'the other webhook gets nothing')
  assert.equal(receiver.received.length, 1)
  pass(7000)
  await untilReceived(receiver, 2)
}

suite('a webhook waits for as long as it should', () => {
  test('while the wall clock is set back by hours', async (t) => {
    const { hooks, receiver, pass, set } = await withClocks(t, 503)
    const id = await hooks.create(receiver.url)
    hooks.deliver()
    await hooks.put(1)
    await hooks.untilStored(id, 1)
    set(-2 * HOUR)
    pass(7000)
    const [second] = await hooks.untilStored(id, 2)
    assert.ok(Math.abs(minutesUntil(second?.nextAttempt) - 0.5) < 0.2, 'the next attempt is told by the wall clock')
  })

  test('while the wall clock is set back by hours, and the service starts again', async (t) => {
    const scene = await withClocks(t, 503)
    const { hooks, receiver, set } = scene
    const id = await hooks.create(receiver.url)
    const first = hooks.deliver()
    await hooks.put(1)
    await hooks.untilStored(id, 1)
    await first.close()
    set(-2 * HOUR)
    const deliverer = hooks.deliver()
    await assertWaits(scene, deliverer)
  })

  test('while the wall clock is set ahead by days', async (t) => {
    const scene = await withClocks(t, 503)
    const { hooks, receiver, set } = scene
    const id = await hooks.create(receiver.url)
    const deliverer = hooks.deliver()
    await hooks.put(1)
    await hooks.untilStored(id, 1)
    set(AHEAD)
    await assertWaits(scene, deliverer)
  })
})

suite('a webhook gives up after days of attempts', () => {
  test('and not because the wall clock is set ahead', async (t) => {
    const { hooks, receiver, pass, set } = await withClocks(t, 500)
    const id = await hooks.create(receiver.url)
    hooks.deliver()
    await hooks.put(1)
    await hooks.untilStored(id, 1)
    set(AHEAD)
    pass(7000)
    const [second] = await hooks.untilStored(id, 2)
    assert.ok(Math.abs(minutesUntil(second?.nextAttempt) - 0.5) < 0.2)
    assert.equal((await hooks.stored(id)).webhook.state, 'active')
  })

  test('in which nothing was delivered, and not because one event fails beside others', async (t) => {
    const { hooks, receiver, pass } = await withClocks(t, 204)
    const isFirst = (body: string) => (JSON.parse(body) as { data: { id: number } }).data.id === 1
    receiver.respond = (response, { body }) => response.writeHead(isFirst(body) ? 500 : 204).end()
    const id = await hooks.create(receiver.url)
    hooks.deliver({}, { config: { ...CONFIG, webhookGiveUp: 60_000 } })
    await hooks.put(1)
    // The attempts, the last of which comes after the minute, each before another event.
    for (const [i, seconds] of [0, 7, 37, 370].entries()) {
      pass(seconds * 1000)
      await hooks.untilStored(id, 1 + 2 * i)
      await hooks.put(2 + i)
      await hooks.untilStored(id, 2 + 2 * i)
    }
    assert.equal(receiver.received.filter(({ body }) => isFirst(body)).length, 4)
    assert.equal((await hooks.stored(id)).webhook.state, 'active')
  })

  test('and not because it is set ahead while the service is down, but after as many attempts as fit', async (t) => {
    const { hooks, receiver, pass, set } = await withClocks(t, 500)
    const id = await hooks.create(receiver.url)
    const options = { config: { ...CONFIG, webhookGiveUp: 60_000 } }
    const first = hooks.deliver({}, options)
    await hooks.put(1)
    await hooks.untilStored(id, 1)
    await first.close()
    set(AHEAD)
    hooks.deliver({}, options)
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
