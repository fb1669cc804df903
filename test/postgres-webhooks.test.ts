import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cleanUp } from './support/clean-up.ts'
import { newDatabase } from './support/postgres.ts'
import { serveStore, TOKEN } from './support/process.ts'
import { startReceiver } from './support/receiver.ts'
import { until } from './support/until.ts'

const EVENTS = 10_000

test('two instances send each event once, and after a kill of one the other goes on', async (t) => {
  const url = await newDatabase((work) => cleanUp(t, work))
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
