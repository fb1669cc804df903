import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { isDeepStrictEqual, promisify } from 'node:util'
import pino from 'pino'
import { buildApp } from '../../src/http/app.ts'
import { readContract } from '../../src/http/request/operations.ts'
import { readConfig } from '../../src/settings/config.ts'
import { cleanUp } from '../support/clean-up.ts'
import { createPlant } from '../support/create-plant.ts'
import { tempFolder } from '../support/files.ts'
import { send } from '../support/load.ts'
import { isLinux, notTestedHere } from '../support/not-tested.ts'
import { openStore as openPostgresStore } from '../support/open-postgres.ts'
import { storeAt } from '../support/open-sqlite.ts'
import { newDatabase, query } from '../support/postgres.ts'
import { TOKEN } from '../support/process.ts'
import { inFile } from '../support/sqlite-indexes.ts'
import { until } from '../support/until.ts'

const ROUNDS = 5

/** Counts the resources of this process by kind, and on Linux its descriptors and threads. */
function held(): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const kind of process.getActiveResourcesInfo()) counts[kind] = (counts[kind] ?? 0) + 1
  // The test itself runs in an immediate.
  delete counts['Immediate']
  if (isLinux) {
    counts['descriptors'] = readdirSync('/proc/self/fd').length
    counts['threads'] = readdirSync('/proc/self/task').length
  }
  return counts
}

/** Returns held() once it is stable: the runtime frees threads and sockets after it has reported their end. */
async function heldAtRest(): Promise<Record<string, number>> {
  let last = held()
  for (let same = 0; same < 20; same++) {
    await new Promise((resolve) => setTimeout(resolve, 10))
    const now = held()
    if (!isDeepStrictEqual(now, last)) same = 0
    last = now
  }
  return last
}

/** Checks that repeated `work` releases all resources. The first run may keep some, such as a pool of threads. */
async function assertNoLeak(t: TestContext, work: () => Promise<void>): Promise<void> {
  if (!isLinux) notTestedHere(t, 'leaks of descriptors and threads, because only Linux lists them')
  await work()
  const before = await heldAtRest()
  for (let i = 0; i < ROUNDS; i++) await work()
  const after = await heldAtRest()
  const leaked = Object.entries(after).filter(([kind, count]) => count > (before[kind] ?? 0))
  assert.deepEqual(leaked, [], `before: ${JSON.stringify(before)}`)
}

test('opening, using and closing a SQLite store releases all resources', async (t) => {
  const path = join(tempFolder(t), 'plants.db')
  let id = 0n
  await assertNoLeak(t, async () => {
    const store = await storeAt(path)
    await createPlant(store, { id: id++, name: 'a', tag: undefined }, { mustBeNew: true })
    await store.tokens.listTokens()
    await store.close()
  })
})

test('opening, using and closing a PostgreSQL store, or failing to open one, releases all resources', async (t) => {
  const url = await newDatabase(t)
  let id = 0n
  await assertNoLeak(t, async () => {
    const store = await openPostgresStore(t, url)
    await createPlant(store, { id: id++, name: 'a', tag: undefined }, { mustBeNew: true })
    for await (const plants of store.exportPlants({ tags: [], words: [] }, 'id')) if (plants.length > 0) break
    await (await store.startDryRun('add')).importPlants([{ id, name: 'b', tag: undefined }])
    await store.close()
    await assert.rejects(openPostgresStore(t, `${url}_absent`), /does not exist/)
  })
  const sessions = "SELECT FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'plantstore'"
  await until(async () => (await query(url, sessions)).length === 0, 'the database has sessions left')
})

