import type { PoolUse, StorePool } from '../../store-pool.ts'
import type { Metrics } from './metrics.ts'

/** Registers the metrics of the connections to the store. */
export function observePool(metrics: Metrics, pool: StorePool): void {
  const each = (read: (use: PoolUse) => number) => () =>
    pool.uses().map((use) => [{ work: use.work }, read(use)] as const)
  metrics.series(
    'plantstore_store_connections',
    each(({ taken }) => taken),
  )
  metrics.series(
    'plantstore_store_connections_limit',
    each(({ limit }) => limit),
  )
  metrics.series(
    'plantstore_store_connections_waiting',
    each(({ waiting }) => waiting),
  )
  const all = () => pool.uses().find(({ work }) => work === 'all')
  metrics.bound(
    'storeConnections',
    () => all()?.limit ?? 0,
    () => all()?.taken ?? 0,
  )
}
