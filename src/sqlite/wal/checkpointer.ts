import { statSync } from 'node:fs'
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { BUSY_TIMEOUT } from '../connection.ts'
import { fullDisk, isBusy, isFull } from '../errors.ts'
import { advanceEpoch, endCheckpoint } from './epoch.ts'
import { giveReserve, hasRoomToGrow, keepReserve, PAGE } from './reserve.ts'
import { asFull, transaction } from './transaction.ts'

/** Pages: 16 MiB. A checkpoint writes a page once, however many groups have changed it. */
const MAX_WAL = 4000
/**
 * Pages: 2 MiB. Between these two bounds, the WAL may become as long as the store, unless it makes the store this much
 * longer: the reserve must have room for a checkpoint.
 */
const MIN_WAL = 512
/** Milliseconds between two checkpoints on a full disk. Each copies pages until the space ends. */
const ROOM_INTERVAL = 200
/** Milliseconds that a restart of the WAL waits for short reads. No write runs meanwhile. */
const RESTART_TIMEOUT = 500

/** Runs write transactions, and checkpoints the write-ahead log when it is long in proportion to the store. */
export class WalCheckpointer {
  readonly #db: DatabaseSync
  readonly #path: string
  readonly #checkpoints: boolean
  readonly #storeSize: StatementSync
  readonly #walSize: StatementSync
  /**
   * The error of the full disk. No transaction runs before a checkpoint of the whole WAL has succeeded, as the WAL
   * would take all space again.
   */
  #full: unknown
  /** The last error of a transaction that would have made the store too long for the disk. */
  #refusal: unknown
  #triedAt = Number.NEGATIVE_INFINITY

  /** @param checkpoints whether transactions also checkpoint a long WAL, for tens of milliseconds, and free space */
  constructor(db: DatabaseSync, path: string, { checkpoints }: { checkpoints: boolean }) {
    this.#db = db
    this.#path = path
    this.#checkpoints = checkpoints
    this.#storeSize = db.prepare('PRAGMA page_count')
    this.#walSize = db.prepare('PRAGMA wal_checkpoint(NOOP)')
    db.exec(`PRAGMA journal_size_limit = ${MAX_WAL * PAGE}`)
  }