test('a SQLite store that fails to open releases all resources', async (t) => {
  const folder = tempFolder(t)
  const path = join(folder, 'plants.db')
  await (await storeAt(path)).close()
  const whole = readFileSync(path)
  const malformed = join(folder, 'malformed.db')
  writeFileSync(malformed, Buffer.from(whole).fill(0xa5, 100, 4096))
  const newer = join(folder, 'newer.db')
  writeFileSync(newer, whole)
  inFile(newer, (db) => db.exec("INSERT INTO migrations VALUES (999999, 'from the future')"))
  const incomplete = join(folder, 'incomplete.db')
  writeFileSync(incomplete, whole)
  inFile(incomplete, (db) => db.exec('DROP TABLE write_check'))
  await assertNoLeak(t, async () => {
    for (const bad of [malformed, newer, incomplete]) await assert.rejects(storeAt(bad), /^OperatorError: store /)
  })
})

test('a refused second opening of a served file releases all resources and does not harm the first', async (t) => {
  const folder = tempFolder(t)
  const path = join(folder, 'plants.db')
  await (await storeAt(path)).close()
  const lock = new DatabaseSync(`${path}.lock`)
  lock.exec('BEGIN EXCLUSIVE')
  await assertNoLeak(t, () => assert.rejects(storeAt(path), /another service already serves it/))
  lock.close()
})

test('starting, using and stopping the service releases all resources', async (t) => {
  const path = join(tempFolder(t), 'plants.db')
  const config = readConfig({ store: `sqlite:${path}`, token: TOKEN, port: '0' }, {})
  const contract = readContract()
  const log = pino({ level: 'silent' })
  await assertNoLeak(t, async () => {
    const store = await storeAt(path)
    cleanUp(t, () => store.close())
    const app = buildApp({ config, contract, store, log, state: { current: 'serving' } })
    await app.clients.listen({ host: config.host, port: 0 })
    const { port } = app.clients.server.address() as AddressInfo
    const body = '{"id":1,"name":"a"}'
    assert.equal((await send('POST', `http://127.0.0.1:${port}/plants`, { body })).status, 200)
    await app.close()
    await store.close()
  })
})

/** Runs a script of test/support under a low limit of descriptors. @returns its standard output */
async function outputOf(script: string, ...args: string[]): Promise<string> {
  const path = fileURLToPath(new URL(`../support/${script}`, import.meta.url))
  const command = 'ulimit -n 100; exec "$0" "$@"'
  // Without the variable, the script is no part of this test run. Its own test runner prints lines after its lines.
  const env = { ...process.env, NODE_TEST_CONTEXT: undefined }
  const { stdout } = await promisify(execFile)('sh', ['-c', command, process.execPath, path, ...args], { env })
  return stdout
}

/** The states of a service that has no descriptor left. */
async function linesOf(warmth: 'cold' | 'warm', engine: 'sqlite' | 'postgres'): Promise<string[]> {
  const lines = (await outputOf('without-descriptors.ts', warmth, engine)).split('\n')
  return lines.slice(0, engine === 'postgres' ? 4 : 2)
}

const NONE = '503 503 {"error":50301,"message":"no search can start; the process may have run out of file descriptors"}'
const WELL = '200 200 {"status":"ready"}'

test('SQLite: the service reports that it is not ready while it has no descriptor for searches', async (t) => {
  if (!isLinux) return notTestedHere(t, 'the limit of descriptors, which is set as on Linux')
  const [cold, warm] = await Promise.all([linesOf('cold', 'sqlite'), linesOf('warm', 'sqlite')])
  assert.deepEqual(cold, [NONE, WELL])
  // Searches continue with a reader that is open already.
  assert.deepEqual(warm, [WELL, WELL])
})

test('PostgreSQL: without free descriptors the service uses its open connections, if it has any', async (t) => {
  if (!isLinux) return notTestedHere(t, 'the limit of descriptors, which is set as on Linux')
  const OUT = '503 503 {"error":50301,"message":"the store is out of reach; a later retry is safe"}'
  assert.deepEqual(await linesOf('cold', 'postgres'), [WELL, '60 of 60 are done', OUT, WELL])
})

test('a scheduled backup fails, and the process goes on, if no descriptor is left for the process of the backup', async (t) => {
  if (!isLinux) return notTestedHere(t, 'the limit of descriptors, which is set as on Linux')
  assert.equal(await outputOf('backup-without-descriptors.ts', tempFolder(t)), '1 failed: EMFILE\n')
})
