import {
  closeSync,
  existsSync,
  openSync,
  rmSync,
  statfsSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { constants } from 'node:os'
import { dirname } from 'node:path'
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { BUSY_TIMEOUT } from '../connection.ts'
import { fullDisk, hasNoRoomToOpen, isBusy, isFull, isWriteFault } from '../errors.ts'
import { advanceEpoch } from './wal-ownership.ts'

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

  /** Whether the WAL is long enough for a checkpoint. */
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

  /** Copies the whole WAL into the file and truncates it, unless readers need it for longer than `timeout`. */
  restart(timeout = RESTART_TIMEOUT): void {
    this.#withTimeout(timeout, () => this.#checkpoint('TRUNCATE'))
  }

  #checkpoint(mode: 'PASSIVE' | 'TRUNCATE'): void {
    this.#tolerate(() => this.#advanceEpoch())
    this.#tolerate(() => {
      const { log, checkpointed } = this.#db.prepare(`PRAGMA wal_checkpoint(${mode})`).get() ?? {}
      // The epoch is the first write to the restarted WAL, unless another process writes in between.
      if (log === checkpointed) this.#advanceEpoch()
    })
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

  #advanceEpoch(): void {
    if (this.#full === undefined) transaction(this.#db, () => advanceEpoch(this.#db))
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

/** Bytes of a page of the store. */
export const PAGE = 4096
/** Pages. The WAL-indexes of the store and of its search index take 32 KiB each when they are opened. */
const MIN_PAGES = 9
/** Pages of the reserve that open the store on a full disk. */
const OPENING_PAGES = 32
/**
 * Pages of the reserve: 4 MiB. Half of it takes what a checkpoint adds to the store's file, and the rest the WAL of
 * deletes. It is also the free space that writes which make the store longer leave to deletes.
 */
const PAGES = 1024

/** Bytes of a write that finds out whether there is space. A page of SQLite that did not fit was smaller. */
const PROBE = 2 ** 16
/** Node.js names no code for EDQUOT. */
const NO_SPACE = [constants.errno.ENOSPC, constants.errno.EDQUOT, constants.errno.EFBIG]

const fileOf = (path: string): string => `${path}.reserve`

/**
 * Reserves space in a file beside the store, and only a part of it when the disk is nearly full. It lets SQLite open the
 * store on a full disk, checkpoint its WAL there, and delete plants.
 */
export function keepReserve(path: string): void {
  const file = fileOf(path)
  const wanted = (hasRoomToGrow(path, 2 * PAGES) ? PAGES : OPENING_PAGES) * PAGE
  if (sizeOf(file) >= wanted) return
  try {
    rmSync(file, { force: true })
    // A file system may store zeros without space. On a nearly full disk, a part of the reserve still helps.
    writeFileSync(file, Buffer.alloc(wanted, 'reserve\n'), { mode: 0o600, flush: true })
  } catch {
    if (sizeOf(file) < MIN_PAGES * PAGE) rmSync(file, { force: true })
  }
}

/** 0 for a file that is missing or can't be reached, which FileWatch reports. */
export function sizeOf(file: string): number {
  try {
    return statSync(file).size
  } catch {
    return 0
  }
}

/** Frees the reserve, except for the part that opens the store. */
function giveReserve(path: string): void {
  if (sizeOf(fileOf(path)) > OPENING_PAGES * PAGE) truncateSync(fileOf(path), OPENING_PAGES * PAGE)
}

/**
 * Whether the disk has space for these pages, and for as many as the reserve has besides. The system does not tell every
 * quota here, and no limit of the size of files.
 */
function hasRoomToGrow(path: string, pages: number): boolean {
  const { bavail, bsize } = statfsSync(dirname(path))
  return bavail * bsize >= (PAGES + pages) * PAGE
}

/** Opens a store. On a full disk it first frees the space that `keepReserve` has reserved. */
export async function openWithReserve<T>(path: string, open: () => Promise<T>): Promise<T> {
  try {
    return await open()
  } catch (error) {
    if (!hasNoRoomToOpen(error) || !existsSync(fileOf(path))) throw error
    rmSync(fileOf(path), { force: true })
    return open()
  }
}

/**
 * Returns an error like that of a full disk for a write that failed by a quota, or by a limit of the size of files, and
 * every other error unchanged. SQLite reports the first two like a failing disk, after which only a restart is safe.
 */
function asFull(db: DatabaseSync, error: unknown): unknown {
  const path = db.isOpen ? db.location() : null
  return isWriteFault(error) && path !== null && hasNoSpace(path) ? fullDisk(error) : error
}

/** Whether a new file beside the store can't become longer than the store and its WAL. */
function hasNoSpace(path: string): boolean {
  const length = Math.max(sizeOf(path), sizeOf(`${path}-wal`))
  const probe = `${path}.probe`
  try {
    const file = openSync(probe, 'w', 0o600)
    try {
      rmSync(probe)
      return writeSync(file, Buffer.alloc(PROBE), 0, PROBE, length) < PROBE
    } finally {
      closeSync(file)
    }
  } catch (error) {
    return NO_SPACE.includes(-((error as NodeJS.ErrnoException).errno ?? 0))
  }
}

/** Runs `work` in one write transaction. Returns once the commit is on stable storage; rolls back when it throws. */
export function transaction<T>(db: DatabaseSync, work: () => T): T {
  db.exec('BEGIN IMMEDIATE')
  try {
    const result = work()
    db.exec('COMMIT')
    return result
  } catch (error) {
    // SQLite itself rolls the transaction back on some errors, such as a full disk.
    if (db.isTransaction) db.exec('ROLLBACK')
    throw asFull(db, error)
  }
}