  /**
   * Runs `work` in one transaction. Where the disk is nearly full, it refuses a transaction that makes the store longer:
   * the WAL must fit into the file.
   *
   * @param isDelete whether the transaction only deletes, so that a nearly full disk does not refuse it
   */
  transaction<T>(work: () => T, isDelete = false): T {
    if (this.#full !== undefined) this.#makeRoom()
    try {
      const result = this.#noteFullDisk(() =>
        transaction(this.#db, () => {
          const before = this.#pages()
          const result = work()
          const added = this.#pages() - before
          if (!isDelete && added > 0) this.mustHaveRoom(added)
          return result
        }),
      )
      if (this.#checkpoints && this.isLong()) this.checkpoint()
      return result
    } catch (error) {
      // Without the WAL, the next one may fit.
      if (this.#checkpoints && error === this.#refusal && this.#isDue()) this.restart(0)
      throw error
    }
  }

  /**
   * @param added pages that the transaction adds, first to the WAL and then to the store's file
   * @throws an error like that of a full disk when the WAL may not fit into the file
   */
  mustHaveRoom(added = 0): void {
    if (hasRoomToGrow(this.#path, this.#growth() + added)) return
    this.#refusal = fullDisk()
    throw this.#refusal
  }

  isLong(): boolean {
    const pages = Number(this.#walSize.get()?.['log'] ?? 0)
    return pages >= MIN_WAL && (pages >= Math.min(MAX_WAL, this.#pages()) || this.#growth() >= MIN_WAL)
  }

  #pages(): number {
    return Number(this.#storeSize.get()?.['page_count'] ?? 0)
  }

  /** The pages by which a checkpoint makes the file longer. */
  #growth(): number {
    return this.#pages() - statSync(this.#path).size / PAGE
  }

  /**
   * Copies the WAL into the file by a passive checkpoint (https://sqlite.org/wal.html#ckpt), so that SQLite can restart
   * the WAL. Pages that readers still need stay in the WAL.
   */
  checkpoint(): void {
    this.#checkpoint('PASSIVE')
  }

  /** Copies the whole WAL into the file and shortens it, unless readers need it for longer than `timeout`. */
  restart(timeout = RESTART_TIMEOUT): void {
    this.#withTimeout(timeout, () => this.#checkpoint('RESTART'))
  }

  /** Marks the file before the first write. This commit also shows whether the store is writable. */
  begin(): void {
    this.transaction(() => advanceEpoch(this.#db, true))
    this.#copy('PASSIVE')
  }

  /** Ends a checkpoint that a full disk has cut off, before the connection closes. Like a close, it reports no fault. */
  end(): void {
    try {
      if (this.#checkpoints) endCheckpoint(this.#db)
    } catch {
      // The WAL stays where its pages can't be copied, and the next start ends the checkpoint.
    }
  }

  #checkpoint(mode: 'PASSIVE' | 'RESTART'): void {
    this.#tolerate(() => this.#advanceEpoch(true))
    this.#copy(mode)
  }

  /** The file keeps the mark of the epoch as long as the WAL has what the file lacks, so the WAL is never empty. */
  #copy(mode: 'PASSIVE' | 'RESTART'): void {
    this.#tolerate(() => this.#db.exec(`PRAGMA wal_checkpoint(${mode})`))
    // SQLite shortens a WAL at the first write after its restart.
    if (mode === 'RESTART') this.#db.exec('PRAGMA journal_size_limit = 0')
    this.#tolerate(() => this.#advanceEpoch())
    if (mode === 'RESTART') this.#db.exec(`PRAGMA journal_size_limit = ${MAX_WAL * PAGE}`)
  }

  /**
   * Frees the reserve, copies the whole WAL into the file, truncates it, and keeps the reserve again if it can. Throws
   * the error of the full disk while there is still no space.
   */
  #makeRoom(): void {
    if (!this.#isDue()) throw this.#full
    giveReserve(this.#path)
    // The checkpoint must not wait for readers, which keep it from truncating the WAL.
    this.#withTimeout(0, () => this.#noteFullDisk(() => this.#db.exec('PRAGMA wal_checkpoint(TRUNCATE)')))
    this.#full = undefined
    if (hasRoomToGrow(this.#path, 0)) keepReserve(this.#path)
    this.#tolerate(() => this.#advanceEpoch())
  }

  /** Whether ROOM_INTERVAL has passed since this was true. */
  #isDue(): boolean {
    const now = performance.now()
    if (now - this.#triedAt < ROOM_INTERVAL) return false
    this.#triedAt = now
    return true
  }

  #withTimeout(milliseconds: number, work: () => void): void {
    this.#db.exec(`PRAGMA busy_timeout = ${milliseconds}`)
    try {
      work()
    } finally {
      this.#db.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT}`)
    }
  }

  #advanceEpoch(hasMark = false): void {
    if (this.#full === undefined) transaction(this.#db, () => advanceEpoch(this.#db, hasMark))
  }

  /** Remembers an error of a full disk. The connection of the event loop leaves it to the thread to free space. */
  #noteFullDisk<T>(work: () => T): T {
    try {
      return work()
    } catch (cause) {
      const error = asFull(this.#db, cause)
      if (this.#checkpoints && isFull(error) && error !== this.#refusal) this.#full = error
      throw error
    }
  }

  /** Ignores a full disk and a busy database: a later call does the same work. */
  #tolerate(work: () => void): void {
    try {
      this.#noteFullDisk(work)
    } catch (error) {
      if (!isFull(error) && !isBusy(error)) throw error
    }
  }
}
