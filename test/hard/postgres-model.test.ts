import type { TestContext } from 'node:test'
import { type ModelStore, modelSuite } from '../model-suite.ts'
import { openPostgres } from '../support/open-postgres.ts'

async function openModel(t: TestContext): Promise<ModelStore> {
  const { store: first, reopen, plants } = await openPostgres(t)
  let store = first
  return {
    get store() {
      return store
    },
    async reopen() {
      store = await reopen()
    },
    plants,
    close: () => store.close(),
  }
}

modelSuite('PostgreSQL', openModel)
