import { type AppError, noSpaceLeft, outOfReach, refusedRecord } from '../domain/errors.ts'

/** Primary result codes (https://sqlite.org/rescode.html); an extended code holds one in its low byte. */
const BUSY = 5
const FULL = 13
const IOERR = 10
const IOERR_WRITE = 778
const IOERR_SHMSIZE = 4874
const CORRUPT = 11
const NOTADB = 26
const CONSTRAINT = 19
const TOOBIG = 18
const MISMATCH = 20

/** A SQLite error in a form that crosses between threads. */
export interface SqliteFault {
  readonly errcode: number
  readonly message: string
}

/**
 * Returns the fault in an error of SQLite, or in node:sqlite's refusal to bind a value, such as a bigint beyond int64;
 * undefined for every other error.
 */
export function sqliteFault(error: unknown): SqliteFault | undefined {
  if (typeof error !== 'object' || error === null || !('message' in error)) return undefined
  const message = String(error.message)
  if ('errcode' in error && typeof error.errcode === 'number') return { errcode: error.errcode, message }
  const isUnbindable = 'code' in error && String(error.code).startsWith('ERR_INVALID_ARG_')
  return isUnbindable ? { errcode: MISMATCH, message } : undefined
}

/**
 * The advice that follows a message of SQLite. It reports a page of its log that could not be read as a malformed file
 * too, and a backup would then lose what was written after it.
 */
export const adviceOn = ({ errcode }: SqliteFault): string =>
  (errcode & 0xff) === CORRUPT
    ? '; a disk that fails to read looks the same, so look for its errors in the log of the system, and start again before you restore a backup'
    : ''

const codeOf = (error: unknown): number => sqliteFault(error)?.errcode ?? 0
const primary = (error: unknown): number => codeOf(error) & 0xff

/** Another connection is writing. The statement changed nothing. */
export const isBusy = (error: unknown): boolean => primary(error) === BUSY

/** The disk is full. SQLite has rolled the transaction back. */
export const isFull = (error: unknown): boolean => primary(error) === FULL

/** The disk has no space for the WAL, or for the WAL-index, which SQLite needs to open the store. */
export const hasNoRoomToOpen = (error: unknown): boolean => isFull(error) || codeOf(error) === IOERR_SHMSIZE

/** A write failed. It may have lacked space: SQLite tells neither a quota nor a limit of the size of files apart. */
export const isWriteFault = (error: unknown): boolean => [IOERR_WRITE, IOERR_SHMSIZE].includes(codeOf(error))

export const fullDisk = (cause?: unknown): Error =>
  Object.assign(new Error('database or disk is full', { cause }), { errcode: FULL })

/** SQLite refused this row alone. The transaction continues. */
export const isRowFault = (error: unknown): boolean => [CONSTRAINT, TOOBIG, MISMATCH].includes(primary(error))

/**
 * The file is corrupt, or its content on the disk is unknown. After a failed fsync the kernel may have dropped the
 * pages. Only a restart is safe, which recovers from the WAL
 * (https://www.usenix.org/conference/atc20/presentation/rebello).
 */
export const isFatal = (error: unknown): boolean => [IOERR, CORRUPT, NOTADB].includes(primary(error))

/** Returns an AppError: 50304 for a full disk, 50001 for a fault of one row, and 50301 for all others. */
export function errorOfFault(fault: SqliteFault): AppError {
  const cause = new Error(`SQLite ${fault.errcode}: ${fault.message}${adviceOn(fault)}`)
  if (isFull(fault)) return noSpaceLeft(cause)
  return isRowFault(fault) ? refusedRecord(cause) : outOfReach(cause)
}

/** Returns the AppError of a fault, and every other error unchanged. Calls `onFatal` where `isFatal`. */
export function appErrorOf(error: unknown, onFatal: (error: Error) => void): unknown {
  const fault = sqliteFault(error)
  if (fault === undefined) return error
  const appError = errorOfFault(fault)
  if (isFatal(fault)) onFatal(appError)
  return appError
}
