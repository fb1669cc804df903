import { randomBytes } from 'node:crypto'
import { Client } from 'pg'
import type { NewPlant } from '../../src/plant.ts'
import { CITUS_VARIABLE, newCitusDatabase } from './citus.ts'
import { PostgresServer } from './postgres-server.ts'
import { query } from './query.ts'

export { query } from './query.ts'

/** Names the server on which tests make their databases, as `postgres://…`; one that may create databases. */
export const SERVER_VARIABLE = 'PLANTSTORE_TEST_POSTGRES'

/** What a test context has to offer for cleaning up; the last registered is cleaned up first by cleanUp alone. */
type CleanUp = (work: () => Promise<void>) => unknown

let own: Promise<PostgresServer> | undefined

/** `npm test` starts one server for all files (global-setup.ts); a file that runs alone starts its own. */
async function serverUrl(): Promise<URL> {
  const named = process.env[SERVER_VARIABLE]
  if (named !== undefined && named !== '') return new URL(named)
  own ??= PostgresServer.create()
  return new URL((await own).url())
}

/** The address of a new, empty database, which is gone after the test. */
export async function newDatabase(cleanUp: CleanUp, options = ''): Promise<string> {
  const citus = process.env[CITUS_VARIABLE] ?? ''
  if (citus !== '') return newCitusDatabase(citus, cleanUp)
  const server = await serverUrl()
  const name = `plantstore_test_${randomBytes(6).toString('hex')}`
  await onServer(server, `CREATE DATABASE ${name} ${options}`)
  cleanUp(() => onServer(server, `DROP DATABASE ${name} WITH (FORCE)`))
  const database = new URL(server)
  database.pathname = name
  return database.href
}

/** Takes an exclusive lock on the plants. Resolves with a function that releases it. */
export async function lockPlants(url: string): Promise<() => Promise<void>> {
  const client = new Client({ connectionString: url })
  client.on('error', () => {})
  await client.connect()
  await client.query('BEGIN')
  await client.query('LOCK TABLE plants IN ACCESS EXCLUSIVE MODE')
  // Tokens can still be looked up.
  await client.query('LOCK TABLE tokens IN EXCLUSIVE MODE')
  return () => client.end()
}

/** All plants of a database by id, read past the store. */
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
