import { DatabaseError } from 'pg'
import { AppError } from '../errors.ts'
import { OperatorError } from '../operator-error.ts'
import type { PostgresAddress } from '../postgres-address.ts'

/** SQLSTATE codes (https://www.postgresql.org/docs/current/errcodes-appendix.html). */
const SERIALIZATION_FAILURE = '40001'
const DEADLOCK = '40P01'
const DISK_FULL = '53100'
const TOO_MANY_CONNECTIONS = '53300'
const READ_ONLY = '25006'
const INSUFFICIENT_PRIVILEGE = '42501'
/**
 * Classes after which nothing is known but that the server could not do it now: connection, resources, operator
 * intervention, system, lock not available, corrupted; and that it does not let us in any more.
 */
const OUT_OF_REACH = ['08', '53', '57', '58', '55', 'XX', '28', '3D']
/** Classes that speak of the values of a row: data exception, constraint, a limit. */
const ROW = ['22', '23', '54']

/** The connection broke, was never made, or does not answer in time; a write on it may or may not have been done. */
export class ConnectionFault extends Error {
  override readonly name: string = 'ConnectionFault'
}

/** A ConnectionFault that somebody has to mend: a setting of the server, its certificate, a password that is not given. */
export class LastingFault extends ConnectionFault {
  override readonly name = 'LastingFault'
}

/** Somebody else was faster; done again, it is decided by what he has left. */
export class Overtaken extends Error {
  override readonly name = 'Overtaken'
}

/** What PostgreSQL itself said; undefined where it is something else that went wrong. */
export const sqlState = (error: unknown): string | undefined =>
  error instanceof DatabaseError ? error.code : undefined

/** The transaction was undone in favour of another; done again, it may well succeed. */
export const isRetryable = (error: unknown): boolean =>
  error instanceof Overtaken || [SERIALIZATION_FAILURE, DEADLOCK].includes(sqlState(error) ?? '')

/** The server, the database or the role has as many connections as it may have. */
export const isRefusal = (error: unknown): boolean => sqlState(error) === TOO_MANY_CONNECTIONS

/** Classes of SQLSTATE that say "not now": connection, resources, shutdown or start-up. */
const PASSING = ['08', '53', '57']

/** Whether the database may be reached later without anybody mending its address or its settings. */
export function isPassing(error: unknown): boolean {
  if (error instanceof ConnectionFault) return !(error instanceof LastingFault)
  return PASSING.includes(sqlState(error)?.slice(0, 2) ?? '')
}

/** Whether the connection can go on being used after the error. */
export function isConnectionSound(error: unknown): boolean {
  if (error instanceof ConnectionFault) return false
  // Behind the address may by now be another server, which takes writes.
  return !(error instanceof DatabaseError) || (error.severity === 'ERROR' && error.code !== READ_ONLY)
}

/** A fault of the database as the service answers it; what is none of those comes back as it is. */
export function appErrorOf(error: unknown): unknown {
  if (error instanceof ConnectionFault || error instanceof Overtaken) return outOfReach(error)
  const code = sqlState(error)
  if (code === undefined) return error
  if (code === DISK_FULL) {
    return new AppError(50304, 'the store has no space left; nothing was stored, send it again later', { cause: error })
  }
  if (isRetryable(error) || [READ_ONLY, INSUFFICIENT_PRIVILEGE].includes(code)) return outOfReach(error)
  if (OUT_OF_REACH.includes(code.slice(0, 2))) return outOfReach(error)
  return ROW.includes(code.slice(0, 2)) ? refusedRecord(error) : error
}

export const refusedRecord = (cause: unknown): AppError =>
  new AppError(50001, 'the store refused the record', { cause })

export const outOfReach = (cause: unknown): AppError =>
  new AppError(50301, 'the store is out of reach; sending the request again later is safe', { cause })

export const shuttingDown = (): AppError => new AppError(50303, 'the service is shutting down; nothing was done')

/** What the operator is told: in one line, and without credentials. */
export function openingError({ shown }: PostgresAddress, error: unknown): unknown {
  const reason = error instanceof AppError ? error.cause : error
  if (!(reason instanceof Error)) return error
  return new OperatorError(`store ${shown}: ${reason.message}`, { cause: error })
}
