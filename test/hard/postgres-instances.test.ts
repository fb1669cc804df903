import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { versionOf } from '../../src/domain/plant.ts'
import { PLANT_ORDERS } from '../../src/domain/plant-query.ts'
import type { Store } from '../../src/domain/store.ts'
import { ACTOR, assertDisjoint, keyOf } from '../id-suite.ts'
import { TESTER } from '../support/actor.ts'
import { replacePlant } from '../support/change-plant.ts'
import { createPlant } from '../support/create-plant.ts'
import { freePort } from '../support/free-port.ts'
import { Load, ready, send } from '../support/load.ts'
import { hasNginx, nginxOf, readGuide, startNginx } from '../support/nginx.ts'
import { notTestedHere } from '../support/not-tested.ts'
import { openEither } from '../support/open-postgres.ts'
import { OpenTransaction } from '../support/open-transaction.ts'
import { newDatabase, plantsOf } from '../support/postgres.ts'
import { run, type Served, serveStore, TOKEN } from '../support/process.ts'
import { plant, refusal } from '../support/store-under-test.ts'
import { tcpProxy } from '../support/tcp-proxy.ts'

const HEADERS = { Authorization: `Bearer ${TOKEN}` }

/** Opens two stores on one database, as two instances of the service do. */
async function twoStores(t: TestContext): Promise<{ url: string; stores: readonly [Store, Store] }> {
  const url = await newDatabase(t)
  return { url, stores: [await openEither(t, url), await openEither(t, url)] }
}

test('of two instances that create the same ids at once exactly one creates each', async (t) => {
  const { url, stores } = await twoStores(t)
  const ids = Array.from({ length: 1000 }, (_, i) => BigInt(i))
  const won = await Promise.all(
    stores.map(async (store, i) => {
      const mine = i === 0 ? ids : ids.toReversed()
      const results = await Promise.allSettled(mine.map((id) => createPlant(store, plant(id, `of instance ${i}`))))
      for (const result of results) if (result.status === 'rejected') refusal(40901)(result.reason)
      return mine.filter((_, at) => results[at]?.status === 'fulfilled').map((id) => plant(id, `of instance ${i}`))
    }),
  )
  const winners = won.flat().sort((a, b) => (a.id < b.id ? -1 : 1))
  assert.deepEqual(winners, await plantsOf(url))
  assert.equal(winners.length, 1000)
})

test('two instances that reserve ids at once never reserve one twice, and share the keys of retries', async (t) => {
  const { stores } = await twoStores(t)
  const counts = Array.from({ length: 60 }, (_, i) => (i % 5) + 1)
  const reserve = (count: number, i: number) => stores[i % 2 === 0 ? 0 : 1].ids.reserveIds(count, undefined, ACTOR)
  assertDisjoint(await Promise.all(counts.map(reserve)), counts)
  const both = await Promise.all(stores.map((store) => store.ids.reserveIds(4, keyOf('a'), ACTOR)))
  assert.deepEqual(both[0], both[1])
})

test('waiting reservations of ids leave the connections of an instance to creates', async (t) => {
  const { url, stores } = await twoStores(t)
  const [store] = stores
  const other = await OpenTransaction.begin(t, url)
  await other.sql('LOCK TABLE id_reservations IN ACCESS EXCLUSIVE MODE')
  const counts = Array.from({ length: 50 }, () => 2)
  const reservations = Promise.all(counts.map((count) => store.ids.reserveIds(count, undefined, ACTOR)))
  assert.equal(await createPlant(store, plant(1n), { mustBeNew: true }), 'created')
  await other.sql('ROLLBACK')
  assertDisjoint(await reservations, counts)
})

test('of two instances that expect the same version exactly one succeeds, a thousand times', async (t) => {
  const { stores } = await twoStores(t)
  const [first] = stores
  await createPlant(first, plant(1n, 'round 0'), { mustBeNew: true })
  let current = plant(1n, 'round 0')
  for (let round = 1; round <= 1000; round++) {
    const expected = { at: [versionOf(current)] }
    const rivals = stores.map((_, i) => plant(1n, `round ${round} of instance ${i}`))
    const results = await Promise.allSettled(
      stores.map((store, i) => replacePlant(store, rivals[i] ?? current, expected, TESTER)),
    )
    const winners = rivals.filter((_, i) => results[i]?.status === 'fulfilled')
    assert.equal(winners.length, 1, `round ${round}`)
    for (const result of results) if (result.status === 'rejected') refusal(41201)(result.reason)
    current = winners[0] ?? current
  }
})

test('concurrent replaces by several instances all get true results, and the last plant stays', async (t) => {
  const { url, stores } = await twoStores(t)
  const rivals = Array.from({ length: 100 }, (_, i) => plant(1n, `rival ${i}`))
  const results = await Promise.all(
    rivals.map((rival, i) => replacePlant(stores[i % 2] ?? assert.fail(), rival, {}, TESTER)),
  )
  assert.equal(results.filter((result) => result === 'created').length, 1)
  assert.equal(results.filter((result) => result === 'replaced').length, 99)
  const [left] = await plantsOf(url)
  assert.ok(rivals.some(({ name }) => name === left?.name))
})

