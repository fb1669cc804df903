import assert from 'node:assert/strict'
import { join } from 'node:path'
import type { NewPlant } from '../../src/domain/plant.ts'
import type { SqliteStoreOptions } from '../../src/sqlite/store.ts'
import { SqliteStore } from '../../src/sqlite/store.ts'
import { cleanUp, type Scene } from './clean-up.ts'
import { plantsIn, tempFolder } from './files.ts'
import type { StoreUnderTest } from './store-under-test.ts'

/** Opens a new SQLite store in its own folder. */
export async function openSqlite(
  t: Scene,
  {
    maxWaiting = 10_000,
    path = join(tempFolder(t), 'plants.db'),
    ...options
  }: Partial<SqliteStoreOptions> & { path?: string } = {},
): Promise<StoreUnderTest & { readonly path: string }> {
  const onFatal = (error: Error) => assert.fail(error)
  const open = (): Promise<SqliteStore> =>
    SqliteStore.open(path, { serving: true, create: true, maxWaiting, onFatal, ...options })
  let store = await open()
  cleanUp(t, () => store.close())

  return {
    store,
    path,
    async reopen() {
      await store.close()
      store = await open()
      return store
    },
    async plants() {
      const byId = ([a]: [bigint, unknown], [b]: [bigint, unknown]) => (a < b ? -1 : 1)
      return [...plantsIn(path)].sort(byId).map(([id, { name, tag }]): NewPlant => ({ id, name, tag }))
    },
  }
}
