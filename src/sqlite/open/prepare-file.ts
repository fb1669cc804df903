import { existsSync } from 'node:fs'
import type { DatabaseSync } from 'node:sqlite'
import { AppError } from '../../errors.ts'
import { OperatorError } from '../../operator-error.ts'
import { BUSY_TIMEOUT, openAlone, openWriter, transaction } from '../connection.ts'
import { hasNoRoomToOpen, isFull, sqliteFault } from '../errors.ts'
import { isUpToDate, migrate } from '../migrate.ts'
import { advanceMark } from '../wal/log-mark.ts'
import { createStoreFile } from './create-file.ts'

/** Milliseconds between looks whether another process has let go of the file. */
const PAUSE = 20

/**
 * Makes the store where there is none, brings its schema up to date, and, where no other process has it open, folds in
 * what a crash has left in its log. Only a process that has the store alone changes its schema: an older program that has
 * it open would go on with statements for the schema before.
 *
 * @throws OperatorError when its schema is not one that this program knows, it is in use by another name, or another
 *   process has a store open whose schema is old
 */
export function prepareFile(path: string, present: boolean): void {
  if (!present) createStoreFile(path)
  const alone = tryAlone(path)
  const db = alone ?? openWriter(path)
  try {
    if (alone === undefined && !isUpToDate(db)) throw new OperatorError(IN_USE)
    migrate(db)
    if (alone !== undefined) mark(db)
  } catch (error) {
    throw error instanceof OperatorError
      ? new OperatorError(`store ${path}: ${error.message}`, { cause: error })
      : error
  } finally {
    db.close()
  }
}

const IN_USE =
  'another process has it open, perhaps a service of an older version, and this version must migrate it; stop that one first'

/**
 * Undefined when another process has the file open by this same name: then its index of the log lies beside it. Another
 * name, such as that of a file mounted elsewhere, would have another log, and both would lose what they write.
 */
function tryAlone(path: string): DatabaseSync | undefined {
  for (const until = performance.now() + BUSY_TIMEOUT; performance.now() < until; sleep(PAUSE)) {
    const db = openAlone(path)
    if (db !== undefined || existsSync(`${path}-shm`)) return db
    // Another start may be preparing it at this moment.
  }
  throw new OperatorError(`store ${path}: another process has the file open by another name; stop that one first`)
}

/** The log that begins next is then told from all logs before. */
function mark(db: DatabaseSync): void {
  try {
    transaction(db, () => advanceMark(db))
  } catch (error) {
    const fault = sqliteFault(error)
    // A full store is opened for reading.
    if (fault === undefined || !isFull(fault)) throw error
  }
}

const sleep = (ms: number): void => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)

/** What the operator is told: the cause that SQLite names, in one line. */
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