test('concurrent imports of the same plants by two instances neither fail nor deadlock', async (t) => {
  const { url, stores } = await twoStores(t)
  const plants = Array.from({ length: 500 }, (_, i) => plant(BigInt(i)))
  for (const mode of ['add', 'update'] as const) {
    const tagged = plants.map((one) => ({ ...one, tag: mode }))
    const [some, others] = await Promise.all([
      stores[0].importPlants(tagged, mode, TESTER),
      stores[1].importPlants(tagged.toReversed(), mode, TESTER),
    ])
    for (const [i, result] of some.entries()) {
      const both = [result, others.at(-1 - i)].sort()
      assert.deepEqual(both, mode === 'add' ? ['added', 'unchanged'] : ['unchanged', 'updated'])
    }
  }
  assert.equal((await plantsOf(url)).length, 500)
})

test('a list paged through two instances in turn has every plant once while both write', async (t) => {
  const url = await newDatabase(t)
  const addresses = [(await serveStore(t, url)).address, (await serveStore(t, url)).address]
  const staying = Array.from({ length: 300 }, (_, i) => plant(BigInt(2 * i), `name ${i % 50}`))
  await (await openEither(t, url)).importPlants(staying, 'add', TESTER)
  let isOver = false
  const writing = addresses.map(async (address, which) => {
    for (let i = which; !isOver; i += 2) {
      const one = `${address}/plants/${2 * (i % 300) + 1}`
      assert.equal((await send('PUT', one, { body: `{"name":"name ${i % 50}"}` })).status, i < 300 ? 201 : 200)
      assert.equal((await send('PUT', one, { body: `{"name":"other ${i % 50}"}` })).status, 200)
    }
  })
  for (const order of PLANT_ORDERS) {
    const seen: number[] = []
    let target: string | undefined = `/plants?sort=${order}&limit=7`
    for (let turn = 0; target !== undefined; turn++) {
      const response = await fetch(new URL(target, addresses[turn % 2]), { headers: HEADERS })
      seen.push(...((await response.json()) as { id: number }[]).map(({ id }) => id))
      target = /<([^>]*)>; rel="next"/.exec(response.headers.get('link') ?? '')?.[1]
    }
    const still = seen.filter((id) => id % 2 === 0)
    assert.deepEqual([still.length, new Set(still).size], [staying.length, staying.length], order)
  }
  isOver = true
  await Promise.all(writing)
})

test('each instance reports its own readiness', async (t) => {
  const url = await newDatabase(t)
  const proxy = await tcpProxy(t, Number(new URL(url).port))
  const proxied = new URL(url)
  proxied.host = `127.0.0.1:${proxy.port}`
  const [cut, whole] = [(await serveStore(t, proxied.href)).address, (await serveStore(t, url)).address]
  await ready(cut, 200)
  proxy.state = 'down'
  await ready(cut, 503)
  await ready(whole, 200)
  for (const address of [cut, whole]) assert.equal((await fetch(`${address}/health/live`)).status, 200)
  proxy.state = 'passes'
  await ready(cut, 200)
})

test('every instance refuses a revoked token within a second', async (t) => {
  const url = await newDatabase(t)
  const env = { PLANTSTORE_STORE: url }
  const instances = [await serveStore(t, url), await serveStore(t, url)]
  const { stdout: secret } = await run(t, ['token', 'create', '--name', 'x'], { env })
  const ask = async () => {
    const answers = await Promise.all(
      instances.map(({ address }) => send('GET', `${address}/plants`, { token: secret.trim() })),
    )
    return answers.map(({ status }) => status)
  }
  assert.deepEqual(await ask(), [200, 200])
  const { stdout: list } = await run(t, ['token', 'list'], { env })
  const id = /^(tok_\w+) /m.exec(list)?.[1] ?? assert.fail(list)
  // Constant use, so that each instance caches the token as late as possible.
  let revoked = false
  const asking = (async () => {
    while (!revoked) await ask()
  })()
  assert.equal((await run(t, ['token', 'revoke', id], { env })).code, 0)
  revoked = true
  await asking
  await sleep(1000)
  assert.deepEqual(await ask(), [401, 401])
})

const GUIDE = readGuide('scale-out')
/** The flags of the instances in the guide. */
const FLAGS = /`(--drain-window \w+)`/.exec(GUIDE)?.[1]?.split(' ') ?? assert.fail('the guide has no drain window')

test('a rolling restart of two instances behind nginx, as in the guide, fails no request under load', async (t) => {
  if (!hasNginx()) {
    return notTestedHere(t, 'a rolling restart behind nginx, because there is no nginx')
  }
  const url = await newDatabase(t)
  const ports = [await freePort(), await freePort()]
  const start = (port: number) => serveStore(t, url, ['--port', String(port), ...FLAGS])
  const instances: Served[] = []
  for (const port of ports) instances.push(await start(port))
  const port = await freePort()
  const addresses = {
    '10.0.0.11:8080': `127.0.0.1:${ports[0]}`,
    '10.0.0.12:8080': `127.0.0.1:${ports[1]}`,
    // Without TLS, so that the load does not spend its time on encryption.
    'listen 443 ssl;': `listen 127.0.0.1:${port};`,
    'ssl_certificate /etc/ssl/plants.example.pem;': '',
    'ssl_certificate_key /etc/ssl/plants.example.key;': '',
  }
  const load = new Load(await startNginx(t, nginxOf(GUIDE, addresses), port), { clients: 32 })
  for (const [i, each] of ports.entries()) {
    await load.reaches(load.acknowledged.size + 300)
    const { program } = instances[i] ?? assert.fail()
    await program.ends()
    await load.reaches(load.acknowledged.size + 300)
    instances[i] = await start(each)
  }
  await load.reaches(load.acknowledged.size + 300)
  await load.stop()
  assert.deepEqual([[...load.refused], load.broken], [[], []])
  load.assertAllAmong(new Map((await plantsOf(url)).map(({ id, ...plant }) => [id, plant])))
})
