import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, chownSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createConnection, createServer } from 'node:net'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { suite, type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { AppError } from '../../src/domain/errors.ts'
import { NO_EXPECTATION } from '../../src/domain/plant.ts'
import type { PlantQuery } from '../../src/domain/plant-query.ts'
import { Pool } from '../../src/postgres/pool/pool.ts'
import { PoolShare } from '../../src/postgres/pool/pool-share.ts'
import { readPostgresAddress } from '../../src/settings/postgres-address.ts'
import { TESTER } from '../support/actor.ts'
import { replacePlant } from '../support/change-plant.ts'
import { cleanUp, type Scene } from '../support/clean-up.ts'
import { createPlant } from '../support/create-plant.ts'
import { tempFolder } from '../support/files.ts'
import { freePort } from '../support/free-port.ts'
import { notTestedHere, runs } from '../support/not-tested.ts'
import { openStore, shareOf } from '../support/open-postgres.ts'
import { lockedOut, lockPlants, newDatabase, query, untilLockedOut } from '../support/postgres.ts'
import { serverUser } from '../support/postgres-binaries.ts'
import { ownServer } from '../support/postgres-faults.ts'
import { plant, refusal } from '../support/store-under-test.ts'
import { tcpProxy } from '../support/tcp-proxy.ts'
import { until } from '../support/until.ts'

const ALL: PlantQuery = { tags: [], words: ['plant'], order: 'name', after: undefined }

/** Creates a role with a limit of connections. `lift` removes the limit. */
async function limitedRole(t: TestContext, limit: number): Promise<{ url: string; lift: () => Promise<unknown> }> {
  const url = await newDatabase(t)
  const name = new URL(url).pathname.slice(1)
  await query(url, `CREATE ROLE ${name} LOGIN PASSWORD 'secret' CONNECTION LIMIT ${limit}`)
  const drop = () => query(url.replace(name, 'postgres'), `DROP ROLE IF EXISTS ${name}`)
  cleanUp(t, async () => void (await drop().catch(() => {})))
  await query(url, `ALTER DATABASE ${name} OWNER TO ${name}`)
  const own = Object.assign(new URL(url), { username: name, password: 'secret' })
  return { url: own.href, lift: () => query(url, `ALTER ROLE ${name} CONNECTION LIMIT -1`) }
}

for (const limit of [1, 3]) {
  test(`requests wait and none fails when the role is limited to ${limit} of ten connections`, async (t) => {
    const { url } = await limitedRole(t, limit)
    const store = await openStore(t, url, { connections: 10, timeout: 60_000 })
    const exported = async () => {
      for await (const plants of store.exportPlants({ tags: [], words: [] }, 'id')) assert.ok(plants.length > 0)
    }
    await createPlant(store, plant(0n))
    await Promise.all(
      Array.from({ length: 100 }, (_, i) => [
        createPlant(store, plant(BigInt(i))),
        replacePlant(store, plant(BigInt(1000 + i)), NO_EXPECTATION, TESTER),
        store.importPlants([plant(BigInt(2000 + i))], 'add', TESTER),
        store.getPlant(BigInt(i)),
        store.listPlants(ALL, 10),
        store.listTags({}, 10),
        store.tokens.findToken(Buffer.alloc(32, i)),
        store.checkWritable(),
        ...(i % 10 === 0 ? [exported(), store.countPlants()] : []),
      ]).flat(),
    )
  })
}

test('a waiting request gets a connection once the server allows more', async (t) => {
  const { url, lift } = await limitedRole(t, 1)
  const pool = new Pool({ address: readPostgresAddress(url, {}), max: 2, timeout: 60_000, onTrouble: () => {} })
  const share = new PoolShare(pool, 2)
  const kept = await share.acquire()
  const waiting = share.acquire()
  await until(() => pool.capacity < 2, 'the pool does not notice that the server refuses connections')
  await lift()
  share.release(await waiting, true)
  share.release(kept, true)
  await pool.close()
})

test('every request to a hanging server is refused by its deadline', async (t) => {
  const url = await newDatabase(t)
  const proxy = await tcpProxy(t, Number(new URL(url).port))
  const store = await openStore(t, url.replace(new URL(url).port, String(proxy.port)), {
    connections: 6,
    timeout: 1500,
  })
  await createPlant(store, plant(1n))
  proxy.state = 'silent'
  const timed = async (work: () => Promise<unknown>) => {
    const start = performance.now()
    await assert.rejects(work, (error) => error instanceof AppError && [50301, 50302].includes(error.number))
    return performance.now() - start
  }
  const requests = [
    () => createPlant(store, plant(2n)),
    () => replacePlant(store, plant(1n, 'other'), NO_EXPECTATION, TESTER),
    () => store.getPlant(1n),
    () => store.listPlants(ALL, 10),
    () => store.listTags({}, 10),
    () => store.importPlants([plant(3n)], 'add', TESTER),
    () => store.tokens.findToken(Buffer.alloc(32)),
    () => store.checkWritable(),
    () => store.countPlants(),
    () => store.startDryRun('add'),
  ]
  const times: Promise<number>[] = []
  const lag = monitorEventLoopDelay({ resolution: 10 })
  lag.enable()
  // Requests of later waves queue behind those of earlier ones.
  for (let wave = 0; wave < 4; wave++) {
    times.push(...requests.flatMap((request) => [timed(request), timed(request)]))
    await sleep(400)
  }
  const longest = Math.max(...(await Promise.all(times)))
  lag.disable()
  // On a busy machine, each step of a request waits for its turn.
  assert.ok(longest < 3000 + (20 * lag.max) / 1e6, `${longest} ms`)
  proxy.state = 'passes'
  await createPlant(store, plant(4n))
  const there = await query<{ id: string }>(url, 'SELECT id FROM plants WHERE id > 1 ORDER BY id')
  assert.deepEqual(there, [{ id: '4' }], 'nothing is written after its request was refused')
})

suite('the pool divides its connections', () => {
  test('so that searches leave some for tokens, readiness and writes', async (t) => {
    const url = await newDatabase(t)
    const store = await openStore(t, url, { connections: 9, timeout: 60_000 })
    const unlock = await lockPlants(url)
    const searches = Array.from({ length: 200 }, () => store.listPlants(ALL, 10))
    await untilLockedOut(url, 3)
    const { max, used, waiting: others } = store.pool.uses.search
    assert.deepEqual([max, used, others], [3, 3, 197])
    for (let i = 0; i < 20; i++) {
      await store.checkWritable()
      assert.equal(await store.tokens.findToken(Buffer.alloc(32, i)), undefined)
    }
    const create = createPlant(store, plant(1n), { mustBeNew: true })
    await untilLockedOut(url, 4)
    assert.equal(await lockedOut(url), 4, 'three searches, and the create beside them')
    await unlock()
    await Promise.all([...searches, create])
  })

  test('so that exports and dry runs leave some for all other work', async (t) => {
    const store = await openStore(t, await newDatabase(t), { connections: 6, timeout: 2000 })
    await store.importPlants([plant(1n)], 'add', TESTER)
    const held = [await store.startDryRun('add'), await store.startDryRun('add')]
    await assert.rejects(store.startDryRun('add'), (error: Error) => {
      assert.match(error.message, /^too many exports and dry runs are under way; nothing was done/)
      return refusal(50302)(error)
    })
    assert.equal(await store.countPlants(), 1, 'the count for the metrics does not use their connections')
    await store.importPlants([plant(2n)], 'add', TESTER)
    await createPlant(store, plant(3n), { mustBeNew: true })
    assert.equal((await store.listPlants({ ...ALL, words: [] }, 10)).length, 3)
    await held[0]?.close()
    await (await store.startDryRun('add')).close()
    assert.equal(await store.countPlants(), 3)
    await held[1]?.close()
  })
})

suite('a statement without a waiting caller', () => {
  const SLEEP = { text: 'SELECT pg_sleep(600)' }
  const PROCESS = { text: 'SELECT pg_backend_pid()' }

  async function pool(t: TestContext) {
    const url = await newDatabase(t)
    return { url, share: shareOf(t, url, { max: 1, timeout: 300_000 }) }
  }

  async function sleeping(url: string): Promise<number> {
    const sql = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND state = 'active'
      AND query LIKE '%pg_sleep(600)%' AND pid <> pg_backend_pid()`
    return (await query(url, sql)).length
  }

  test('is cancelled, and its connection is used again', async (t) => {
    const { url, share } = await pool(t)
    const before = await share.run(PROCESS)
    for (const text of [SLEEP, { text: 'BEGIN; SELECT pg_sleep(600)' }]) {
      const leaving = new AbortController()
      const search = share.run(text, share.budget(leaving.signal))
      await until(async () => (await sleeping(url)) > 0, 'the statement does not run')
      leaving.abort(new Error('the client has left'))
      await assert.rejects(search, /the client has left/)
      assert.deepEqual((await share.run(PROCESS)).rows, before.rows)
      assert.equal(await sleeping(url), 0)
      assert.deepEqual((await share.run({ text: 'SELECT now() = statement_timestamp()' })).rows, [['t']])
    }
  })

  test('never runs if it is still queued', async (t) => {
    const { url, share } = await pool(t)
    const leaving = new AbortController()
    const first = share.run(SLEEP, share.budget(leaving.signal))
    const others = Array.from({ length: 1000 }, () => share.run(SLEEP, share.budget(leaving.signal)))
    await until(async () => (await sleeping(url)) > 0, 'the statement does not run')
    leaving.abort(new Error('the client has left'))
    for (const search of [first, ...others]) await assert.rejects(search, /the client has left/)
    await assert.rejects(share.run(SLEEP, share.budget(leaving.signal)), /the client has left/)
    assert.equal((await share.run({ text: 'SELECT 1' })).count, 1)
    assert.equal(await sleeping(url), 0)
  })
})

suite('a connection without TLS', () => {
  test('causes a warning if the server is on another machine', async (t) => {
    const url = await newDatabase(t)
    const warned = async (address: string) => {
      const told: string[] = []
      await openStore(t, address, { onNotice: (text) => told.push(text) })
      return told.some((text) => /without TLS/.test(text))
    }
    const { host } = new URL(url)
    assert.equal(await warned(url), false)
    assert.equal(await warned(url.replace(host, `${host},db.example:5432`)), true)
  })

  test('never sends the password in clear text', async (t) => {
    const received: Buffer[] = []
    // The server answers the startup with a notice, and with AuthenticationCleartextPassword.
    const server = createServer((socket) => {
      socket.on('error', () => {})
      socket.on('data', (chunk: Buffer) => {
        received.push(chunk)
        if (received.length > 1) return
        const notice = Buffer.from('N\0\0\0\x05\0', 'latin1')
        for (const byte of Buffer.concat([notice, Buffer.from('R\0\0\0\x08\0\0\0\x03', 'latin1')])) {
          socket.write(Buffer.of(byte))
        }
      })
    })
    await once(server.listen(0, '127.0.0.1'), 'listening')
    cleanUp(t, () => void server.close())
    const { port } = server.address() as AddressInfo
    const url = `postgres://me:open-sesame@127.0.0.1:${port}/plants`
    const opening = openStore(t, url, { retryTime: 600_000 })
    await assert.rejects(opening, /asks for the password in clear text, and there is no TLS; set sslmode=verify-full/)
    assert.ok(!Buffer.concat(received).includes('open-sesame'))
  })
})

