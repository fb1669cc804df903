import { existsSync, type Stats, statSync } from 'node:fs'
import { dirname } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import {
  type FileLock,
  isLocked,
  isThere,
  makeDraft,
  nameUnlessThere,
  syncDirectory,
  takeLock,
} from '../../base/files.ts'
import { type AppliedMigration, pendingMigrations, readMigrations } from '../../base/migrations.ts'
import { OperatorError } from '../../base/operator-error.ts'
import { AppError } from '../../domain/errors.ts'
import { APPLICATION_ID, BUSY_TIMEOUT, openExclusive, openWriter } from '../connection.ts'
import { adviceOn, hasNoRoomToOpen, sqliteFault } from '../errors.ts'
import { advanceEpoch, endCheckpoint, newEpoch } from '../wal/epoch.ts'
import { transaction } from '../wal/transaction.ts'
import { underAnotherName } from './preflight.ts'

/** Milliseconds between two attempts to lock out all other connections. */
const PAUSE = 20

/**
 * Creates the store if it does not exist, and migrates its schema. Unless another process has the store open, it also
 * checkpoints the WAL of a crash. It never migrates a store that another process has open: an older program would
 * continue with statements for the old schema.
 *
 * @throws OperatorError when this program does not know the schema, or another process is in the way
 */
export function prepareFile(path: string, present: boolean, onNotice: (text: string) => void = () => {}): void {
  if (!present) createStoreFile(path)
  const exclusive = tryExclusive(path)
  using db = exclusive ?? openWriter(path)
  try {
    if (exclusive !== undefined) endCheckpoint(db)
    const { applied, known } = schemaOf(db)
    if (applied < known) {
      if (exclusive === undefined) throw new OperatorError(IN_USE)
      // The start of the service waits for the migration.
      onNotice(`migrating the store from schema ${applied} to ${known}; older programs will refuse it`)
      const startedAt = performance.now()
      migrate(db)
      onNotice(`migrated the store in ${Math.ceil(performance.now() - startedAt)} ms`)
    }
    if (exclusive !== undefined) newEpoch(db)
  } catch (error) {
    throw error instanceof OperatorError
      ? new OperatorError(`store ${path}: ${error.message}`, { cause: error })
      : error
  }
}

const IN_USE =
  'this version must migrate it, but another process has it open, perhaps a service of an older version; ' +
  'stop that process first'

/**
 * Opens the file exclusively. A WAL-index beside the file shows that another process has it open under this name. Under
 * another name, such as that of another mount, the two processes would have different WALs, and lose writes.
 *
 * @returns undefined when another process has the file open under this name
 */
function tryExclusive(path: string): DatabaseSync | undefined {
  for (const until = performance.now() + BUSY_TIMEOUT; performance.now() < until; sleep(PAUSE)) {
    const db = openExclusive(path)
    if (db !== undefined || existsSync(`${path}-shm`)) return db
    // Another process may be preparing the file at this moment.
  }
  throw underAnotherName(path)
}

const sleep = (ms: number): void => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)

/** Makes an OperatorError of one line, with SQLite's reason, of the error of an opening. */
export function openingError(path: string, error: unknown): unknown {
  const reason = error instanceof AppError ? error.cause : error
  const fault = sqliteFault(reason)
  const refusal = (why: string) => new OperatorError(`store ${path}: ${why}`, { cause: error })
  if (hasNoRoomToOpen(reason)) return refusal('no space is left on its disk; free some')
  if (fault !== undefined) return refusal(`${fault.message} (SQLite ${fault.errcode})${adviceOn(fault)}`)
  if (error instanceof Error && 'code' in error && error.code === 'EIO')
    return refusal(`its disk fails to read (${error.message}); look for its errors in the log of the system`)
  return error instanceof AppError && reason instanceof Error ? refusal(reason.message) : error
}

/**
 * Creates an empty store, completely or not at all. Several processes may call it at once: each makes a draft, and one
 * of them links its draft to the final name. Only the owner may read the file (mode 0600).
 */
