/** How one kind of work uses the connections of a store. */
export interface PoolUse {
  /** `all` for all kinds together. */
  readonly work: 'all' | 'search' | 'import' | 'long'
  /** Connections that it may use at once now. */
  readonly limit: number
  readonly taken: number
  /** Statements that wait for a connection. */
  readonly waiting: number
}

/** The connections of a store that has a bounded number of them. */
export interface StorePool {
  /** Exports and dry runs that it runs at once; further ones wait for a connection. */
  readonly maxLongWork: number
  uses(): readonly PoolUse[]
}
