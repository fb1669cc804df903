import assert from 'node:assert/strict'
import { join } from 'node:path'
import type { NewPlant } from '../../src/domain/plant.ts'
import type { SqliteStoreOptions } from '../../src/sqlite/store.ts'
import { SqliteStore } from '../../src/sqlite/store.ts'
import { TESTER } from './actor.ts'
import { cleanUp, type Scene } from './clean-up.ts'
import { plantsIn, tempFolder } from './files.ts'
import type { StoreUnderTest } from './store-under-test.ts'
import { wholeFile } from './whole-file.ts'

/** Opens a new SQLite store in its own folder. */
export async function openSqlite(
  t: Scene,
  {
    maxWaiting = 10_000,
    path = join(tempFolder(t), 'plants.db'),
    ...options
  }: Partial<SqliteStoreOptions> & { path?: string } = {},
): Promise<StoreUnderTest> {
  const onFatal = (error: Error) => assert.fail(error)
  const open = (): Promise<SqliteStore> =>
    SqliteStore.open(path, { serving: true, create: true, maxWaiting, onFatal, ...options })
  let store = await open()
  cleanUp(t, () => store.close())

  return {
    store,
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

/** Stores of this process without plants, which the next test uses in place of a new one. */
const free: StoreUnderTest[] = []
/** It takes longer to delete more plants than to open a store. */
const FEW = 500

/**
 * Opens a store for a test of plants alone: one without plants, whose log may tell of those of other tests. Most of the
 * time of a small test is that of its store, which starts two threads.
 */
export async function openEmptySqlite(t: Scene, options: { maxWaiting?: number } = {}): Promise<StoreUnderTest> {
  if (options.maxWaiting !== undefined) return openSqlite(t, options)
  const under = free.pop() ?? (await openSqlite(wholeFile))
  let isOpen = true
  cleanUp(t, async () => {
    const { store } = under
    if (!isOpen || !(await isEmptied(under))) await store.close()
    else free.push(under)
  })
  return {
    ...under,
    reopen() {
      isOpen = false
      return under.reopen()
    },
  }
}

/** @returns false if the store has too many plants, or if the test has closed it */
async function isEmptied({ store, plants }: StoreUnderTest): Promise<boolean> {
  const left = await plants()
  if (left.length > FEW) return false
  const results = await store.importPlants(left, 'delete', TESTER).catch(() => undefined)
  return results !== undefined
}
