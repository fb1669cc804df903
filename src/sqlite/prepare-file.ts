import { AppError } from '../errors.ts'
import { OperatorError } from '../operator-error.ts'
import { openWriter } from './connection.ts'
import { sqliteFault } from './errors.ts'
import { createStoreFile, migrate } from './migrate.ts'

/**
 * Makes the store where there is none, and brings its schema up to date.
 *
 * @throws OperatorError when its schema is not one that this program knows
 */
export function prepareFile(path: string, present: boolean): void {
  if (!present) createStoreFile(path)
  const db = openWriter(path)
  try {
    migrate(db)
  } catch (error) {
    throw error instanceof OperatorError
      ? new OperatorError(`store ${path}: ${error.message}`, { cause: error })
      : error
  } finally {
    db.close()
  }
}

/** What the operator is told: the cause that SQLite names, in one line. */
export function openingError(path: string, error: unknown): unknown {
  const reason = error instanceof AppError ? error.cause : error
  const fault = sqliteFault(reason)
  if (fault !== undefined)
    return new OperatorError(`store ${path}: ${fault.message} (SQLite ${fault.errcode})`, { cause: error })
  if (error instanceof AppError && reason instanceof Error)
    return new OperatorError(`store ${path}: ${reason.message}`, { cause: error })
  return error
}
