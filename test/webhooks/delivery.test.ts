import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import type { Webhook } from '../../client/src/contract.generated.ts'
import { readPosition, writePosition } from '../../src/domain/changes.ts'
import { pluck } from '../support/pluck.ts'
import { OK, startReceiver, type TestReceiver, withStatus } from '../support/receiver.ts'
import { emptyService, errorOf, messageOf, type Service, withService } from '../support/service.ts'
import { onEmpty, onService } from '../support/service-tests.ts'
import { importMany } from '../support/store-calls.ts'
import { plant } from '../support/store-under-test.ts'
import { until } from '../support/until.ts'
import {
  createdWebhook,
  deliveriesOf,
  idsIn,
  LOCAL,
  patchWebhook,
  plantIn,
  startWebhook,
  untilListed,
  untilReceived,
  untilState,
  webhookOf,
} from '../support/webhooks.ts'

const namesOf = ({ received }: TestReceiver, id: number): string[] =>
  received.map(plantIn).flatMap((one) => (one.id === id ? [one.name] : []))

const put = (service: Service, id: number, name: string, tag?: string) =>
  service.sendJson('PUT', `/plants/${id}`, { name, ...(tag && { tag }) })

/** Imports plants with the ids from `first` on, with one commit. */
const importPlants = (service: Service, first: number, count: number) =>
  importMany(service.store, count, (i) => plant(BigInt(first + i)))

// Side by side, because they wait for retries.
suite('the events of one plant', { concurrency: true }, () => {
  onService('come in order, never two at once, while those of others overlap', LOCAL, async (service, t) => {
    const open = new Map<number, number>()
    let most = 0
    const faults: string[] = []
    const { receiver } = await startWebhook(service, t, {
      concurrency: 8,
      respond(response, received) {
        const { id } = plantIn(received)
        open.set(id, (open.get(id) ?? 0) + 1)
        if ((open.get(id) ?? 0) > 1) faults.push(`two events of ${id} at once`)
        most = Math.max(most, [...open.values()].filter((count) => count > 0).length)
        setTimeout(
          () => {
            open.set(id, (open.get(id) ?? 0) - 1)
            response.writeHead(204).end()
          },
          (id % 3) * 5,
        )
      },
    })
    const writes: Promise<unknown>[] = []
    for (let round = 0; round < 10; round++) for (let id = 1; id <= 20; id++) writes.push(put(service, id, `r${round}`))
    await Promise.all(writes)
    await untilReceived(receiver, 200)
    assert.deepEqual(faults, [])
    assert.ok(most > 1 && most <= 8, `${most} plants at once`)
    const order = await service.store.changes?.read({ after: undefined, limit: 1000, tags: [] })
    for (let id = 1; id <= 20; id++) {
      const wanted = order?.entries.filter(({ plant }) => plant?.id === BigInt(id)).map(({ plant }) => plant?.name)
      assert.deepEqual(namesOf(receiver, id), wanted)
    }
  })

  onService('wait behind one that fails, alone, until 64 events wait', LOCAL, async (service, t) => {
    const { id, receiver } = await startWebhook(service, t, {
      respond: (response, received) => response.writeHead(plantIn(received).id === 1 ? 500 : 204).end(),
    })
    await put(service, 1, 'first')
    await untilReceived(receiver, 1)
    await put(service, 1, 'second')
    await importPlants(service, 100, 100)
    await until(() => idsIn(receiver).filter((each) => each >= 100).length >= 100, 'others wait')
    assert.ok(!namesOf(receiver, 1).includes('second'))
    for (let i = 0; i < 100; i++) await put(service, 1, `n${i}`)
    await importPlants(service, 1000, 50)
    await until(async () => Number((await webhookOf(service, id)).pending) > 64, 'nothing waits')
    const later = () => idsIn(receiver).filter((each) => each >= 1000).length
    assert.equal(later(), 0, 'the webhook waits as a whole')
    receiver.respond = OK
    await patchWebhook(service, id, { state: 'active' })
    await until(() => later() >= 50 && namesOf(receiver, 1).includes('n99'), 'the webhook does not go on')
    const names = namesOf(receiver, 1)
    assert.deepEqual(names.slice(names.lastIndexOf('first')), [
      'first',
      'second',
      ...Array.from({ length: 100 }, (_, i) => `n${i}`),
    ])
  })
})

