import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { suite, type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Webhook } from '../../../src/domain/webhook.ts'
import { LEASE_TIME, type WebhookSave } from '../../../src/domain/webhook-store.ts'
import { Share } from '../../../src/webhooks/share.ts'
import { logOf } from '../../support/change-entries.ts'
import { cleanUp } from '../../support/clean-up.ts'
import { movableTime } from '../../support/clock.ts'
import { CONFIG, Hooks } from '../../support/deliverer.ts'
import { importRows } from '../../support/full-plants.ts'
import { send } from '../../support/load.ts'
import { openNew, openStore } from '../../support/open-postgres.ts'
import { newDatabase, query } from '../../support/postgres.ts'
import { serveStore } from '../../support/process.ts'
import { OK, startReceiver, type TestReceiver } from '../../support/receiver.ts'
import { plant } from '../../support/store-under-test.ts'
import { settled, until } from '../../support/until.ts'
import { idsIn, untilReceived } from '../../support/webhooks.ts'
import { attempt, progress, webhook } from '../../webhook-suite.ts'

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
    const [first, second, ...later] = idsIn(receiver)
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

test('a webhook that has given everything back gets as much again', () => {
  const share = new Share(256)
  const taker = { retry: () => {} }
  const rounds = Array.from({ length: 3 }, () => {
    let taken = 0
    while (share.take(taker)) taken++
    for (let i = 0; i < taken; i++) share.give(taker)
    return taken
  })
  assert.equal(share.used, 0)
  assert.ok((rounds[0] ?? 0) > 1, String(rounds))
  assert.equal(new Set(rounds).size, 1, String(rounds))
})

const EVENTS = 10_000

test('two instances send each event once, and after a kill of one the other goes on', async (t) => {
  const url = await newDatabase(t)
  const flags = ['--webhook-allow', 'loopback']
  const [one, other] = [await serveStore(t, url, flags), await serveStore(t, url, flags)]
  const receiver = await startReceiver(t)
  const body = JSON.stringify({ url: receiver.url, concurrency: 32 })
  assert.equal((await send('POST', `${one.address}/webhooks`, { body })).status, 201)
  const add = (address: string, first: number, count: number) =>
    importRows(
      address,
      Array.from({ length: count }, (_, i) => plant(BigInt(first + i))),
    )
  await Promise.all([add(one.address, 1, EVENTS / 2), add(other.address, EVENTS, EVENTS / 2)])
  const ids = () => new Set(receiver.received.map((each) => each.headers['webhook-id']))
  await until(
    () => ids().size >= EVENTS,
    () => `${ids().size} of ${EVENTS} events came`,
  )
  assert.equal(receiver.received.length, EVENTS, 'no event comes twice')
  await one.program.kill()
  const killedAt = performance.now()
  await add(other.address, 10 * EVENTS, 100)
  await until(() => ids().size >= EVENTS + 100, 'the other instance does not go on')
  assert.ok(performance.now() - killedAt < 30_000)
})

suite('PostgreSQL: the lease of a webhook', () => {
  test('keeps others from it, and from storing its progress', async (t) => {
    const { store } = await openNew(t)
    const { webhooks } = store
    const { id } = (await webhooks.create(webhook(), progress('a'), 100)) as Webhook
    const save = (holder: string, position: string) =>
      webhooks.save(holder, [{ id, version: 1, progress: progress(position), attempts: [attempt(position)] }])
    const stored = async () => [
      (await webhooks.list(id))[0]?.progress.position,
      (await webhooks.attempts(id, 10)).map(({ event }) => event),
    ]
    assert.deepEqual(await webhooks.lease('one'), [id])
    assert.deepEqual(await webhooks.lease('other'), [])
    assert.deepEqual(await save('one', 'b'), [])
    assert.deepEqual(await save('other', 'c'), [id])
    assert.deepEqual(await stored(), ['b', ['b']])
    await webhooks.release('other')
    assert.deepEqual(await webhooks.lease('other'), [], 'a release ends the own leases alone')
    await webhooks.release('one')
    assert.deepEqual(await webhooks.lease('other'), [id])
    assert.deepEqual(await save('one', 'd'), [id])
    assert.deepEqual(await stored(), ['b', ['b']])
  })

  test('ends by itself, also where the clock of the server was set back by hours', async (t) => {
    const url = await newDatabase(t)
    const { webhooks } = await openStore(t, url)
    const { id } = (await webhooks.create(webhook(), progress('a'), 100)) as Webhook
    await webhooks.lease('one')
    const pass = (time: number) => query(url, `UPDATE webhooks SET leased_until = leased_until - ${time}`)
    await pass(LEASE_TIME / 2)
    assert.deepEqual(await webhooks.lease('other'), [])
    await pass(LEASE_TIME / 2 + 1)
    assert.deepEqual(await webhooks.lease('other'), [id])
    await pass(-5000)
    assert.deepEqual(await webhooks.lease('one'), [], 'a small step takes no lease away')
    await pass(-2 * 3_600_000)
    assert.deepEqual(await webhooks.lease('one'), [id])
    assert.deepEqual(await webhooks.lease('other'), [])
  })
})
