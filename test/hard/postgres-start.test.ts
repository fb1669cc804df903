import assert from 'node:assert/strict'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { suite, type TestContext, test } from 'node:test'
import { readMigrations } from '../../src/base/migrations.ts'
import { openStore as openAt } from '../../src/cli/open-store.ts'
import { NO_EXPECTATION } from '../../src/domain/plant.ts'
import { ConnectionFault } from '../../src/postgres/errors.ts'
import { judge, migrate } from '../../src/postgres/migrate.ts'
import { PoolShare } from '../../src/postgres/pool/pool-share.ts'
import { PostgresStore } from '../../src/postgres/store.ts'
import { readPostgresAddress } from '../../src/settings/postgres-address.ts'
import { TESTER } from '../support/actor.ts'
import { deletePlant, replacePlant } from '../support/change-plant.ts'
import { cleanUp } from '../support/clean-up.ts'
import { createPlant } from '../support/create-plant.ts'
import { snapshot, tempFolder } from '../support/files.ts'
import { send } from '../support/load.ts'
import { openNew, openStore, shareOf } from '../support/open-postgres.ts'
import { newDatabase, plantsOf, query } from '../support/postgres.ts'
import { ownServer } from '../support/postgres-faults.ts'
import { Program, run, serveStore, TOKEN } from '../support/process.ts'
import { poolOf } from '../support/search-plans.ts'
import { plant, refusal } from '../support/store-under-test.ts'
import { tcpProxy } from '../support/tcp-proxy.ts'
import { token } from '../token-suite.ts'

/** Returns the address with other parts. */
const addressWith = (url: string, parts: Partial<URL>): string => Object.assign(new URL(url), parts).href

/** Checks that the start fails, makes no file, and prints only one line, with the reason and without the password. */
async function assertRefused(t: TestContext, url: string, why: RegExp, wait = '0s'): Promise<void> {
  const cwd = tempFolder(t)
  const env = { PLANTSTORE_STORE: url, PLANTSTORE_STORE_WAIT: wait, PLANTSTORE_LOG_LEVEL: 'warn' }
  const { code, stdout, stderr } = await run(t, ['serve', '--port', '0', '--audit-log', 'audit.log'], { env, cwd })
  assert.match(stderr, /^plantstore: store postgres:\/\/[^@\n]+\n$/)
  assert.match(stderr, why)
  assert.deepEqual([code, stdout, snapshot(cwd)], [1, '', {}])
}