suite('a failed attempt', { concurrency: true }, () => {
  onService('is repeated after 5 seconds, give or take a fifth, with the same id', LOCAL, async (service, t) => {
    let failures = 2
    const { id, receiver } = await startWebhook(service, t, {
      respond: (response) => response.writeHead(failures-- > 1 ? 500 : 204).end('sorry'),
    })
    await put(service, 1, 'a')
    await untilReceived(receiver, 2)
    const [first, second] = receiver.received
    assert.equal(first?.headers['webhook-id'], second?.headers['webhook-id'])
    await until(async () => (await deliveriesOf(service, id)).length === 2, 'the attempts are not listed')
    const [delivered, failed] = await deliveriesOf(service, id)
    assert.deepEqual([failed?.status, failed?.failure, failed?.answer], [500, 'the status 500', 'sorry'])
    const pause = Date.parse(failed?.nextAttempt ?? '') - Date.parse(failed?.time ?? '')
    assert.ok(pause >= 4000 && pause < 6000 + (failed?.durationMs ?? 0) + 1000, `${pause} ms`)
    assert.equal(delivered?.status, 204)
    // The clock of the process and the one of the wall round differently.
    assert.ok(Date.parse(delivered?.time ?? '') + 2 >= Date.parse(failed?.nextAttempt ?? ''))
  })

  onService('by 410 ends the webhook, which keeps its place', LOCAL, async (service, t) => {
    const { id, receiver } = await startWebhook(service, t, { respond: withStatus(410) })
    await put(service, 1, 'a')
    await untilState(service, id, 'failed')
    const { reason, pending } = await webhookOf(service, id)
    assert.deepEqual([reason, pending], ['gone', 1])
    await put(service, 2, 'b')
    receiver.respond = OK
    assert.equal(receiver.received.length, 1)
    await patchWebhook(service, id, { state: 'active' })
    await untilReceived(receiver, 3)
    assert.deepEqual(idsIn(receiver).sort(), [1, 1, 2])
  })

  onService('by 410 is listed, also for those that come while others are stored', LOCAL, async (service, t) => {
    const receiver = await startReceiver(t, { respond: withStatus(410) })
    const webhooks: { readonly id: string }[] = []
    for (let i = 0; i < 50; i++) webhooks.push(await createdWebhook(service, { url: receiver.url }))
    await put(service, 1, 'a')
    for (const { id } of webhooks) await untilState(service, id, 'failed')
    for (const { id } of webhooks) assert.deepEqual(pluck(await deliveriesOf(service, id), 'status'), [410])
  })

  test('ends the webhook once nothing was delivered for the time to give up', async (t) => {
    const service = await withService(t, { ...LOCAL, webhookGiveUp: '1s' })
    const { id, receiver } = await startWebhook(service, t, { respond: withStatus(500) })
    await put(service, 1, 'a')
    await untilState(service, id, 'failed')
    assert.equal((await webhookOf(service, id)).reason, 'gave-up')
    assert.equal(receiver.received.length, 2)
    // The last attempt does not wait for its turn, 5 s after the first one.
    const [last, first] = (await deliveriesOf(service, id)).map(({ time }) => Date.parse(time))
    assert.ok((last ?? 0) - (first ?? 0) < 3500)
    receiver.respond = OK
    await patchWebhook(service, id, { state: 'active' })
    await untilReceived(receiver, 3)
    assert.equal((await webhookOf(service, id)).state, 'active')
  })
})

onService('a webhook whose place has left the log fails, and skips nothing silently', LOCAL, async (service, t) => {
  const { id, receiver } = await startWebhook(service, t)
  const [stored] = await service.store.webhooks.list()
  assert.ok(stored)
  const other = stored.progress.position.replace(/^./, (digit) => (digit === '0' ? '1' : '0'))
  const position = writePosition({ ...readPosition(stored.progress.position), history: other.slice(0, 12) })
  await service.store.webhooks.change(id, stored.version, stored.webhook, { ...stored.progress, position })
  await untilState(service, id, 'failed')
  assert.equal((await webhookOf(service, id)).reason, 'behind')
  await put(service, 1, 'a')
  const answer = await service.sendJson('POST', `/webhooks/${id}/redeliver`, { after: stored.progress.position })
  assert.equal(answer.status, 200, answer.body)
  await patchWebhook(service, id, { state: 'active' })
  await untilReceived(receiver, 1)
})

