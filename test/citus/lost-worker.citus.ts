import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { CITUS_BUILD_VARIABLE, CITUS_VARIABLE, CitusCluster } from '../support/citus.ts'
import { cleanUp } from '../support/clean-up.ts'
import { newDatabase } from '../support/postgres.ts'
import { serveStore, TOKEN } from '../support/process.ts'

interface Health {
  readonly status: string
  readonly shards: number
  readonly shardsOutOfReach: number
}

/** Milliseconds in which everything must be well again after the worker's return. */
const RECOVERY = 5000
const CLIENTS = 64

suite('while a worker is lost', () => {
  test('plants on other workers are created, read and changed, and everything is well soon after it is back', async (t) => {
    const cluster = await CitusCluster.create(process.env[CITUS_BUILD_VARIABLE] ?? '')
    cleanUp(t, () => cluster.close())
    process.env[CITUS_VARIABLE] = cluster.url()
    const url = await newDatabase(() => {})
    const { address } = await serveStore(t, url)
    const create = (id: number) => send('POST', `${address}/plants`, `{"id":${id},"name":"plant ${id}"}`)
    const first = await statuses(0, create)
    assert.deepEqual(Object.keys(first), ['200'])
    assert.deepEqual(await health(address), { status: 'ready', shards: 4, shardsOutOfReach: 0 })

    const [worker] = cluster.workers
    await worker?.stop('SIGKILL')
    // The first requests find out.
    await statuses(10_000, create)
    const living: number[] = []
    const told = new Set<string>()
    await each(20_000, async (id) => {
      const response = await create(id)
      const body = await response.text()
      if (response.status === 200) living.push(id)
      else told.add(body)
    })
    assert.ok(living.length > 300 && living.length < 700, `${living.length} of 1000 were created`)
    assert.deepEqual(
      [...told].map((body) => (JSON.parse(body) as { error: number }).error),
      [50301],
    )
    assert.match([...told][0] ?? '', /a part of the store is out of reach/)
    for (const id of living.slice(0, 100)) {
      const path = `${address}/plants/${id}`
      assert.equal((await send('GET', path)).status, 200)
      assert.equal((await send('PATCH', path, '{"tag":"changed"}')).status, 200)
      assert.equal((await send('PUT', path, '{"name":"changed"}')).status, 200)
    }
    for (const path of ['/plants', '/plants?q=plant', '/tags']) {
      const response = await send('GET', `${address}${path}`)
      const body = await response.text()
      assert.equal(response.status, 503, path)
      assert.match(body, /"error":50301,"message":"a part of the store is out of reach/)
    }
    assert.deepEqual(await health(address), { status: 'ready', shards: 4, shardsOutOfReach: 2 })
    const metrics = await (await send('GET', `${address}/metrics`)).text()
    assert.match(metrics, /^plantstore_shards_out_of_reach 2$/m)

    await worker?.start()
    const back = performance.now()
    for (let id = 30_000; ; id += 100) {
      const found = await statuses(id, create, 100)
      if (Object.keys(found).join() === '200') break
      assert.ok(performance.now() - back < RECOVERY, `after ${RECOVERY} ms: ${JSON.stringify(found)}`)
      await sleep(100)
    }
    t.diagnostic(`all was well ${Math.round(performance.now() - back)} ms after the worker was back`)
    assert.equal((await send('GET', `${address}/plants?q=plant`)).status, 200)
    assert.deepEqual(await health(address), { status: 'ready', shards: 4, shardsOutOfReach: 0 })
  })
})

async function health(address: string): Promise<Health> {
  // A check is used for a second.
  await sleep(1100)
  return (await (await send('GET', `${address}/health/ready`)).json()) as Health
}

/** Runs the work for consecutive ids, by many clients at once. */
async function each(from: number, work: (id: number) => Promise<void>, count = 1000): Promise<void> {
  let next = from
  const client = async () => {
    while (next < from + count) await work(next++)
  }
  await Promise.all(Array.from({ length: CLIENTS }, client))
}

/** How often each status came. */
async function statuses(
  from: number,
  create: (id: number) => Promise<Response>,
  count = 1000,
): Promise<Record<string, number>> {
  const found: Record<string, number> = {}
  const note = async (id: number) => {
    const response = await create(id)
    await response.arrayBuffer()
    found[response.status] = (found[response.status] ?? 0) + 1
  }
  await each(from, note, count)
  return found
}

function send(method: string, url: string, body?: string): Promise<Response> {
  const headers = { Authorization: `Bearer ${TOKEN}`, 'Content-Type': 'application/json' }
  return fetch(url, { method, headers, ...(body === undefined ? {} : { body }) })
}
