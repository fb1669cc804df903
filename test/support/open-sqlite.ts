import assert from 'node:assert/strict'
import { join } from 'node:path'
import type { NewPlant } from '../../src/domain/plant.ts'
import type { SqliteStoreOptions } from '../../src/sqlite/store.ts'
import { SqliteStore } from '../../src/sqlite/store.ts'
import { cleanUp, type Scene } from './clean-up.ts'
import { plantsIn, tempFolder } from './files.ts'
import type { StoreUnderTest } from './store-under-test.ts'

/** Opens a store in a file as a service does, which the caller closes. */
export const storeAt = (path: string, options: Partial<SqliteStoreOptions> = {}): Promise<SqliteStore> =>
  SqliteStore.open(path, { serving: true, create: true, maxWaiting: 10_000, onFatal: assert.fail, ...options })

/** Opens a new SQLite store in its own folder. */
export async function openSqlite(
  t: Scene,
  { path = join(tempFolder(t), 'plants.db'), ...options }: Partial<SqliteStoreOptions> & { path?: string } = {},
): Promise<StoreUnderTest & { readonly path: string }> {
  let store = await storeAt(path, options)
  cleanUp(t, () => store.close())

  return {
    store,
    path,
    async reopen() {
      await store.close()
      store = await storeAt(path, options)
      return store
    },
    async plants() {
      const byId = ([a]: [bigint, unknown], [b]: [bigint, unknown]) => (a < b ? -1 : 1)
      return [...plantsIn(path)].sort(byId).map(([id, { name, tag }]): NewPlant => ({ id, name, tag }))
    },
  }
}