export function createStoreFile(path: string): void {
  try {
    using draft = makeDraft(path)
    {
      using db = openWriter(draft.path)
      db.exec(`PRAGMA application_id = ${APPLICATION_ID}`)
      migrate(db)
      transaction(db, () => advanceEpoch(db))
      // The link takes the file without its WAL, and a close reports no checkpoint that failed.
      db.exec('PRAGMA wal_checkpoint(TRUNCATE)')
    }
    nameUnlessThere(draft.path, path)
  } catch (error) {
    if (!isThere(error)) throw error
  }
  syncDirectory(dirname(path))
}

export const lockOf = (path: string): string => `${path}.lock`

/** Keeps a second service away from a store. Of the commands, which work beside a service, only a restore takes it. */
export function takeServeLock(path: string): FileLock {
  const lock = takeLock(lockOf(path))
  if (lock !== undefined) return lock
  throw new OperatorError(`store ${path}: another service already serves it; stop that service first`)
}

export const isServed = (path: string): boolean => isLocked(lockOf(path))

/** Milliseconds between two checks. Writes to a removed file are lost. */
const INTERVAL = 1000

/** Reports when the file of an open store, its WAL or its WAL-index is removed or replaced, which SQLite never does. */
export class FileWatch {
  readonly #files: ReadonlyMap<string, Stats>
  readonly #onGone: (error: Error) => void
  readonly #timer: NodeJS.Timeout

  /** @param onGone called at each check that finds a file removed or replaced */
  constructor(path: string, onGone: (error: Error) => void) {
    this.#files = new Map(['', '-wal', '-shm'].map((suffix) => [path + suffix, statSync(path + suffix)]))
    this.#onGone = onGone
    this.#timer = setInterval(() => this.check(), INTERVAL).unref()
  }

  check(): void {
    const { fault } = this
    if (fault !== undefined) this.#onGone(fault)
  }

  /** Names the first file that is removed or replaced now, or whose path leads nowhere. */
  get fault(): Error | undefined {
    for (const [path, before] of this.#files) {
      try {
        if (isSameFile(before, statSync(path, { throwIfNoEntry: false }))) continue
      } catch (cause) {
        return new Error(`the file ${path} cannot be reached any more`, { cause })
      }
      return new Error(`the file ${path} was removed or replaced while it was in use`)
    }
    return undefined
  }

  end(): void {
    clearInterval(this.#timer)
  }
}

export const isSameFile = (one: Stats, other: Stats | undefined): boolean =>
  one.ino === other?.ino && one.dev === other.dev

const DIRECTORY = new URL('../../../sql/sqlite/', import.meta.url)

/** Gives an empty database the first migrations of this program. */
export const makeSchema = (db: DatabaseSync, count: number): void =>
  migrate(db, readMigrations(DIRECTORY).slice(0, count))

/**
 * Applies the pending migrations in one transaction. Several processes may call it at once: each takes the write lock,
 * and then looks which migrations are pending.
 *
 * @throws OperatorError when a newer program, or migrations other than this program's, made the schema
 */
export function migrate(db: DatabaseSync, known = readMigrations(DIRECTORY)): void {
  transaction(db, () => {
    db.exec('CREATE TABLE IF NOT EXISTS migrations (number INTEGER PRIMARY KEY, checksum TEXT NOT NULL) STRICT')
    for (const { number, sql, checksum } of pendingMigrations(known, appliedTo(db))) {
      db.prepare('INSERT INTO migrations (number, checksum) VALUES (?, ?)').run(number, checksum)
      db.exec(sql)
    }
  })
}

export const hasTable = (db: DatabaseSync, name: string): boolean =>
  db.prepare("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?").get(name) !== undefined

/** Counts the migrations that a store has applied, and those that this program knows. It throws like `migrate`. */
export function schemaOf(db: DatabaseSync): { readonly applied: number; readonly known: number } {
  const known = readMigrations(DIRECTORY)
  return { applied: known.length - pendingMigrations(known, appliedTo(db)).length, known: known.length }
}

function appliedTo(db: DatabaseSync): AppliedMigration[] {
  if (!hasTable(db, 'migrations')) return []
  const rows = db.prepare('SELECT number, checksum FROM migrations ORDER BY number').all()
  return rows.map((row) => ({ number: Number(row['number']), checksum: String(row['checksum']) }))
}
