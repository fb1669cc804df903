import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { suite, type TestContext, test } from 'node:test'
import type { WebhookSave } from '../../../src/domain/webhook-store.ts'
import { logOf } from '../../support/change-entries.ts'
import { cleanUp } from '../../support/clean-up.ts'
import { movableTime } from '../../support/clock.ts'
import { CONFIG, Hooks } from '../../support/deliverer.ts'
import { OK, startReceiver, type TestReceiver } from '../../support/receiver.ts'
import { settled, until } from '../../support/until.ts'
import { untilReceived } from '../../support/webhooks.ts'

const plantsIn = ({ received }: TestReceiver): number[] =>
  received.map(({ body }) => (JSON.parse(body) as { data: { id: number } }).data.id)

suite('of the events that a receiver has answered', () => {
  test('at most 64 are not stored: while the store takes none, the webhook waits', async (t) => {
    const hooks = await Hooks.open(t)
    const [receiver, other] = [await startReceiver(t), await startReceiver(t)]
    const ids = [
      await hooks.create(receiver.url, { tags: ['many'], concurrency: 1 }),
      await hooks.create(other.url, { tags: ['few'] }),
    ]
    const { webhooks } = hooks.store
    const open = Promise.withResolvers<void>()
    const save = async (holder: string, saves: readonly WebhookSave[]) => {
      await open.promise
      return webhooks.save(holder, saves)
    }
    hooks.deliver({ save })
    cleanUp(t, open.resolve)
    for (let i = 0; i < 100; i++) await hooks.put(i, 'many')
    await untilReceived(receiver, 64)
    for (let i = 0; i < 10; i++) await hooks.put(1000 + i, 'few')
    await untilReceived(other, 10)
    assert.equal(receiver.received.length, 64)
    open.resolve()
    await untilReceived(receiver, 100)
    for (const [i, count] of [100, 10].entries()) await hooks.untilStored(ids[i] ?? '', count)
  })

  test('none comes again after a stop, for which those under way have two seconds', async (t) => {
    const hooks = await Hooks.open(t)
    const { receiver, answers } = await hangingReceiver(t)
    const id = await hooks.create(receiver.url)
    const deliverer = hooks.deliver()
    for (const plant of [1, 2]) await hooks.put(plant)
    await untilReceived(receiver, 2)
    const end = endOfStop(t)
    const closed = deliverer.close()
    const cut = await settled(end, 'those under way are cut off at once')
    // One receiver answers in time, and the other one does not.
    answers[0]?.writeHead(204).end()
    await until(() => answers[0]?.writableFinished === true, 'the answer is not written')
    cut()
    await closed
    const attempts = await hooks.untilStored(id, 2)
    assert.deepEqual(attempts.map(({ failure }) => failure).toSorted(), [
      'it was stopped before an answer came',
      undefined,
    ])
    receiver.respond = OK
    hooks.deliver()
    await hooks.put(3)
    await untilReceived(receiver, 4)
    const [first, second, ...later] = plantsIn(receiver)
    assert.deepEqual(later, [second, 3].toSorted())
    assert.notEqual(first, second)
  })
})

/** A receiver that leaves its answers to the test. */
async function hangingReceiver(t: TestContext): Promise<{ receiver: TestReceiver; answers: ServerResponse[] }> {
  const answers: ServerResponse[] = []
  const receiver = await startReceiver(t, { respond: (response) => answers.push(response) })
  return { receiver, answers }
}

/** Waits for the stop of a delivery. @returns what ends its two seconds */
async function endOfStop(t: TestContext): Promise<() => void> {
  const stopped = Promise.withResolvers<() => void>()
  const start = setTimeout
  t.mock.method(globalThis, 'setTimeout', (...given: Parameters<typeof setTimeout>) => {
    const [work, time] = given
    if (time === 2000) stopped.resolve(work)
    return start(...given)
  })
  return stopped.promise
}

test('a webhook whose filter finds nothing keeps its place at the end of the log', async (t) => {
  const hooks = await Hooks.open(t)
  const receiver = await startReceiver(t)
  const move = movableTime(t)
  const id = await hooks.create(receiver.url, { tags: ['none'] })
  hooks.deliver()
  for (let i = 0; i < 10; i++) await hooks.put(i)
  const end = await logOf(hooks.store).end()
  await until(async () => {
    move(1000)
    return (await hooks.stored(id)).progress.position >= end
  }, 'its place stays behind, until the log no longer has it')
  assert.equal(receiver.received.length, 0)
})

test('a delivery lets the time to give up begin anew', async (t) => {
  const hooks = await Hooks.open(t)
  const receiver = await startReceiver(t)
  const move = movableTime(t)
  const id = await hooks.create(receiver.url)
  hooks.deliver({}, { config: { ...CONFIG, webhookGiveUp: 60_000 } })
  const fail = (response: ServerResponse) => response.writeHead(500, { 'Retry-After': '1' }).end()
  receiver.respond = fail
  await hooks.put(1)
  await hooks.untilStored(id, 1)
  receiver.respond = OK
  move(7000)
  await hooks.untilStored(id, 2)
  move(3_600_000)
  receiver.respond = fail
  await hooks.put(2)
  // More attempts than would be enough to give up.
  for (let attempts = 3; attempts < 9; attempts++) {
    await hooks.untilStored(id, attempts)
    move(1500)
  }
  assert.equal((await hooks.stored(id)).webhook.state, 'active')
  move(60_000)
  await until(async () => (await hooks.stored(id)).webhook.state === 'failed', 'it does not give up')
})