for (const mode of ['session', 'transaction'] as const) {
  test(`behind a PgBouncer in ${mode} mode, the store ${mode === 'session' ? 'works' : 'is refused, with the mode that it needs'}`, async (t) => {
    if (!runs('pgbouncer', '--version')) return notTestedHere(t, 'a pooler, because PgBouncer is not installed')
    const url = await startPgBouncer(t, await newDatabase(t), mode)
    if (mode === 'transaction') {
      await assert.rejects(openStore(t, url), /: a pooler between .* must use session mode$/)
      return
    }
    const store = await openStore(t, url)
    const all = Array.from({ length: 50 }, (_, i) => createPlant(store, plant(BigInt(i))))
    await Promise.all([...all, store.listPlants(ALL, 10), store.listTags({}, 10)])
    assert.equal((await store.listPlants(ALL, 100)).length, 50)
  })
}

test('a connection stays open whatever idle_session_timeout the database has', async (t) => {
  const url = await newDatabase(t)
  await query(url, `ALTER DATABASE ${new URL(url).pathname.slice(1)} SET idle_session_timeout = '200ms'`)
  const notices: string[] = []
  const store = await openStore(t, url, { onNotice: (text) => notices.push(text) })
  const pids = async () => {
    const sql = 'SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()'
    return (await query<{ pid: number }>(url, sql)).map(({ pid }) => pid).toSorted()
  }
  const before = await pids()
  await sleep(1000)
  assert.deepEqual([await pids(), notices], [before, []])
  await createPlant(store, plant(1n))
})

