import { AppError, type ErrorNumber } from '../../errors.ts'
import { appErrorOf, type SqliteFault, sqliteFault } from '../errors.ts'
import { BehindError, DamagedIndex } from '../search-index/index-fault.ts'

/** An error in a form that crosses between threads: the clone of an Error has neither its class nor its members. */
export type Failure =
  | { readonly failure: 'refusal'; readonly number: ErrorNumber; readonly message: string }
  | { readonly failure: 'sqlite'; readonly fault: SqliteFault }
  | { readonly failure: 'index behind' }
  | { readonly failure: 'index damaged'; readonly inode: number; readonly message: string }
  | { readonly failure: 'bug'; readonly stack: string }

export function failureOf(error: unknown): Failure {
  if (error instanceof AppError) return { failure: 'refusal', number: error.number, message: error.message }
  if (error instanceof BehindError) return { failure: 'index behind' }
  if (error instanceof DamagedIndex) return { failure: 'index damaged', inode: error.inode, message: error.message }
  const fault = sqliteFault(error)
  if (fault !== undefined) return { failure: 'sqlite', fault }
  return { failure: 'bug', stack: error instanceof Error ? (error.stack ?? error.message) : String(error) }
}

/** @returns an AppError for a refusal and for a fault of SQLite */
export function errorOf(failure: Failure): Error {
  switch (failure.failure) {
    case 'refusal':
      return new AppError(failure.number, failure.message)
    case 'sqlite':
      return appErrorOf(failure.fault)
    case 'index behind':
      return new BehindError()
    case 'index damaged':
      return new DamagedIndex(failure.inode, failure.message)
    case 'bug':
      return new Error(failure.stack)
  }
}
