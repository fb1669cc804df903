import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import type { StoreAddress } from '../config.ts'
import { SqliteStore } from '../sqlite/store.ts'
import type { Store } from '../store.ts'

/**
 * Opens a store for one command, also while a service serves it, and closes it when the work is done.
 *
 * @param create make the store where there is none
 * @throws OperatorError when it can't be opened
 */
export async function withStore<T>(
  address: StoreAddress,
  { create }: { create: boolean },
  work: (store: Store) => Promise<T>,
): Promise<T> {
  if (create && address.isDefault) mkdirSync(dirname(address.path), { recursive: true, mode: 0o700 })
  const store = await SqliteStore.open(address.path, { serving: false, create, maxWaiting: 1, onFatal: () => {} })
  try {
    return await work(store)
  } finally {
    await store.close()
  }
}
