import type { TestContext } from 'node:test'
import { PostgresStore, type PostgresStoreOptions } from '../../src/postgres/store.ts'
import { readPostgresAddress } from '../../src/settings/postgres-address.ts'
import { cleanUp } from './clean-up.ts'
import { newDatabase, plantsOf } from './postgres.ts'
import type { StoreUnderTest } from './store-under-test.ts'

/** Opens a store in the database at an address, and closes the store after the test. */
export async function openStore(
  t: TestContext,
  url: string,
  options: Partial<PostgresStoreOptions> = {},
): Promise<PostgresStore> {
  const store = await PostgresStore.open(readPostgresAddress(url, {}), {
    maxWaiting: 10_000,
    connections: 20,
    timeout: 10_000,
    retryTime: 0,
    create: true,
    onNotice: () => {},
    ...options,
  })
  cleanUp(t, () => store.close())
  return store
}

/** Opens a PostgreSQL store in a new database, for the store suite. */
export async function openPostgres(t: TestContext, { maxWaiting = 10_000 } = {}): Promise<StoreUnderTest> {
  const url = await newDatabase((work) => cleanUp(t, work))
  let store = await openStore(t, url, { maxWaiting })
  return {
    store,
    async reopen() {
      await store.close()
      store = await openStore(t, url, { maxWaiting })
      return store
    },
    plants: () => plantsOf(url),
  }
}
