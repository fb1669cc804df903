import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Load, ready, send } from '../../support/load.ts'
import { lockPlants, newDatabase, query } from '../../support/postgres.ts'
import { assertKept, assertOutOfReach, ownServer, refusals } from '../../support/postgres-faults.ts'
import { serveStore } from '../../support/process.ts'
import { type NetworkState, tcpProxy } from '../../support/tcp-proxy.ts'

/** The same address through another port. */
function through(port: number, url: string, search = ''): string {
  const proxied = new URL(url)
  proxied.port = String(port)
  proxied.hostname = '127.0.0.1'
  return `${proxied.href}${search}`
}

for (const [what, state] of [
  ['breaks', 'down'],
  ['loses everything', 'silent'],
] satisfies [string, NetworkState][]) {
  test(`the service loses no acknowledged plant when the network ${what}, and recovers with it`, async (t) => {
    const server = await ownServer(t)
    const proxy = await tcpProxy(t, server.port)
    const url = through(proxy.port, server.url(), '?connect_timeout=2')
    const served = await serveStore(t, url, ['--store-timeout', '2s'])
    const load = new Load(served.address)
    for (let round = 0; round < 2; round++) {
      await load.reaches(load.acknowledged.size + 200)
      const before = refusals(load)
      proxy.state = state
      await load.until(() => refusals(load) > before)
      await ready(served.address, 503)
      await assertOutOfReach(served.address)
      proxy.state = 'passes'
      await load.reaches(load.acknowledged.size + 200)
      await ready(served.address, 200)
    }
    await assertKept(load, served, server.url())
  })
}

test('over a slow network concurrent creates share round trips', async (t) => {
  const server = await ownServer(t)
  const proxy = await tcpProxy(t, server.port)
  const served = await serveStore(t, through(proxy.port, server.url()))
  proxy.delay = 50
  const load = new Load(served.address, { clients: 64 })
  await load.reaches(640)
  await load.stop()
  assert.deepEqual([[...load.refused], load.broken], [[], []])
  const rows = await query<{ commits: string }>(
    server.url(),
    'SELECT xact_commit AS commits FROM pg_stat_database WHERE datname = current_database()',
  )
  assert.ok(Number(rows[0]?.commits) < 320, `${rows[0]?.commits} commits for ${load.acknowledged.size} plants`)
})

test('the service connects to the next host of its address when the first is down', async (t) => {
  const server = await ownServer(t)
  const [first, second] = [await tcpProxy(t, server.port), await tcpProxy(t, server.port)]
  const url = server.url().replace(`:${server.port}`, `:${first.port},127.0.0.1:${second.port}`)
  const served = await serveStore(t, url)
  const load = new Load(served.address)
  // Again while no break has met a write on its way.
  for (let i = 0; i < 2 || refusals(load) === 0; i++) {
    const proxy = i % 2 === 0 ? first : second
    await load.reaches(load.acknowledged.size + 200)
    proxy.state = 'down'
    await load.reaches(load.acknowledged.size + 200)
    proxy.state = 'passes'
  }
  await assertKept(load, served, server.url())
})

test('a statement waits for a lock no longer than --store-timeout', async (t) => {
  const url = await newDatabase(t)
  const served = await serveStore(t, url, ['--store-timeout', '2s', '--store-connections', '4'])
  const load = new Load(served.address, { clients: 32 })
  await load.reaches(200)
  const release = await lockPlants(url)
  await load.until(() => refusals(load) > 0)
  await release()
  await load.reaches(load.acknowledged.size + 200)
  await assertKept(load, served, url)
})

test('the service refuses no request when the server allows fewer connections than configured', async (t) => {
  const server = await ownServer(t)
  await query(server.url(), `CREATE ROLE few LOGIN PASSWORD 'few' CONNECTION LIMIT 2`)
  await query(server.url(), 'CREATE DATABASE plants OWNER few')
  const url = new URL(server.url('plants'))
  url.username = url.password = 'few'
  const served = await serveStore(t, url.href)
  const load = new Load(served.address)
  await load.reaches(200)
  const lists = await Promise.all(
    Array.from({ length: 50 }, () => send('GET', `${served.address}/plants?q=plant&limit=1000`)),
  )
  for (const { status, error } of lists) assert.equal(status, 200, String(error))
  await load.reaches(load.acknowledged.size + 200)
  await load.stop()
  assert.deepEqual([...load.refused.keys()], [])
  assert.ok(served.program.isRunning)
})
