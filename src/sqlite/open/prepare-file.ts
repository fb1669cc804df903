import { existsSync } from 'node:fs'
import type { DatabaseSync } from 'node:sqlite'
import { AppError } from '../../errors.ts'
import { OperatorError } from '../../operator-error.ts'
import { BUSY_TIMEOUT, openAlone, openWriter, transaction } from '../connection.ts'
import { hasNoRoomToOpen, isFull, sqliteFault } from '../errors.ts'
import { isUpToDate, migrate, schemaOf } from '../migrate.ts'
import { advanceMark } from '../wal/log-mark.ts'
import { createStoreFile } from './create-file.ts'

/** Milliseconds between attempts to have the file alone. */
const PAUSE = 20

/**
 * Creates the store if it does not exist and migrates its schema. Unless another process has the store open, it also
 * copies what a crash has left in the log into the file. It migrates only a store that it has alone: an older program
 * would go on with statements for the old schema.
 *
 * @param onNotice called before and after a migration
 * @throws OperatorError when this program does not know the schema, when the store is in use under another name, or
 *   when another process has a store open that must be migrated
 */
export function prepareFile(path: string, present: boolean, onNotice: (text: string) => void = () => {}): void {
  if (!present) createStoreFile(path)
  const alone = tryAlone(path)
  const db = alone ?? openWriter(path)
  try {
    if (alone === undefined && !isUpToDate(db)) throw new OperatorError(IN_USE)
    migrateAloud(db, present ? onNotice : () => {})
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

/** Announces a migration before it begins, as the start of the service waits for it. */
function migrateAloud(db: DatabaseSync, onNotice: (text: string) => void): void {
  const { applied, known } = schemaOf(db)
  if (applied < known) onNotice(`migrating the store from schema ${applied} to ${known}; older programs will refuse it`)
  const startedAt = performance.now()
  migrate(db)
  if (applied < known) onNotice(`migrated the store in ${Math.ceil(performance.now() - startedAt)} ms`)
}

/**
 * Undefined when another process has the file open under the same name: its index of the log lies beside it then. Under
 * another name, such as that of another mount, the two would have different logs and lose writes.
 */
function tryAlone(path: string): DatabaseSync | undefined {
  for (const until = performance.now() + BUSY_TIMEOUT; performance.now() < until; sleep(PAUSE)) {
    const db = openAlone(path)
    if (db !== undefined || existsSync(`${path}-shm`)) return db
    // Another process may be preparing it at this moment.
  }
  throw new OperatorError(`store ${path}: another process has the file open by another name; stop that one first`)
}

/** Distinguishes the log that begins next from all earlier ones. */
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

/** The error for the operator: one line with the cause that SQLite names. */
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
