/** What an operator does with a store as a whole. One engine may leave parts of it to the tools of its database. */
export interface Upkeep {
  /**
   * Writes all of the store to a new file, also while a service serves it. Every write that was answered before the call
   * is in it, and the file gets its name only when it is complete, verified and on stable storage.
   *
   * @throws OperatorError when it can't; nothing is left behind then. The signal's reason
   */
  backup(file: string, options?: LongWork): Promise<BackupReport>

  /**
   * Makes the store from a backup, in place of a missing store, or with `replace` of the present one, which stays under
   * another name.
   *
   * @throws OperatorError when it can't; the present store is as it was then. The signal's reason
   */
  restore(file: string, options: RestoreOptions): Promise<RestoreReport>

  /** Looks through the whole store, also while a service serves it. Changes nothing. */
  check(options?: LongWork): Promise<CheckReport>

  /** What is in the store, also while a service serves it. Changes nothing. */
  status(): Promise<StoreStatus>

  /** How large its files are now. */
  bytes(): StoreBytes
}

export interface StoreBytes {
  readonly store: number
  /** Of the commits that are not folded into the store yet. */
  readonly log: number
}

export interface StoreStatus {
  readonly store: string
  readonly engine: 'sqlite' | 'postgres'
  /** Undefined where the database keeps it. */
  readonly bytes: StoreBytes | undefined
  readonly schema: string | undefined
  readonly plants: number
  /** Those that work. */
  readonly tokens: number
  /** How far the search index is, in words. */
  readonly index: string | undefined
  /** Whether a service on this machine serves it; undefined where nobody can know. */
  readonly isServed: boolean | undefined
}

/** Where long work stands: a share from 0 to 1 while it is known. */
export interface WorkState {
  readonly doing: string
  readonly done: number | undefined
}

export interface LongWork {
  readonly onProgress?: (state: WorkState) => void
  readonly signal?: AbortSignal
}

export interface RestoreOptions extends LongWork {
  readonly replace: boolean
}

/** What a backup holds. */
export interface BackupReport {
  readonly file: string
  readonly bytes: number
  readonly plants: number
  readonly tokens: number
}

export interface RestoreReport {
  readonly store: string
  readonly plants: number
  readonly tokens: number
  /** Where the replaced store lies now. */
  readonly kept: string | undefined
}

/** What a check found. A store is in order when no part has a fault. */
export interface CheckReport {
  readonly store: string
  readonly parts: readonly CheckedPart[]
}

export interface CheckedPart {
  /** `file`, `schema`, `log`, `index`, … */
  readonly part: string
  /** What was looked at, or found, in words. */
  readonly found: string
  readonly faults: readonly string[]
}

/** What became of the backups that a service makes by itself. */
export interface BackupsMade {
  /** Seconds since 1970 of the newest good one, also of an earlier run; 0 when there is none. */
  readonly newest: number
  /** Since the start. */
  readonly failures: number
}
