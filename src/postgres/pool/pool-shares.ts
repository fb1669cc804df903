import type { PoolUse, StorePool } from '../../store-pool.ts'
import type { Pool } from './pool.ts'
import { PoolShare } from './pool-share.ts'
import type { SemaphoreUse } from './semaphore.ts'

/** The clients of a store, divided among kinds of work so that none of them can stop another. */
export interface PoolShares {
  /** Tokens, readiness and single plants; without a bound of its own. */
  readonly main: PoolShare
  readonly searches: PoolShare
  readonly imports: PoolShare
  /** Exports and dry runs. */
  readonly long: PoolShare
  /** Counts of all plants. They are made for the metrics too, where none may take the place of an export. */
  readonly counts: PoolShare
}

export interface PoolShareOptions {
  readonly connections: number
  /** Connections that searches may use at once; a third of all by default. */
  readonly searchConnections?: number | undefined
  /** Connections that exports and dry runs may use at once; a third of all by default. */
  readonly longConnections?: number | undefined
}

/** Imports get half of what searches and long work leave. The other half is reserved for single plants. */
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
  }
}

/** What the service shows and needs to know of them. */
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
