import { AppError } from '../errors.ts'

/** Primary result codes (https://sqlite.org/rescode.html); an extended code holds one in its low byte. */
const BUSY = 5
export const FULL = 13
const IOERR = 10
const IOERR_SHMSIZE = 4874
const CORRUPT = 11
const NOTADB = 26
const CONSTRAINT = 19
const TOOBIG = 18
const MISMATCH = 20

/** What is left of a SQLite error once it has crossed from the writer's thread. */
export interface SqliteFault {
  readonly errcode: number
  readonly message: string
}

/** Also a value that node:sqlite refused to bind, as a bigint beyond int64: nothing was run then. */
export function sqliteFault(error: unknown): SqliteFault | undefined {
  if (!(error instanceof Error)) return undefined
  if ('errcode' in error && typeof error.errcode === 'number') return { errcode: error.errcode, message: error.message }
  const isUnbindable = 'code' in error && String(error.code).startsWith('ERR_INVALID_ARG_')
  return isUnbindable ? { errcode: MISMATCH, message: error.message } : undefined
}

const primary = (fault: SqliteFault): number => fault.errcode & 0xff

/** Another connection writes at the moment; nothing was done. */
export const isBusy = (fault: SqliteFault): boolean => primary(fault) === BUSY

/** There is no space left; the transaction was undone. */
export const isFull = (fault: SqliteFault): boolean => primary(fault) === FULL

/** There was no space to open the store: for its log, or for the index of its log. */
export const hasNoRoomToOpen = (fault: SqliteFault): boolean => isFull(fault) || fault.errcode === IOERR_SHMSIZE

/** The statement was refused because of this row alone; the transaction goes on. */
export const isRowFault = (fault: SqliteFault): boolean => [CONSTRAINT, TOOBIG, MISMATCH].includes(primary(fault))

/**
 * The file can't be trusted any more, or what is on it can't be known: after a failed fsync the kernel may have dropped
 * the pages, so only a restart, which recovers from the log, tells (https://www.usenix.org/conference/atc20/presentation/rebello).
 */
export const isFatal = (fault: SqliteFault): boolean => [IOERR, CORRUPT, NOTADB].includes(primary(fault))

export function appErrorOf(fault: SqliteFault): AppError {
  const cause = new Error(`SQLite ${fault.errcode}: ${fault.message}`)
  if (isFull(fault)) {
    return new AppError(50304, 'the store has no space left; nothing was stored, retry later', { cause })
  }
  if (isRowFault(fault)) return new AppError(50001, 'the store refused the record', { cause })
  return outOfReach(cause)
}

export const outOfReach = (cause: Error): AppError =>
  new AppError(50301, 'the store is out of reach; a later retry is safe', { cause })

export const shuttingDown = (): AppError => new AppError(50303, 'the service is shutting down; nothing was done')