suite('a start on a PostgreSQL store', () => {
  test('fails in one line if waiting cannot help', async (t) => {
    const url = await newDatabase(t)
    const cases: readonly (readonly [parts: Partial<URL>, why: RegExp, wait?: string])[] = [
      [{ password: 'not-this-one' }, /password authentication failed for user/],
      [{ password: '' }, /the server asks for a password; set PGPASSWORD/],
      [{ pathname: '/nowhere' }, /database "nowhere" does not exist/],
      [{ search: '?sslmode=require' }, /does not support SSL/, '0s'],
      [{ search: '?sslmode=verify-full&sslrootcert=/nowhere/ca.pem' }, /\/nowhere\/ca\.pem can't be read/],
    ]
    for (const [parts, why, wait = '60s'] of cases) await assertRefused(t, addressWith(url, parts), why, wait)
  })

  test('fails if another program has tables of the same names', async (t) => {
    const url = await newDatabase(t)
    await query(url, 'CREATE TABLE plants (id text)')
    await assertRefused(t, url, /it contains tables of another program: relation "plants" already exists/)
    assert.deepEqual(await query(url, "SELECT to_regclass('plantstore_migrations') AS made"), [{ made: null }])
  })

  test('fails after --store-wait if no server answers', async (t) => {
    const probe = createServer().listen(0, '127.0.0.1')
    await once(probe, 'listening')
    const { port } = probe.address() as { port: number }
    await once(probe.close(), 'close')
    const url = `postgres://me:${TOKEN}@127.0.0.1:${port}/plants`
    await assertRefused(t, url, /connect ECONNREFUSED/)
    const args = ['serve', '--port', '0', '--store-wait', '1s', '--log-level', 'info']
    const { code, stderr } = await run(t, args, { env: { PLANTSTORE_STORE: url } })
    assert.equal(code, 1)
    const [waiting, last, ...more] = stderr.trimEnd().split('\n')
    assert.match((JSON.parse(waiting ?? '') as { msg: string }).msg, /^waiting for the database: connect ECONNREFUSED/)
    assert.match(last ?? '', /^plantstore: store postgres:\/\/127\.0\.0\.1:\d+\/plants: connect ECONNREFUSED/)
    assert.deepEqual(more, [])
    assert.ok(!stderr.includes(TOKEN), 'the output contains no password')
  })

  test('waits for a database that starts later', async (t) => {
    const server = await ownServer(t)
    await server.stop()
    const program = new Program(t, ['serve', '--port', '0'], { env: { PLANTSTORE_STORE: server.url() } })
    await program.tells(/waiting for the database/)
    await server.start()
    await program.says((stdout) => (stdout.includes('is ready') ? true : undefined))
    assert.equal(program.stderr.match(/waiting for the database/g)?.length, 1)
  })

  test('fails on a server that could lose acknowledged writes, and on a standby', async (t) => {
    const server = await ownServer(t)
    const standby = await server.createStandby()
    cleanUp(t, () => standby.close())
    await assertRefused(t, standby.url(), /the server is read-only, like a standby/)
    await server.stop()
    await server.start(['fsync=off'])
    await assertRefused(t, server.url(), /has fsync off, so a power cut would lose acknowledged writes/, '60s')
    await server.stop()
    await server.start(['full_page_writes=off', 'synchronous_commit=off'])
    const { program, address } = await serveStore(t, server.url(), [], { env: { PLANTSTORE_LOG_LEVEL: 'warn' } })
    await program.tells(/full_page_writes off/)
    assert.equal((await send('POST', `${address}/plants`, { body: '{"id":1,"name":"a"}' })).status, 200)
    const rows = await query(server.url(), 'SHOW synchronous_commit')
    assert.deepEqual(rows, [{ synchronous_commit: 'off' }], 'the service has set it for its own connections alone')
  })

  test('reads the variables and the password file of PostgreSQL clients', async (t) => {
    const url = new URL(await newDatabase(t))
    const [user, password] = [url.username, url.password].map(decodeURIComponent)
    const variables = {
      PGHOST: url.hostname,
      PGPORT: url.port,
      PGDATABASE: url.pathname.slice(1),
      PGUSER: user ?? '',
    }
    const passwordFile = join(tempFolder(t), 'pgpass')
    writeFileSync(passwordFile, `*:*:*:*:${(password ?? '').replace(/[\\:]/g, '\\$&')}\n`, { mode: 0o600 })
    for (const secret of [{ PGPASSWORD: password ?? '' }, { PGPASSFILE: passwordFile }]) {
      const { program, address } = await serveStore(t, 'postgres://', [], { env: { ...variables, ...secret } })
      assert.equal((await send('GET', `${address}/plants`)).status, 200)
      assert.match(program.stdout, new RegExp(`Store +postgres://${url.host}${url.pathname}(?: \\(new\\))?$`, 'm'))
    }
  })
})

test('a store of an older schema is migrated once, with a notice before and after each step', async (t) => {
  const url = await newDatabase(t)
  await (await openStore(t, url)).close()
  const known = readMigrations(new URL('../../sql/postgres/', import.meta.url))
  const later = [1, 2].map((i) => ({
    number: known.length + i,
    sql: `CREATE TABLE later_${i} (id bigint); INSERT INTO later_${i} VALUES (${i})`,
    checksum: `later ${i}`,
  }))
  const share = new PoolShare(poolOf(t, url), 2)
  const notices: string[] = []
  const all = [...known, ...later]
  const migrated = await Promise.all([1, 2].map(() => migrate(share, false, (text) => notices.push(text), all)))
  assert.deepEqual(migrated, [false, false])
  const found = notices.map((text) => text.replace(/in \d+ ms/, 'in T ms'))
  assert.deepEqual(
    found,
    later.flatMap(({ number }) => [
      `migrating the store to schema ${number} of ${all.length}; running services of older versions continue, but cannot start again`,
      `migrated the store to schema ${number} of ${all.length} in T ms`,
    ]),
  )
  assert.equal(await migrate(share, false, (text) => assert.fail(text), all), false)
  assert.deepEqual(await query(url, 'SELECT * FROM later_1, later_2'), [{ id: '2' }])
  await assertRefused(t, url, new RegExp(`it has schema ${known.length + 1}, newer than this program's`))
})

test('twenty instances that open an empty database at once create the store once', async (t) => {
  const url = await newDatabase(t)
  const stores = await Promise.all(Array.from({ length: 20 }, () => openStore(t, url, { connections: 2 })))
  await Promise.all(stores.map((store) => store.checkWritable()))
  const migrations = await query<{ number: number }>(url, 'SELECT number FROM plantstore_migrations ORDER BY number')
  const numbers = migrations.map(({ number }) => number)
  const expected = migrations.map((_, i) => i + 1)
  assert.deepEqual(numbers, expected)
})

test('opening an empty database without the option create fails and leaves it empty', async (t) => {
  const url = await newDatabase(t)
  const options = {
    maxWaiting: 1,
    connections: 1,
    timeout: 1000,
    retryTime: 0,
    create: false,
    onNotice: () => {},
  }
  await assert.rejects(PostgresStore.open(readPostgresAddress(url, {}), options), /: it does not exist$/)
  assert.deepEqual(await query(url, "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"), [])
})

test('a store that Citus distributes is refused under another address, and no other store under citus://', async (t) => {
  const url = await newDatabase(t)
  const citus = url.replace(/^\w+:/, 'citus:')
  const refusal = (address: string, why: RegExp) =>
    assert.rejects(openAt(readPostgresAddress(address, {}), OPENING), (error) => why.test((error as Error).message))
  await refusal(citus, /: it does not exist; "plantstore distribute" makes it$/)
  assert.deepEqual(await query(url, "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"), [])
  await (await openStore(t, url)).close()
  await refusal(citus, /: it is not distributed; begin its address with postgres:\/\//)
  // What "plantstore distribute" removes before it moves the plants.
  await query(url, 'DROP TABLE tag_counts, tag_changes; DROP FUNCTION count_tags() CASCADE')
  await refusal(url, /: it is distributed; begin its address with citus:\/\/ in place of postgres:\/\/$/)
})

test('a command opens a plain store by one connection', async (t) => {
  const url = await newDatabase(t)
  await (await openStore(t, url)).close()
  const proxy = await tcpProxy(t, Number(new URL(url).port))
  const through = addressWith(url, { hostname: '127.0.0.1', port: String(proxy.port) })
  const store = await openAt(readPostgresAddress(through, {}), OPENING)
  await store.close()
  assert.equal(proxy.connections, 1)
})

const OPENING = {
  ...{ serving: false, maxWaiting: 1, connections: 4, timeout: 10_000, retryTime: 0, create: true },
  onFatal: assert.fail,
  onNotice: () => {},
}

test('every write waits for the disk, whatever synchronous_commit of the database is', async (t) => {
  const url = await newDatabase(t)
  await query(url, `ALTER DATABASE "${new URL(url).pathname.slice(1)}" SET synchronous_commit = off`)
  const store = await openStore(t, url)
  await query(url, 'CREATE TABLE seen (what text, setting text)')
  await query(
    url,
    `CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      INSERT INTO seen VALUES (TG_OP || ' ' || TG_TABLE_NAME, current_setting('synchronous_commit')); RETURN NULL;
    END $$`,
  )
  for (const table of ['plants', 'tokens', 'write_check']) {
    const events = 'INSERT OR UPDATE OR DELETE'
    await query(url, `CREATE TRIGGER note AFTER ${events} ON ${table} FOR EACH ROW EXECUTE FUNCTION note()`)
  }
  await createPlant(store, plant(1n), { mustBeNew: true })
  await replacePlant(store, plant(1n, 'another'), NO_EXPECTATION, TESTER)
  await deletePlant(store, 1n, NO_EXPECTATION, TESTER)
  await store.importPlants([plant(2n)], 'add', TESTER)
  await store.importPlants([plant(2n, 'another')], 'update', TESTER)
  const one = token('x')
  await store.tokens.createToken(one, Buffer.alloc(32))
  await store.tokens.touchToken(one.id, new Date())
  await store.tokens.revokeToken(one.id)
  await store.checkWritable()
  const seen = await query<{ what: string; setting: string }>(url, 'SELECT DISTINCT what, setting FROM seen ORDER BY 1')
  const writes = [
    'DELETE plants',
    'INSERT plants',
    'INSERT tokens',
    'UPDATE plants',
    'UPDATE tokens',
    'UPDATE write_check',
  ]
  const expected = writes.map((what) => ({ what, setting: 'on' }))
  assert.deepEqual(seen, expected)
})

test('a write whose commit fails is refused and not stored', async (t) => {
  const { url, store } = await openNew(t)
  await query(
    url,
    `CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN RAISE 'no commit' USING ERRCODE = 'insufficient_resources'; END $$`,
  )
  await query(
    url,
    `CREATE CONSTRAINT TRIGGER late AFTER INSERT ON plants DEFERRABLE INITIALLY DEFERRED
      FOR EACH ROW EXECUTE FUNCTION fail()`,
  )
  await assert.rejects(createPlant(store, plant(1n)), refusal(50301))
  await assert.rejects(replacePlant(store, plant(2n), NO_EXPECTATION, TESTER), refusal(50301))
  await assert.rejects(store.importPlants([plant(3n)], 'add', TESTER), refusal(50301))
  assert.deepEqual(await plantsOf(url), [])
})

test('a commit that PostgreSQL answers with ROLLBACK counts as failed', async (t) => {
  const url = await newDatabase(t)
  await query(url, 'CREATE TABLE rows (id integer)')
  const work = shareOf(t, url, { max: 1 }).transaction('BEGIN', async (run) => {
    await run({ text: 'INSERT INTO rows VALUES (1)' })
    await assert.rejects(run({ text: 'SELECT 1 / 0' }))
  })
  await assert.rejects(
    work,
    (error) => error instanceof ConnectionFault && /answered COMMIT with ROLLBACK/.test(error.message),
  )
  assert.deepEqual(await query(url, 'SELECT FROM rows'), [])
})

suite('a PostgreSQL server', () => {
  const GOOD = {
    server_version_num: '150000',
    server_version: '15.0',
    server_encoding: 'UTF8',
    full_page_writes: 'on',
  }

  test('with the required settings is accepted without a warning', () => {
    for (const number of ['150000', '160004', '180004']) {
      assert.deepEqual(judge({ ...GOOD, server_version_num: number }), [])
    }
  })

  test('that is too old or cannot store every text is refused', () => {
    const old = { server_version_num: '140023', server_version: '14.23' }
    assert.throws(() => judge({ ...GOOD, ...old }), /^OperatorError: PostgreSQL 14\.23 is too old; .* 15 or newer$/)
    for (const encoding of ['SQL_ASCII', 'LATIN1']) {
      assert.throws(() => judge({ ...GOOD, server_encoding: encoding }), /ENCODING 'UTF8'/)
    }
  })

  test('that may tear pages (full_page_writes off) is accepted with a warning', () => {
    const notices = judge({ ...GOOD, full_page_writes: 'off' })
    assert.equal(notices.length, 1)
    assert.match(notices[0] ?? '', /full_page_writes off/)
  })
})
