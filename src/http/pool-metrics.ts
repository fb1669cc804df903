import { Gauge, type Registry } from '@prometheus-io/client'
import type { PoolUse, StorePool } from '../store-pool.ts'

/** Shows in the metrics how work uses the pool of the store. */
export function observePool(registry: Registry, pool: StorePool): void {
  const gauge = (name: string, help: string, read: (use: PoolUse) => number) =>
    new Gauge({
      name,
      help,
      labelNames: ['work'],
      registers: [registry],
      collect() {
        for (const use of pool.uses()) this.set({ work: use.work }, read(use))
      },
    })
  gauge('plantstore_store_connections', 'Connections to the store in use.', ({ taken }) => taken)
  gauge('plantstore_store_connections_limit', 'Connections to the store that may be in use.', ({ limit }) => limit)
  gauge('plantstore_store_connections_waiting', 'Work that waits for a connection.', ({ waiting }) => waiting)
}
