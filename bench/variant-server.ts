import { openLog } from '../src/cli/log.ts'
import type { ServiceState } from '../src/http/answer/responder.ts'
import { buildApp } from '../src/http/app.ts'
import { readContract } from '../src/http/request/operations.ts'
import { PostgresStore } from '../src/postgres/store.ts'
import { readConfig, type SqliteAddress } from '../src/settings/config.ts'
import type { PostgresAddress } from '../src/settings/postgres-address.ts'
import { SqliteStore } from '../src/sqlite/store.ts'
import { singleInserts } from './single-inserts.ts'

/**
 * The decision that this variant of the service reverses, to measure it: `one-commit-per-create`; on PostgreSQL
 * `one-insert-per-create` through ten connections.
 */
const variant = process.argv[2]
const config = readConfig({}, process.env)
const store = config.store.engine === 'sqlite' ? await openSqlite(config.store) : await openPostgres(config.store)

function openSqlite({ path }: SqliteAddress): Promise<SqliteStore> {
  return SqliteStore.open(path, {
    serving: true,
    create: true,
    maxWaiting: config.maxWaiting,
    ...(variant === 'one-commit-per-create' ? { maxGroup: 1 } : {}),
    onFatal: (error) => {
      throw error
    },
  })
}

async function openPostgres(address: PostgresAddress): Promise<PostgresStore> {
  const store = await PostgresStore.open(address, {
    create: true,
    maxWaiting: config.maxWaiting,
    connections: 10,
    timeout: config.storeTimeout,
    retryTime: 0,
    onNotice: console.error,
  })
  if (variant === 'one-insert-per-create') store.createPlant = singleInserts(address)
  return store
}

const state: ServiceState = { current: 'serving' }
const app = buildApp({
  config,
  contract: readContract(),
  store,
  log: openLog(config).log,
  state,
})
await app.clients.listen({ host: config.host, port: config.port })
console.log('Ready')
process.on('SIGTERM', async () => {
  await app.close()
  await store.close()
  process.exit()
})
