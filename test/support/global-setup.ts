// Before the first test file of a run and after the last: one PostgreSQL for all of them.
import { SERVER_VARIABLE } from './postgres.ts'
import { hasPostgres } from './postgres-binaries.ts'
import { PostgresServer } from './postgres-server.ts'

let server: PostgresServer | undefined

export async function globalSetup(): Promise<void> {
  // Without one, the tests that need it fail and say so; the others have something to tell as well.
  if ((process.env[SERVER_VARIABLE] ?? '') !== '' || !hasPostgres()) return
  server = await PostgresServer.create()
  process.env[SERVER_VARIABLE] = server.url()
}

export async function globalTeardown(): Promise<void> {
  await server?.close()
}
