/** The long operations on a store as a whole. An engine may leave them to the tools of its database. */
export interface Upkeep {
  /**
   * Writes the whole store to a new file, also while a service serves it. The file has every write that was answered
   * before the call. It gets its name only when it is complete, verified and on stable storage.
   *
   * @throws OperatorError when the backup fails, which leaves no file; the signal's reason
   */
  backup(file: string, options?: LongWork): Promise<BackupReport>

  /**
   * Creates the store from a backup. With `replace`, an existing store stays under another name; without, the restore
   * fails.
   *
   * @throws OperatorError when the restore fails, which leaves the present store as it was; the signal's reason
   */
  restore(file: string, options: RestoreOptions): Promise<RestoreReport>

  /**
   * Checks the whole store, also while a service serves it. Changes nothing but the search index, which it makes anew
   * unless a service uses it. With `dropDamaged`, it first lets a store go on that no service can open.
   */
  check(options?: CheckOptions): Promise<CheckReport>
}

export interface StoreBytes {
  readonly store: number
  /** Bytes of the write-ahead log: commits that no checkpoint has moved into the store yet. */
  readonly log: number
}

export interface StoreStatus {
  readonly store: string
  readonly engine: 'sqlite' | 'postgres'
  /** The sizes of the store's files; absent, as all that is optional here, where a database keeps the store. */
  readonly bytes?: StoreBytes
  /** The number of the newest migration that the store has. */
  readonly schema?: number
  /** The schema to which the next start migrates the store; undefined when it has that one. */
  readonly nextSchema?: number | undefined
  /** The identity of the store, which the names of its scheduled backups have; undefined where there is none. */
  readonly identity?: string | undefined
  readonly plants: number
  readonly tokens: number
  readonly index?: IndexStatus | undefined
  /** Whether a service on this machine serves the store. */
  readonly isServed?: boolean
}

/** The search index: `none` until a service builds it, or how many plants or changes it has or lacks. */
export type IndexStatus =
  | { readonly state: 'none' }
  | { readonly state: 'building'; readonly indexed: number; readonly plants: number }
  | { readonly state: 'ready'; readonly behind: number }

export interface WorkState {
  readonly doing: string
  /** A share from 0 to 1; undefined while it is unknown. */
  readonly done: number | undefined
}

export interface LongWork {
  readonly onProgress?: (state: WorkState) => void
  readonly signal?: AbortSignal
}

export interface CheckOptions extends LongWork {
  /** Whether a service that serves the store makes its search index anew. */
  readonly reindex?: boolean
  /** Whether the store goes on without a part of its write-ahead log that is damaged or missing. */
  readonly dropDamaged?: boolean
}

export interface RestoreOptions extends LongWork {
  readonly replace: boolean
}

export interface Counts {
  readonly plants: number
  readonly tokens: number
}

export interface BackupReport extends Counts {
  readonly file: string
  readonly bytes: number
}

export interface RestoreReport extends Counts {
  readonly store: string
  /** The new path of the replaced store. */
  readonly kept: string | undefined
}

/** The result of a check. A store is in order when no part has a fault. */
export interface CheckReport {
  readonly store: string
  readonly parts: readonly CheckedPart[]
}

export interface CheckedPart {
  /** `file`, `schema`, `log`, `index`, … */
  readonly part: string
  readonly found: string
  readonly faults: readonly string[]
  /** The changes that are gone with a damaged part. */
  readonly dropped?: readonly string[]
}

export interface BackupsMade {
  /** Seconds since 1970 of the newest backup, also of an earlier run; 0 when there is none. */
  readonly newest: number
  readonly failures: number
  /** Failed runs of the operator's hook; undefined without one. */
  readonly hookFailures: number | undefined
}
