import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { CITUS_BUILD_VARIABLE, CITUS_VARIABLE, CitusCluster } from '../support/citus.ts'
import { cleanUp } from '../support/clean-up.ts'
import { createDatabase, query } from '../support/postgres.ts'
import type { PostgresServer } from '../support/postgres-server.ts'
import { run, serveStore, TOKEN } from '../support/process.ts'

/** Milliseconds after which every request must succeed again once the worker is back. */
const RECOVERY = 5000
const CLIENTS = 64

/** The least share of requests for plants on the other worker that succeed meanwhile. */
const SERVED = 0.9
/** The most sessions on the coordinator: those of the pool, and those that the service has given up. */
const MAX_SESSIONS = 20

const OUTAGES = [
  {
    name: 'is down',
    begin: (worker: PostgresServer) => worker.stop('SIGKILL'),
    end: (worker: PostgresServer) => worker.start(),
  },
  {
    name: 'hangs',
    begin: (worker: PostgresServer) => worker.pause(),
    end: (worker: PostgresServer) => worker.resume(),
  },
]

suite('while a worker', () => {
  for (const { name, begin, end } of OUTAGES) {
    test(`${name}, clients create, read and change plants on the other worker, and all plants soon after`, async (t) => {
      const cluster = await CitusCluster.create(process.env[CITUS_BUILD_VARIABLE] ?? '')
      cleanUp(t, () => cluster.close())
      process.env[CITUS_VARIABLE] = cluster.url()
      const url = await createDatabase(() => {})
      const env = { PLANTSTORE_LOG_LEVEL: 'warn' }
      const { program, address } = await serveStore(t, url, ['--store-timeout', '2s'], { env })
      const acknowledged = new Set<number>()
      let longest = 0
      const create = async (id: number) => {
        const startedAt = performance.now()
        const response = await send('POST', `${address}/plants`, `{"id":${id},"name":"plant ${id}"}`)
        longest = Math.max(longest, performance.now() - startedAt)
        if (response.status === 200) acknowledged.add(id)
        return response
      }
      assert.deepEqual(Object.keys(await statuses(0, create)), ['200'])
      assert.equal(await readiness(address), 200)

      const [lost, living] = cluster.workers as [PostgresServer, PostgresServer]
      const reachable = await idsOn(url, living, 20_000, 1000)
      t.diagnostic(`an answer took up to ${Math.round(longest)} ms before`)
      await begin(lost)
      longest = 0
      // The first requests discover the loss.
      await statuses(10_000, create)
      t.diagnostic(`an answer took up to ${Math.round(longest)} ms while the first discovered the loss`)
      longest = 0
      const created = new Set<number>()
      const told = new Set<string>()
      await each(20_000, async (id) => {
        const response = await create(id)
        const body = await response.text()
        if (response.status === 200) created.add(id)
        else told.add(body)
      })
      t.diagnostic(`an answer took up to ${Math.round(longest)} ms afterwards`)
      const share = (ids: ReadonlySet<number>) => reachable.filter((id) => ids.has(id)).length / reachable.length
      t.diagnostic(`${share(created)} of the creates on the other worker were served`)
      assert.ok(share(created) >= SERVED, `${share(created)} were created`)
      const shown = [...told].map((body) => (JSON.parse(body) as { error: number }).error)
      assert.deepEqual(shown, [50301])
      assert.match([...told][0] ?? '', /a part of the store is out of reach/)
      for (const [method, body] of [['GET'], ['PATCH', '{"tag":"changed"}'], ['PUT', '{"name":"changed"}']] as const) {
        const served = new Set<number>()
        const one = async (id: number) => {
          const response = await send(method, `${address}/plants/${id}`, body)
          await response.arrayBuffer()
          if (response.status === 200) served.add(id)
        }
        await each(20_000, one)
        assert.ok(share(served) >= SERVED, `${share(served)} were served by ${method}`)
      }
      for (const path of ['/plants', '/plants?q=plant', '/tags', '/plants/export']) {
        const response = await send('GET', `${address}${path}`)
        const body = await response.text()
        assert.equal(response.status, 503, path)
        assert.match(body, /"error":50301,"message":"a part of the store is out of reach/)
      }
      assert.equal(await readiness(address), 200)
      await program.tells(new RegExp(`the worker 127\\.0\\.0\\.1:${lost.port} is out of reach`))
      const sessions = await query(url, "SELECT FROM pg_stat_activity WHERE application_name = 'plantstore'")
      t.diagnostic(`${sessions.length} sessions on the coordinator`)
      assert.ok(sessions.length <= MAX_SESSIONS, `${sessions.length} sessions`)

      await end(lost)
      const back = performance.now()
      for (let id = 30_000; ; id += 100) {
        const found = await statuses(id, create, 100)
        if (Object.keys(found).join() === '200') break
        assert.ok(performance.now() - back < RECOVERY, `after ${RECOVERY} ms: ${JSON.stringify(found)}`)
        await sleep(100)
      }
      t.diagnostic(`all was well ${Math.round(performance.now() - back)} ms after the worker was back`)
      assert.equal((await send('GET', `${address}/plants?q=plant`)).status, 200)
      assert.equal(await readiness(address), 200)
      await program.tells(new RegExp(`the worker 127\\.0\\.0\\.1:${lost.port} is back`))
      const stored = await query<{ id: number }>(url, 'SELECT id::integer FROM plants')
      const missing = acknowledged.difference(new Set(stored.map(({ id }) => id)))
      assert.deepEqual([...missing], [], `of ${acknowledged.size} acknowledged`)
    })
  }
})

/** Asks Citus which of the ids from `first` on are on a worker. */
async function idsOn(url: string, { port }: PostgresServer, first: number, count: number): Promise<number[]> {
  const rows = await query<{ id: number }>(
    url,
    `SELECT id::integer FROM generate_series($1::bigint, $2::bigint) AS id
      WHERE get_shard_id_for_distribution_column('plants', id) IN (
        SELECT shardid FROM pg_dist_placement JOIN pg_dist_node USING (groupid) WHERE nodeport = $3)`,
    [first, first + count - 1, port],
  )
  return rows.map(({ id }) => id)
}

async function readiness(address: string): Promise<number> {
  // The service reuses the result of a check for a second.
  await sleep(1100)
  return (await send('GET', `${address}/health/ready`)).status
}

/** Runs the work for consecutive ids by concurrent clients. */
async function each(from: number, work: (id: number) => Promise<void>, count = 1000): Promise<void> {
  let next = from
  const client = async () => {
    while (next < from + count) await work(next++)
  }
  await Promise.all(Array.from({ length: CLIENTS }, client))
}

/** Counts the answers by status. */
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

test('the start refuses a worker that could lose acknowledged writes, by its name and setting', async (t) => {
  const cluster = await CitusCluster.create(process.env[CITUS_BUILD_VARIABLE] ?? '')
  cleanUp(t, () => cluster.close())
  process.env[CITUS_VARIABLE] = cluster.url()
  const url = await createDatabase(() => {})
  const [worker] = cluster.workers
  for (const setting of ['fsync', 'synchronous_commit']) {
    await worker?.stop()
    await worker?.start([`${setting}=off`])
    const { code, stderr } = await run(t, ['serve', '--port', '0'], { env: { PLANTSTORE_STORE: url } })
    assert.equal(code, 1, stderr)
    assert.match(stderr, new RegExp(`the worker 127\\.0\\.0\\.1:${worker?.port} has ${setting} off`))
  }
})
