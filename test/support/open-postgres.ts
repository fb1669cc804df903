import { after } from 'node:test'
import { CitusStore } from '../../src/citus/store.ts'
import type { ServedStore } from '../../src/http/metrics/service-metrics.ts'
import { Pool } from '../../src/postgres/pool/pool.ts'
import { PoolShare } from '../../src/postgres/pool/pool-share.ts'
import { PostgresStore, type PostgresStoreOptions } from '../../src/postgres/store.ts'
import { readPostgresAddress } from '../../src/settings/postgres-address.ts'
import { isDistributed } from './citus.ts'
import { cleanUp, type Scene } from './clean-up.ts'
import { createDatabase, emptyDatabase, newDatabase, plantsOf, query } from './postgres.ts'
import type { StoreUnderTest } from './store-under-test.ts'

const options = (given: Partial<PostgresStoreOptions>): PostgresStoreOptions => ({
  maxWaiting: 10_000,
  connections: 20,
  timeout: 10_000,
  retryTime: 0,
  create: true,
  onNotice: () => {},
  ...given,
})

/** Opens a store in the database at an address, and closes the store after the test. */
export async function openStore(
  t: Scene,
  url: string,
  given: Partial<PostgresStoreOptions> = {},
): Promise<PostgresStore> {
  const address = readPostgresAddress(url.replace(/^citus:/, 'postgres:'), {})
  const store = await PostgresStore.open(address, options(given))
  cleanUp(t, () => store.close())
  return store
}

/** Opens a store in a database of its own. */
export async function openNew(
  t: Scene,
  given?: Partial<PostgresStoreOptions>,
): Promise<{ readonly url: string; readonly store: PostgresStore }> {
  const url = await newDatabase(t)
  return { url, store: await openStore(t, url, given) }
}

/** Opens a store whose plants Citus distributes. */
export async function openCitus(t: Scene, url: string, given: Partial<PostgresStoreOptions> = {}) {
  const store = await CitusStore.open(readPostgresAddress(url, {}), options(given))
  cleanUp(t, () => store.close())
  return store
}

/** Opens a pool of two connections, and closes it after the test. @returns the share of a work in it */
export function shareOf(t: Scene, url: string, { max = 2, timeout = 20_000 } = {}): PoolShare {
  const pool = new Pool({ address: readPostgresAddress(url, {}), max: 2, timeout, onTrouble: () => {} })
  cleanUp(t, () => pool.close())
  return new PoolShare(pool, max)
}

/** Opens the store of a test that holds on every engine in PostgreSQL. */
export const openEither = (t: Scene, url: string, given: Partial<PostgresStoreOptions> = {}): Promise<ServedStore> =>
  isDistributed() ? openCitus(t, url, given) : openStore(t, url, given)

/** A database of this process with the schema of a new store. */
let template: Promise<string> | undefined
const drops: (() => Promise<void>)[] = []
after(async () => {
  for (const drop of drops) await drop()
})

async function makeTemplate(): Promise<string> {
  const url = await createDatabase((drop) => drops.push(drop))
  const store = await PostgresStore.open(readPostgresAddress(url, {}), options({}))
  await store.close()
  return new URL(url).pathname.slice(1)
}

/** Empty databases of this process, which the next test uses instead of creating one. */
const free: string[] = []

/** Creates a database with the schema of a new store. A copy takes a third of the processor time of making it. */
async function newStoreDatabase(t: Scene): Promise<string> {
  if (isDistributed()) return newDatabase(t)
  template ??= makeTemplate()
  const copy = `TEMPLATE ${await template} STRATEGY file_copy`
  const url = free.pop() ?? (await createDatabase((drop) => drops.push(drop), copy))
  cleanUp(t, async () => {
    await emptyDatabase(url)
    // A copy has the history of the template, in place of which the next store begins its own.
    await query(url, "INSERT INTO change_history VALUES ('', 'another database')")
    free.push(url)
  })
  return url
}

/** Opens a PostgreSQL store in a new database, for the store suite. */
export async function openPostgres(t: Scene, { maxWaiting = 10_000 } = {}): Promise<StoreUnderTest> {
  const url = await newStoreDatabase(t)
  let store = await openEither(t, url, { maxWaiting })
  return {
    store,
    async reopen() {
      await store.close()
      store = await openEither(t, url, { maxWaiting })
      return store
    },
    plants: () => plantsOf(url),
  }
}
