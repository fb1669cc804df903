import { randomBytes } from 'node:crypto'
import { Client } from 'pg'
import type { NewPlant } from '../../src/domain/plant.ts'
import { CITUS_VARIABLE, newCitusDatabase } from './citus.ts'
import { cleanUp, type Scene } from './clean-up.ts'
import { PostgresServer } from './postgres-server.ts'
import { query } from './query.ts'
import { until } from './until.ts'

export { query } from './query.ts'

/** The variable with the address of the server (`postgres://…`) on which tests create databases. */
export const SERVER_VARIABLE = 'PLANTSTORE_TEST_POSTGRES'

/** Registers work for the end of a test or of the process. */
type AtEnd = (work: () => Promise<void>) => unknown

let own: Promise<PostgresServer> | undefined

/** The address of the server: global-setup.ts starts one for all files, and a file that runs alone starts its own. */
async function serverUrl(): Promise<URL> {
  const named = process.env[SERVER_VARIABLE]
  if (named !== undefined && named !== '') return new URL(named)
  own ??= PostgresServer.create()
  return new URL((await own).url())
}

/** Creates an empty database, which is dropped after the test. @returns its address */
export const newDatabase = (scene: Scene, options?: string): Promise<string> =>
  createDatabase((drop) => cleanUp(scene, drop), options)

/** Creates an empty database, and hands over what drops it. @returns its address */
export async function createDatabase(atEnd: AtEnd, options = ''): Promise<string> {
  const citus = process.env[CITUS_VARIABLE] ?? ''
  if (citus !== '') return newCitusDatabase(citus, atEnd)
  const server = await serverUrl()
  const name = `plantstore_test_${randomBytes(6).toString('hex')}`
  await onServer(server, `CREATE DATABASE ${name} ${options}`)
  atEnd(() => onServer(server, `DROP DATABASE ${name} WITH (FORCE)`))
  const database = new URL(server)
  database.pathname = name
  return database.href
}

const EMPTY =
  'TRUNCATE plants, tokens, id_reservations, webhooks, webhook_attempts, change_history, change_ticks, change_plants, changes, actions, action_rows, steady_times'

/** Empties the tables of a store, once the last statements of its sessions have ended. */
export async function emptyDatabase(url: string): Promise<void> {
  await query(url, EMPTY)
}

/** Takes an exclusive lock on the plants. Resolves with a function that releases the lock. */
export async function lockPlants(url: string): Promise<() => Promise<void>> {
  const client = new Client({ connectionString: url })
  client.on('error', () => {})
  await client.connect()
  await client.query('BEGIN')
  await client.query('LOCK TABLE plants IN ACCESS EXCLUSIVE MODE')
  // This lock still allows look-ups of tokens.
  await client.query('LOCK TABLE tokens IN EXCLUSIVE MODE')
  return () => client.end()
}

/** Counts the sessions of a database that wait for a lock. @param what a condition of theirs */
export const lockedOut = async (url: string, what = 'true'): Promise<number> =>
  (
    await query(
      url,
      `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND ${what}`,
    )
  ).length

/** Waits until so many sessions of a database wait for a lock. */
export const untilLockedOut = (url: string, count: number, what?: string): Promise<void> =>
  until(async () => (await lockedOut(url, what)) >= count, `${count} statements do not wait for a lock`)

/** All plants of a database by id, read without the store. */
export async function plantsOf(url: string): Promise<NewPlant[]> {
  const rows = await query<{ id: string; name: string; tag: string | null }>(
    url,
    'SELECT id, name, tag FROM plants ORDER BY id',
  )
  return rows.map(({ id, name, tag }) => ({ id: BigInt(id), name, tag: tag ?? undefined }))
}

async function onServer(server: URL, sql: string): Promise<void> {
  await query(server.href, sql)
}
