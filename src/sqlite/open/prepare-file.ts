import { existsSync } from 'node:fs'
import type { DatabaseSync } from 'node:sqlite'
import { OperatorError } from '../../base/operator-error.ts'
import { AppError } from '../../domain/errors.ts'
import { BUSY_TIMEOUT, openExclusive, openWriter, transaction } from '../connection.ts'
import { hasNoRoomToOpen, isFull, sqliteFault } from '../errors.ts'
import { isUpToDate, migrate, schemaOf } from '../migrate.ts'
import { advanceMark } from '../wal/log-mark.ts'
import { createStoreFile } from './create-file.ts'

/** Milliseconds between two attempts to lock out all other connections. */
const PAUSE = 20

/**
 * Creates the store if it does not exist, and migrates its schema. Unless another process has the store open, it also
 * checkpoints the WAL of a crash. It never migrates a store that another process has open: an older program would
 * continue with statements for the old schema.
 *
 * @param onNotice called before and after a migration
 * @throws OperatorError when this program does not know the schema, when another process has the store open under
 *   another name, or when it has a store open that must be migrated
 */
export function prepareFile(path: string, present: boolean, onNotice: (text: string) => void = () => {}): void {
  if (!present) createStoreFile(path)
  const exclusive = tryExclusive(path)
  const db = exclusive ?? openWriter(path)
  try {
    if (exclusive === undefined && !isUpToDate(db)) throw new OperatorError(IN_USE)
    migrateWithNotices(db, present ? onNotice : () => {})
    if (exclusive !== undefined) mark(db)
  } catch (error) {
    throw error instanceof OperatorError
      ? new OperatorError(`store ${path}: ${error.message}`, { cause: error })
      : error
  } finally {
    db.close()
  }
}

const IN_USE =
  'this version must migrate it, but another process has it open, perhaps a service of an older version; ' +
  'stop that process first'

/** Announces a migration before it begins, because the start of the service waits for it. */
function migrateWithNotices(db: DatabaseSync, onNotice: (text: string) => void): void {
  const { applied, known } = schemaOf(db)
  if (applied < known) onNotice(`migrating the store from schema ${applied} to ${known}; older programs will refuse it`)
  const startedAt = performance.now()
  migrate(db)
  if (applied < known) onNotice(`migrated the store in ${Math.ceil(performance.now() - startedAt)} ms`)
}

/**
 * Opens the file exclusively. A WAL-index beside the file shows that another process has it open under this name. Under
 * another name, such as that of another mount, the two processes would have different WALs, and lose writes.
 *
 * @returns undefined when another process has the file open under this name
 * @throws OperatorError when another process has it open under another name
 */
function tryExclusive(path: string): DatabaseSync | undefined {
  for (const until = performance.now() + BUSY_TIMEOUT; performance.now() < until; sleep(PAUSE)) {
    const db = openExclusive(path)
    if (db !== undefined || existsSync(`${path}-shm`)) return db
    // Another process may be preparing the file at this moment.
  }
  throw new OperatorError(
    `store ${path}: another process has the file open under another name; stop that process first`,
  )
}

/** Advances the mark, which distinguishes the next WAL from all earlier ones. */
function mark(db: DatabaseSync): void {
  try {
    transaction(db, () => advanceMark(db))
  } catch (error) {
    const fault = sqliteFault(error)
    // A store without space can still be read.
    if (fault === undefined || !isFull(fault)) throw error
  }
}

const sleep = (ms: number): void => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)

/** Makes an OperatorError of one line, with SQLite's reason, of the error of an opening. */
export function openingError(path: string, error: unknown): unknown {
  const reason = error instanceof AppError ? error.cause : error
  const fault = sqliteFault(reason)
  if (fault !== undefined && hasNoRoomToOpen(fault))
    return new OperatorError(`store ${path}: no space is left on its disk; free some`, { cause: error })
  if (fault !== undefined)
    return new OperatorError(`store ${path}: ${fault.message} (SQLite ${fault.errcode})`, { cause: error })
  if (error instanceof AppError && reason instanceof Error)
    return new OperatorError(`store ${path}: ${reason.message}`, { cause: error })
  return error
}
