import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CITUS_VARIABLE, joinedDatabase } from '../support/citus.ts'
import { createPlant } from '../support/create-plant.ts'
import { openCitus, openStore } from '../support/open-postgres.ts'
import { plantsOf, query } from '../support/postgres.ts'
import { run, serveStore, TOKEN } from '../support/process.ts'
import { importAll } from '../support/store-calls.ts'
import { plant } from '../support/store-under-test.ts'

test('a coordinator that would get shards itself is refused, before anything is moved', async (t) => {
  const url = await joinedDatabase(process.env[CITUS_VARIABLE] ?? '')
  const { hostname, port } = new URL(url)
  await query(url, "SELECT citus_set_node_property($1, $2, 'shouldhaveshards', true)", [hostname, Number(port)])
  const { code, stderr } = await run(t, ['distribute'], { env: { PLANTSTORE_STORE: url } })
  assert.equal(code, 1, stderr)
  assert.match(stderr, /the coordinator would get shards itself.*citus_set_node_property/)
  assert.deepEqual(await query(url, 'SELECT FROM pg_dist_partition'), [])
})

test('a store is moved to the workers with its plants and tokens, and distributing it again changes nothing', async (t) => {
  const url = await joinedDatabase(process.env[CITUS_VARIABLE] ?? '')
  const store = await openStore(t, url)
  const plants = Array.from({ length: 3000 }, (_, i) => plant(BigInt(i), `plant ${i}`, `tag ${i % 3}`))
  await importAll(store, plants)
  const tags = await store.listTags({}, 10)
  const env = { PLANTSTORE_STORE: url }
  const plain = { PLANTSTORE_STORE: url.replace('citus:', 'postgres:') }
  const early = await run(t, ['token', 'create', '--name', 'Kew app'], { env })
  assert.match(early.stderr, /it is not distributed/)
  await run(t, ['token', 'create', '--name', 'Kew app'], { env: plain })
  const tokens = await store.tokens.exportTokens()
  const inUse = await run(t, ['distribute', '--shards', '6'], { env })
  assert.equal(inUse.code, 1, inUse.stderr)
  assert.match(inUse.stderr, /other sessions are connected to the database: stop every service/)
  await store.close()
  for (const moved of ['plants: moved to 6 shards', 'plants: distributed already']) {
    const { code, stderr } = await run(t, ['distribute', '--shards', '6'], { env })
    assert.equal(code, 0, stderr)
    assert.match(stderr, new RegExp(moved))
    assert.match(stderr, /done: 6 shards on 2 servers/)
    assert.deepEqual(await plantsOf(url), plants)
  }
  assert.match(
    (await run(t, ['token', 'list'], { env: plain })).stderr,
    /it is distributed; begin its address with citus:/,
  )
  const opened = await openCitus(t, url)
  assert.deepEqual(await opened.tokens.exportTokens(), tokens)
  assert.deepEqual(await opened.listTags({}, 10), tags)
  assert.equal(await createPlant(opened, plant(3000n), { mustBeNew: true }), 'created')
  for (const table of ['plants', 'tokens']) {
    assert.deepEqual(await query(url, `SELECT pg_relation_size('${table}') AS bytes`), [{ bytes: '0' }])
  }
})

test('a distributed store has no log of changes, and says so at its start', async (t) => {
  const url = await joinedDatabase(process.env[CITUS_VARIABLE] ?? '')
  const before = await openStore(t, url, { history: 'keep' })
  await createPlant(before, plant(1n), { mustBeNew: true })
  await before.close()
  const env = { PLANTSTORE_STORE: url }
  assert.equal((await run(t, ['distribute'], { env })).code, 0)
  const { program, address } = await serveStore(t, url, [], { env: { PLANTSTORE_LOG_LEVEL: 'warn' } })
  await program.tells(/it has no log of changes: no feed, no history of a plant, no webhooks/)
  const headers = { Authorization: `Bearer ${TOKEN}`, 'Content-Type': 'application/json' }
  const body = '{"id":2,"name":"Monstera"}'
  assert.equal((await fetch(`${address}/plants`, { method: 'POST', headers, body })).status, 200)
  assert.equal((await fetch(`${address}/changes`, { headers })).status, 404)
  assert.deepEqual(await query(url, 'SELECT FROM changes'), [])
})