test('the service connects over TLS only to a server with the right certificate', async (t) => {
  if (!runs('openssl', 'version')) return notTestedHere(t, 'TLS to PostgreSQL, because there is no openssl')
  const folder = tempFolder(t)
  const [key, certificate] = [join(folder, 'server.key'), join(folder, 'server.crt')]
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost']
  const request = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-keyout', key, '-out', certificate]
  execFileSync('openssl', [...request, ...subject], { stdio: 'pipe' })
  chmodSync(folder, 0o755)
  chmodSync(key, 0o600)
  const user = serverUser()
  if (user !== undefined) for (const file of [key, certificate]) chownSync(file, user.uid, user.gid)
  const server = await ownServer(t)
  await server.stop()
  await server.start(['ssl=on', `ssl_cert_file=${certificate}`, `ssl_key_file=${key}`])
  const address = (host: string, search: string) => `${server.url().replace('127.0.0.1', host)}?${search}`
  const trusted = `sslrootcert=${encodeURIComponent(certificate)}`

  for (const [host, search] of [
    ['127.0.0.1', 'sslmode=require'],
    ['127.0.0.1', `sslmode=verify-ca&${trusted}`],
    ['localhost', `sslmode=verify-full&${trusted}`],
  ] as const) {
    const store = await openStore(t, address(host, search))
    const sessions = await query<{ ssl: boolean }>(
      server.url(),
      `SELECT ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE application_name = 'plantstore'`,
    )
    assert.ok(sessions.length > 0 && sessions.every(({ ssl }) => ssl), search)
    await store.close()
  }
  for (const [host, search, why] of [
    ['127.0.0.1', `sslmode=verify-full&${trusted}`, /certificate's altnames/],
    ['localhost', 'sslmode=verify-full', /self-signed certificate/],
  ] as const) {
    const told: string[] = []
    const options = { retryTime: 60_000, onNotice: (text: string) => told.push(text) }
    await assert.rejects(openStore(t, address(host, search), options), why)
    assert.deepEqual(told, [], 'nobody waits for another certificate')
  }
})

/** Starts a PgBouncer before a database. @returns the address by which clients reach the database through it */
async function startPgBouncer(t: Scene, url: string, mode: 'session' | 'transaction'): Promise<string> {
  const server = new URL(url)
  const port = await freePort()
  const folder = tempFolder(t)
  const text = (value: string) => `'${decodeURIComponent(value).replaceAll("'", "''")}'`
  const parts = [
    `host=${server.hostname} port=${server.port} dbname=${server.pathname.slice(1)}`,
    `user=${text(server.username)} password=${text(server.password)}`,
  ]
  writeFileSync(
    join(folder, 'pgbouncer.ini'),
    `[databases]
store = ${parts.join(' ')}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = ${mode}
ignore_startup_parameters = extra_float_digits
`,
  )
  chmodSync(folder, 0o755)
  const pooler = spawn('pgbouncer', ['-q', join(folder, 'pgbouncer.ini')], { stdio: 'ignore', ...serverUser() })
  cleanUp(t, () => void pooler.kill('SIGKILL'))
  await until(() => isListening(port), 'PgBouncer does not start')
  return `postgres://plantstore@127.0.0.1:${port}/store`
}

function isListening(port: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const socket = createConnection(port, '127.0.0.1', () => resolve(true)).on('error', () => resolve(false))
  return promise.finally(() => socket.destroy())
}
