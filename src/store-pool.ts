/** The use of a store's connections by one kind of work. */
export interface PoolUse {
  /** `all` for all kinds together. */
  readonly work: 'all' | 'search' | 'import' | 'long'
  /** Connections that it may now use at once. */
  readonly limit: number
  readonly taken: number
  /** Statements that wait for a connection. */
  readonly waiting: number
}

/** The connections of a store that has a bounded number of them. */
export interface StorePool {
  /** Exports and dry runs that run at once. Further ones wait for a connection. */
  readonly maxLongWork: number
  uses(): readonly PoolUse[]
}
