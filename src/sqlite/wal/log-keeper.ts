import { statSync } from 'node:fs'
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { BUSY_TIMEOUT, transaction } from '../connection.ts'
import { fullDisk, isBusy, isFull, sqliteFault } from '../errors.ts'
import { asFull, giveReserve, hasRoomToGrow, keepReserve, PAGE } from '../open/full-disk.ts'
import { advanceMark } from './log-mark.ts'

/** Pages: 16 MiB. A checkpoint writes a page once, however many groups have changed it. */
const MAX_LOG = 4000
/**
 * Pages: 2 MiB. Between these two bounds, the log may become as long as the store, unless it makes the store this much
 * longer: the reserve must have room for a checkpoint.
 */
const MIN_LOG = 512
/** Milliseconds between two checkpoints on a full disk. Each copies pages until the space ends. */
const ROOM_INTERVAL = 200
/** Milliseconds that a restart of the log waits for short reads. No write runs meanwhile. */
const RESTART_TIMEOUT = 500

/** Runs write transactions, and checkpoints the write-ahead log when it is long in proportion to the store. */
export class LogKeeper {
  readonly #db: DatabaseSync
  readonly #path: string
  readonly #checkpoints: boolean
  readonly #storeSize: StatementSync
  readonly #logSize: StatementSync
  readonly #checkpointPassive: StatementSync
  readonly #checkpointTruncate: StatementSync
  /**
   * The error of the full disk. No transaction runs before a checkpoint of the whole log has succeeded, as the log
   * would take all space again.
   */
  #full: unknown
  /** The last error of a transaction that would have made the store too long for the disk. */
  #refusal: unknown
  #triedAt = Number.NEGATIVE_INFINITY

  /** @param checkpoints whether transactions also checkpoint a long log, which can take tens of milliseconds */
  constructor(db: DatabaseSync, { checkpoints }: { checkpoints: boolean }) {
    this.#db = db
    this.#path = location(db)
    this.#checkpoints = checkpoints
    this.#storeSize = db.prepare('PRAGMA page_count')
    this.#logSize = db.prepare('PRAGMA wal_checkpoint(NOOP)')
    this.#checkpointPassive = db.prepare('PRAGMA wal_checkpoint(PASSIVE)')
    this.#checkpointTruncate = db.prepare('PRAGMA wal_checkpoint(TRUNCATE)')
    db.exec(`PRAGMA journal_size_limit = ${MAX_LOG * PAGE}`)
  }

  /**
   * Runs `work` in one transaction. Where the disk is nearly full, it refuses a transaction that makes the store longer:
   * the log must fit into the file.
   *
   * @param isDelete whether the transaction only deletes, so that a nearly full disk does not refuse it
   */
  transaction<T>(work: () => T, isDelete = false): T {
    if (this.#full !== undefined) this.#truncate()
    const before = this.#pages()
    try {
      const result = this.#noteFullDisk(() =>
        transaction(this.#db, () => {
          const result = work()
          const added = this.#pages() - before
          if (!isDelete && added > 0) this.mustHaveRoom(added)
          return result
        }),
      )
      if (this.#checkpoints && this.isLong()) this.checkpoint()
      return result
    } catch (error) {
      // Then a shorter log may do.
      if (this.#checkpoints && error === this.#refusal && this.#growth() > 0) this.checkpoint()
      throw error
    }
  }

  /**
   * @param added pages that the transaction adds, first to the log and then to the store's file
   * @throws an error like that of a full disk when the log may not fit into the file
   */
  mustHaveRoom(added = 0): void {
    if (hasRoomToGrow(this.#path, this.#growth() + added)) return
    this.#refusal = fullDisk()
    throw this.#refusal
  }

  /** Whether the log is long enough for a checkpoint. */
  isLong(): boolean {
    const pages = Number(this.#logSize.get()?.['log'] ?? 0)
    if (pages < MIN_LOG) return false
    return pages >= Math.min(MAX_LOG, Math.max(MIN_LOG, this.#pages())) || this.#growth() >= MIN_LOG
  }

  #pages(): number {
    return Number(this.#storeSize.get()?.['page_count'] ?? 0)
  }

  /** The pages by which a checkpoint makes the file longer. */
  #growth(): number {
    return this.#pages() - statSync(this.#path).size / PAGE
  }

  /**
   * Copies the log into the file by a passive checkpoint (https://sqlite.org/wal.html#ckpt), so that SQLite can restart
   * the log. Pages that readers still need stay in the log.
   */
  checkpoint(): void {
    this.#checkpoint(this.#checkpointPassive)
  }

  /** Copies the whole log into the file and truncates it, unless readers need it for longer than RESTART_TIMEOUT. */
  restart(): void {
    this.#db.exec(`PRAGMA busy_timeout = ${RESTART_TIMEOUT}`)
    try {
      this.#checkpoint(this.#checkpointTruncate)
    } finally {
      this.#db.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT}`)
    }
  }

  #checkpoint(statement: StatementSync): void {
    this.#ignoreHarmless(() => {
      if (this.#full === undefined) this.#ignoreHarmless(() => this.#noteFullDisk(() => this.#advanceMark()))
      const { log, checkpointed } = this.#noteFullDisk(() => statement.get()) ?? {}
      // The mark is the first write to the restarted log, unless another process writes in between.
      if (log === checkpointed && this.#full === undefined) this.#noteFullDisk(() => this.#advanceMark())
    })
  }

  /**
   * Copies the whole log into the file and truncates it, after another connection found the disk full. No transaction
   * runs before that has succeeded.
   */
  makeRoom(): void {
    this.#full ??= fullDisk()
    this.#truncate()
  }

  /** @throws the error of the full disk while there is still no space */
  #truncate(): void {
    const now = performance.now()
    if (now - this.#triedAt < ROOM_INTERVAL) throw this.#full
    this.#triedAt = now
    // The checkpoint must not wait for readers, which keep it from truncating the log.
    this.#db.exec('PRAGMA busy_timeout = 0')
    try {
      this.#truncateWithReserve()
    } finally {
      this.#db.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT}`)
    }
    this.#full = undefined
    if (hasRoomToGrow(this.#path, 0)) keepReserve(this.#path)
    else giveReserve(this.#path)
    this.#ignoreHarmless(() => this.#noteFullDisk(() => this.#advanceMark()))
  }

  #truncateWithReserve(): void {
    const truncate = () => this.#noteFullDisk(() => this.#checkpointTruncate.get())
    try {
      truncate()
    } catch (error) {
      if (error !== this.#full || !giveReserve(this.#path)) throw error
      truncate()
    }
  }

  #advanceMark(): void {
    transaction(this.#db, () => advanceMark(this.#db))
  }

  /** Remembers an error of a full disk. The connection of the event loop leaves it to the thread to free space. */
  #noteFullDisk<T>(work: () => T): T {
    try {
      return work()
    } catch (cause) {
      const error = asFull(this.#db, cause)
      const fault = sqliteFault(error)
      if (this.#checkpoints && fault !== undefined && isFull(fault) && error !== this.#refusal) this.#full = error
      throw error
    }
  }

  /** Ignores a full disk and a busy database: a later call does the same work. */
  #ignoreHarmless(work: () => void): void {
    try {
      work()
    } catch (error) {
      const fault = sqliteFault(error)
      if (fault === undefined || !(isFull(fault) || isBusy(fault))) throw error
    }
  }
}

function location(db: DatabaseSync): string {
  const path = db.location()
  if (path === null) throw new Error('the store is not in a file')
  return path
}
