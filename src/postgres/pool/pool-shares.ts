import type { PoolUse, StorePool } from '../../domain/store.ts'
import type { Pool } from './pool.ts'
import { PoolShare } from './pool-share.ts'
import type { SemaphoreUse } from './semaphore.ts'

/** The clients of a pool, divided among kinds of work so that no kind can stop another. */
export interface PoolShares {
  /** For tokens, readiness and single plants. It has no bound of its own. */
  readonly main: PoolShare
  readonly searches: PoolShare
  readonly imports: PoolShare
  /** For exports and dry runs. */
  readonly long: PoolShare
  /** For counts of all plants. The metrics need them too, and must not take the client of an export. */
  readonly counts: PoolShare
  /** For reservations of ids. A reservation locks a table, so several clients would wait for each other. */
  readonly reservations: PoolShare
}

export interface PoolShareOptions {
  readonly connections: number
  /** Maximum number of connections for searches; a third of all by default. */
  readonly searchConnections?: number | undefined
  /** Maximum number of connections for exports and dry runs; a third of all by default. */
  readonly longConnections?: number | undefined
}

/** Divides the pool. Imports get half of the clients that searches and long work leave, and single plants the rest. */
export function dividePool(pool: Pool, options: PoolShareOptions): PoolShares {
  const { connections } = options
  const third = Math.max(1, Math.floor(connections / 3))
  const searches = options.searchConnections ?? third
  const long = options.longConnections ?? third
  const imports = Math.max(1, Math.floor((connections - searches - long) / 2))
  const reserved = Math.max(1, connections - searches - long - imports)
  return {
    main: new PoolShare(pool, Number.POSITIVE_INFINITY),
    searches: new PoolShare(pool, searches, { reserved, work: 'searches' }),
    imports: new PoolShare(pool, imports, { reserved, work: 'imports' }),
    long: new PoolShare(pool, long, { reserved, work: 'exports and dry runs' }),
    counts: new PoolShare(pool, 1, { reserved, work: 'counts' }),
    reservations: new PoolShare(pool, 1, { work: 'reservations of ids' }),
  }
}

/** Returns the use of the pool for the metrics, and the bound of long work for HTTP. */
export function storePool(pool: Pool, { searches, imports, long }: PoolShares): StorePool {
  const useOf = (work: PoolUse['work'], { limit, taken, waiting }: SemaphoreUse) => ({ work, limit, taken, waiting })
  return {
    maxLongWork: long.use.limit,
    uses: () => [
      useOf('all', pool.use),
      useOf('search', searches.use),
      useOf('import', imports.use),
      useOf('long', long.use),
    ],
  }
}
