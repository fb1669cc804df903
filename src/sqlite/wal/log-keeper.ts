import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { BUSY_TIMEOUT, transaction } from '../connection.ts'
import { FULL, isBusy, isFull, sqliteFault } from '../errors.ts'
import { advanceMark } from './log-mark.ts'

/** 16 MiB: folding so much of log in at once copies a page that many groups touched once. */
const LONGEST_LOG = 4000
/** 2 MiB. In between the log is as long as the store. */
const SHORTEST_LOG = 512
/** Milliseconds between attempts to fold the log of a store without space: each copies pages up to where the space ends. */
const ROOM_INTERVAL = 200

/** Commits, and keeps the log in proportion to the store. */
export class LogKeeper {
  readonly #db: DatabaseSync
  readonly #folds: boolean
  readonly #storeSize: StatementSync
  readonly #logSize: StatementSync
  readonly #foldNow: StatementSync
  readonly #emptyNow: StatementSync
  /** Why there is no space. Until the log could be folded in nothing is written behind it, as it would take all space anew. */
  #full: unknown
  #triedAt = Number.NEGATIVE_INFINITY

  /** @param folds whether its transactions fold the log in themselves, which can take long */
  constructor(db: DatabaseSync, { folds }: { folds: boolean }) {
    this.#db = db
    this.#folds = folds
    this.#storeSize = db.prepare('PRAGMA page_count')
    this.#logSize = db.prepare('PRAGMA wal_checkpoint(NOOP)')
    this.#foldNow = db.prepare('PRAGMA wal_checkpoint(PASSIVE)')
    this.#emptyNow = db.prepare('PRAGMA wal_checkpoint(TRUNCATE)')
    db.exec(`PRAGMA journal_size_limit = ${LONGEST_LOG * 4096}`)
  }

  transaction<T>(work: () => T): T {
    if (this.#full !== undefined) this.#empty()
    const result = this.#noting(() => transaction(this.#db, work))
    if (this.#folds && this.isLong()) this.fold()
    return result
  }

  /** Whether it is time to fold the log in. */
  isLong(): boolean {
    const pages = Number(this.#logSize.get()?.['log'] ?? 0)
    if (pages < SHORTEST_LOG) return false
    return pages >= Math.min(LONGEST_LOG, Math.max(SHORTEST_LOG, Number(this.#storeSize.get()?.['page_count'] ?? 0)))
  }

  /** Copies the log back into the file, so that it can be written from its start again. What it can't copy stays in it. */
  fold(): void {
    this.#unlessHarmless(() => {
      if (this.#full === undefined) this.#unlessHarmless(() => this.#noting(() => this.#advanceMark()))
      const { log, checkpointed } = this.#noting(() => this.#foldNow.get()) ?? {}
      // This mark begins the log again: nothing is written in between but by another process.
      if (log === checkpointed && this.#full === undefined) this.#noting(() => this.#advanceMark())
    })
  }

  /** Folds the log in whole and gives its space back, for a connection that found none. Nothing is written before that. */
  makeRoom(): void {
    this.#full ??= Object.assign(new Error('database or disk is full'), { errcode: FULL })
    this.#empty()
  }

  /** @throws what took the space away, while there is still none */
  #empty(): void {
    const now = performance.now()
    if (now - this.#triedAt < ROOM_INTERVAL) throw this.#full
    this.#triedAt = now
    // A reader that has the log open must not hold up the writer.
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

  /** Remembers that there was no space. The connection that may not wait leaves the making of room to the other. */
  #noting<T>(work: () => T): T {
    try {
      return work()
    } catch (error) {
      const fault = sqliteFault(error)
      if (this.#folds && fault !== undefined && isFull(fault)) this.#full = error
      throw error
    }
  }

  /** For what may be left for later: there is no space for it, or another process writes. */
  #unlessHarmless(work: () => void): void {
    try {
      work()
    } catch (error) {
      const fault = sqliteFault(error)
      if (fault === undefined || !(isFull(fault) || isBusy(fault))) throw error
    }
  }
}
