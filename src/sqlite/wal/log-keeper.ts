import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { BUSY_TIMEOUT, transaction } from '../connection.ts'
import { FULL, isBusy, isFull, sqliteFault } from '../errors.ts'
import { advanceMark } from './log-mark.ts'

/** In pages: 16 MiB. A page that many groups have changed is then copied into the file once. */
const MAX_LOG = 4000
/** In pages: 2 MiB. Between the two bounds the log may become as long as the store. */
const MIN_LOG = 512
/**
 * Milliseconds between attempts to copy the log into the file on a full disk: each copies pages until the space ends.
 */
const ROOM_INTERVAL = 200

/** Commits, and keeps the write-ahead log in proportion to the store. */
export class LogKeeper {
  readonly #db: DatabaseSync
  readonly #folds: boolean
  readonly #storeSize: StatementSync
  readonly #logSize: StatementSync
  readonly #foldNow: StatementSync
  readonly #emptyNow: StatementSync
  /**
   * The error of the full disk. Nothing is written until the log was copied into the file, as the log would take all
   * space again.
   */
  #full: unknown
  #triedAt = Number.NEGATIVE_INFINITY

  /** @param folds whether its transactions also copy the log into the file, which can take long */
  constructor(db: DatabaseSync, { folds }: { folds: boolean }) {
    this.#db = db
    this.#folds = folds
    this.#storeSize = db.prepare('PRAGMA page_count')
    this.#logSize = db.prepare('PRAGMA wal_checkpoint(NOOP)')
    this.#foldNow = db.prepare('PRAGMA wal_checkpoint(PASSIVE)')
    this.#emptyNow = db.prepare('PRAGMA wal_checkpoint(TRUNCATE)')
    db.exec(`PRAGMA journal_size_limit = ${MAX_LOG * 4096}`)
  }

  transaction<T>(work: () => T): T {
    if (this.#full !== undefined) this.#empty()
    const result = this.#noting(() => transaction(this.#db, work))
    if (this.#folds && this.isLong()) this.fold()
    return result
  }

  /** Whether the log is long enough to be copied into the file. */
  isLong(): boolean {
    const pages = Number(this.#logSize.get()?.['log'] ?? 0)
    if (pages < MIN_LOG) return false
    return pages >= Math.min(MAX_LOG, Math.max(MIN_LOG, Number(this.#storeSize.get()?.['page_count'] ?? 0)))
  }

  /**
   * Copies the log into the file (a passive checkpoint), so that SQLite can write it from its start again. Pages that
   * readers still need stay in the log.
   */
  fold(): void {
    this.#unlessHarmless(() => {
      if (this.#full === undefined) this.#unlessHarmless(() => this.#noting(() => this.#advanceMark()))
      const { log, checkpointed } = this.#noting(() => this.#foldNow.get()) ?? {}
      // This mark is the first write of the restarted log, unless another process writes in between.
      if (log === checkpointed && this.#full === undefined) this.#noting(() => this.#advanceMark())
    })
  }

  /**
   * Copies the whole log into the file and frees its space, after another connection found the disk full. Nothing is
   * written before that.
   */
  makeRoom(): void {
    this.#full ??= Object.assign(new Error('database or disk is full'), { errcode: FULL })
    this.#empty()
  }

  /** @throws the error of the full disk while there is still no space */
  #empty(): void {
    const now = performance.now()
    if (now - this.#triedAt < ROOM_INTERVAL) throw this.#full
    this.#triedAt = now
    // The writer must not wait for a reader that has the log open.
    this.#db.exec('PRAGMA busy_timeout = 0')
    try {
      this.#emptyNow.get()
    } finally {
      this.#db.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT}`)
    }
    this.#full = undefined
    this.#unlessHarmless(() => this.#noting(() => this.#advanceMark()))
  }

  #advanceMark(): void {
    transaction(this.#db, () => advanceMark(this.#db))
  }

  /** Remembers that the disk was full. The connection of the event loop leaves freeing space to the thread. */
  #noting<T>(work: () => T): T {
    try {
      return work()
    } catch (error) {
      const fault = sqliteFault(error)
      if (this.#folds && fault !== undefined && isFull(fault)) this.#full = error
      throw error
    }
  }

  /** Ignores a full disk and a write of another process: the work can wait. */
  #unlessHarmless(work: () => void): void {
    try {
      work()
    } catch (error) {
      const fault = sqliteFault(error)
      if (fault === undefined || !(isFull(fault) || isBusy(fault))) throw error
    }
  }
}
