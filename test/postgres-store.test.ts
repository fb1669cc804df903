import type { TestContext } from 'node:test'
import { PostgresStore } from '../src/postgres/store.ts'
import { readPostgresAddress } from '../src/postgres-address.ts'
import { storeSuite } from './store-suite.ts'
import { cleanUp } from './support/clean-up.ts'
import { newDatabase, plantsOf } from './support/postgres.ts'
import type { StoreUnderTest } from './support/store-under-test.ts'

async function openPostgres(t: TestContext, { maxWaiting = 10_000 } = {}): Promise<StoreUnderTest> {
  const url = await newDatabase((work) => cleanUp(t, work))
  let store = await open()
  cleanUp(t, () => store.close())

  function open(): Promise<PostgresStore> {
    return PostgresStore.open(readPostgresAddress(url, {}), {
      maxWaiting,
      connections: 10,
      statementTimeout: 10_000,
      patience: 0,
      create: true,
      onNotice: () => {},
    })
  }

  return {
    store,
    async reopen() {
      await store.close()
      store = await open()
      return store
    },
    plants: () => plantsOf(url),
  }
}

storeSuite('PostgreSQL', openPostgres)
