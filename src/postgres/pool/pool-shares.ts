import type { Pool } from './pool.ts'
import { Connections } from './pool-share.ts'

/** How the connections of a store are divided among the kinds of work, so that none of them can stop another. */
export interface Shares {
  /** Tokens, readiness, and single plants: whatever is free. */
  readonly main: Connections
  readonly searches: Connections
  readonly imports: Connections
  /** Exports, counts and dry runs. */
  readonly long: Connections
}

export interface ShareOptions {
  readonly connections: number
  /** Connections that searches may use at once, and exports, counts and dry runs; a third each by default. */
  readonly searchConnections?: number | undefined
  readonly longConnections?: number | undefined
}

/** Half of what searches and long reads leave goes to imports at most; the other half is never theirs. */
export function shares(pool: Pool, options: ShareOptions): Shares {
  const { connections } = options
  const third = Math.max(1, Math.floor(connections / 3))
  const searches = options.searchConnections ?? third
  const long = options.longConnections ?? third
  const imports = Math.max(1, Math.floor((connections - searches - long) / 2))
  const reserved = Math.max(1, connections - searches - long - imports)
  return {
    main: new Connections(pool, Number.POSITIVE_INFINITY),
    searches: new Connections(pool, searches, { reserved, work: 'searches' }),
    imports: new Connections(pool, imports, { reserved, work: 'imports' }),
    long: new Connections(pool, long, { reserved, work: 'exports, counts and dry runs' }),
  }
}