onService('10 receivers that hang delay none of 20 others', LOCAL, async (service, t) => {
  const [hanging, live] = [await startReceiver(t, { respond: () => {} }), await startReceiver(t)]
  for (let i = 0; i < 30; i++) {
    const url = i % 3 === 0 ? hanging.url : `${live.url}/${i}`
    await createdWebhook(service, { url, concurrency: 32 })
  }
  await importPlants(service, 1, 50)
  await untilReceived(live, 20 * 50)
  const before = hanging.received.length
  assert.ok(before <= 256, `${before} requests hang`)
  await importPlants(service, 1000, 20)
  await untilReceived(live, 20 * 70)
  const { body } = await service.send('GET', '/metrics')
  const used = Number(/bound_used\{bound="[^"]*webhook-?requests"\} (\d+)/i.exec(body)?.[1])
  assert.ok(used > 0 && used <= 256, `${used} requests`)
})

suite('a webhook', () => {
  onEmpty('delivers again from a position, up to another one', LOCAL, async (service, t) => {
    const { id, position, receiver } = await startWebhook(service, t, { concurrency: 1 })
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
    receiver.respond = (response, one) => response.writeHead(failing.has(plantIn(one).id) ? 500 : 204).end()
    const { id, position } = await createdWebhook(service, { url: receiver.url })
    for (let i = 1; i <= 5; i++) await service.sendJson('POST', '/plants', { id: i, name: 'a' })
    await untilListed(service, id, 5)
    const events = new Map(receiver.received.map((one) => [plantIn(one).id, one.headers['webhook-id']]))
    const redeliver = async (body: unknown) => {
      const answer = await service.sendJson('POST', `/webhooks/${id}/redeliver`, body)
      assert.equal(answer.status, 200, answer.body)
      return answer.json as Webhook
    }
    assert.equal((await redeliver({ after: events.get(5), until: events.get(5) })).position, position)
    failing.clear()
    await redeliver({ after: position, until: events.get(1) })
    const count = (id: number) => idsIn(receiver).filter((each) => each === id).length
    await until(
      () => [1, 2, 3].every((id) => count(id) >= 2),
      () => `plants ${idsIn(receiver)}`,
    )
    // Positions are in the order of the log, as texts.
    await until(async () => (await webhookOf(service, id)).position >= String(events.get(5)), 'something waits')
  })
})

suite('a webhook whose filter changes', () => {
  test('delivers the events that wait for their next attempt, and those between them that only the new filter has', async (t) => {
    const [service, receiver] = [await emptyService(LOCAL), await startReceiver(t)]
    receiver.respond = withStatus(500)
    const { id } = await createdWebhook(service, { url: receiver.url, tags: ['fern'] })
    await put(service, 1, 'a', 'fern')
    await put(service, 2, 'a', 'moss')
    await put(service, 3, 'a', 'fern')
    await untilListed(service, id, 2)
    receiver.received.length = 0
    receiver.respond = OK
    assert.equal((await patchWebhook(service, id, { tags: ['fern', 'moss'] })).status, 200)
    await untilReceived(receiver, 3)
    assert.deepEqual(idsIn(receiver).toSorted(), [1, 2, 3])
  })

  for (const [member, before, after, wanted] of [
    ['types', { types: ['plant.updated', 'plant.deleted'] }, { types: ['plant.created'] }, undefined],
    ['tags', { tags: ['a/1'] }, { tags: ['b/1'] }, 'b/1'],
    ['tagPrefix', { tagPrefix: 'a/' }, { tagPrefix: 'b/' }, 'b/1'],
    ['untagged', { tags: ['a/1'] }, { tags: [], untagged: true }, undefined],
  ] as const) {
    test(`by ${member} while a request is under way gets what the filter before left out behind it`, async (t) => {
      // A service that has just begun: it has stored no place of the webhook but the first.
      const [service, receiver, other] = [await withService(t, LOCAL), await startReceiver(t), await startReceiver(t)]
      await put(service, 1, 'Fern', 'a/1')
      // The first request is never answered.
      receiver.respond = (response) => receiver.received.length > 1 && response.writeHead(204).end()
      const { id } = await createdWebhook(service, { url: receiver.url, ...before })
      await createdWebhook(service, { url: other.url })
      await put(service, 1, 'Moss', 'a/1')
      await untilReceived(receiver, 1)
      await put(service, 2, 'Fern', wanted)
      // Both webhooks read it at once.
      await untilReceived(other, 2)
      assert.equal((await patchWebhook(service, id, after)).status, 200)
      await untilReceived(receiver, 2)
      assert.deepEqual(idsIn(receiver), [1, 2])
    })
  }
})
