import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import type { Webhook } from '../../src/domain/webhook.ts'
import { LEASE_TIME } from '../../src/domain/webhook-store.ts'
import { openNew, openStore } from '../support/open-postgres.ts'
import { newDatabase, query } from '../support/postgres.ts'
import { serveStore, TOKEN } from '../support/process.ts'
import { startReceiver } from '../support/receiver.ts'
import { until } from '../support/until.ts'
import { attempt, progress, webhook } from '../webhook-suite.ts'

const EVENTS = 10_000

test('two instances send each event once, and after a kill of one the other goes on', async (t) => {
  const url = await newDatabase(t)
  const flags = ['--webhook-allow', 'loopback']
  const [one, other] = [await serveStore(t, url, flags), await serveStore(t, url, flags)]
  const receiver = await startReceiver(t)
  const headers = { Authorization: `Bearer ${TOKEN}`, 'Content-Type': 'application/json' }
  const body = JSON.stringify({ url: receiver.url, concurrency: 32 })
  const created = await fetch(`${one.address}/webhooks`, { method: 'POST', headers, body })
  assert.equal(created.status, 201)
  const importRows = async (address: string, first: number, count: number) => {
    const rows = Array.from({ length: count }, (_, i) => `{"id":${first + i},"name":"a"}`).join('\n')
    const type = { ...headers, 'Content-Type': 'application/x-ndjson' }
    const answer = await fetch(`${address}/plants/import`, { method: 'POST', headers: type, body: rows })
    assert.equal(answer.status, 200)
  }
  await Promise.all([importRows(one.address, 1, EVENTS / 2), importRows(other.address, EVENTS, EVENTS / 2)])
  const ids = () => new Set(receiver.received.map((each) => each.headers['webhook-id']))
  await until(
    () => ids().size >= EVENTS,
    () => `${ids().size} of ${EVENTS} events came`,
  )
  assert.equal(receiver.received.length, EVENTS, 'no event comes twice')
  await one.program.kill()
  const killedAt = performance.now()
  await importRows(other.address, 10 * EVENTS, 100)
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
