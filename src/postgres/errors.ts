import { DatabaseError } from 'pg'
import { OperatorError } from '../base/operator-error.ts'
import { AppError, noSpaceLeft, outOfReach, refusedRecord } from '../domain/errors.ts'
import type { PostgresAddress } from '../settings/postgres-address.ts'

/** SQLSTATE codes (https://www.postgresql.org/docs/current/errcodes-appendix.html). */
const SERIALIZATION_FAILURE = '40001'
const DEADLOCK = '40P01'
const DISK_FULL = '53100'
const TOO_MANY_CONNECTIONS = '53300'
const READ_ONLY = '25006'
const INSUFFICIENT_PRIVILEGE = '42501'
/**
 * SQLSTATE classes that become 50301: connection, resources, operator intervention, system error, object not in the
 * needed state (such as a lock), internal error, authorization, no such database.
 */
const OUT_OF_REACH = ['08', '53', '57', '58', '55', 'XX', '28', '3D']
/** SQLSTATE classes about the values of a row: data exception, integrity constraint, program limit. */
const ROW = ['22', '23', '54']

/** The connection broke, was never opened, or did not answer in time. The outcome of its write is unknown. */
export class ConnectionFault extends Error {
  override readonly name: string = 'ConnectionFault'
}

/** The answer to a statement did not come in time. */
export class Unanswered extends ConnectionFault {
  override readonly name = 'Unanswered'
}

/**
 * A ConnectionFault that lasts until an operator acts, such as a server setting, a certificate or a missing password.
 */
export class LastingFault extends ConnectionFault {
  override readonly name = 'LastingFault'
}

export const sqlState = (error: unknown): string | undefined =>
  error instanceof DatabaseError ? error.code : undefined

/** Whether PostgreSQL rolled the transaction back in favour of another one, so that a retry may succeed. */
export const isRetryable = (error: unknown): boolean =>
  [SERIALIZATION_FAILURE, DEADLOCK].includes(sqlState(error) ?? '')

/**
 * Whether the server, the database, the role or this process has reached its limit of connections. Open connections
 * continue.
 */
export const isRefusal = (error: unknown): boolean => sqlState(error) === TOO_MANY_CONNECTIONS || lacksDescriptor(error)

function lacksDescriptor(error: unknown): boolean {
  if (error instanceof AggregateError) return error.errors.some(lacksDescriptor)
  if (!(error instanceof Error)) return false
  return ('code' in error && (error.code === 'EMFILE' || error.code === 'ENFILE')) || lacksDescriptor(error.cause)
}

/** SQLSTATE classes of faults that pass: connection, resources, shutdown or start-up. */
const PASSING = ['08', '53', '57']

/** Whether the database may become reachable without a change of its address or settings. */
export function isPassing(error: unknown): boolean {
  if (error instanceof ConnectionFault) return !(error instanceof LastingFault)
  return PASSING.includes(sqlState(error)?.slice(0, 2) ?? '')
}

/** Whether the connection can be used again after the error. */
export function isConnectionSound(error: unknown): boolean {
  if (error instanceof ConnectionFault) return false
  // After a failover, a new connection may reach the server that takes writes.
  return !(error instanceof DatabaseError) || (error.severity === 'ERROR' && error.code !== READ_ONLY)
}

/** Returns the fault of the database behind an AppError, and every other error unchanged. */
export const causeOf = (error: unknown): unknown => (error instanceof AppError ? error.cause : error)

/** Returns the AppError for a fault of the database, and every other error unchanged. */
export function appErrorOf(error: unknown): unknown {
  if (error instanceof ConnectionFault) return outOfReach(error)
  // Node.js refuses to encode a bigint beyond int64.
  if (error instanceof RangeError) return refusedRecord(error)
  const code = sqlState(error)
  if (code === undefined) return error
  if (code === DISK_FULL) return noSpaceLeft(error)
  if (isRetryable(error) || [READ_ONLY, INSUFFICIENT_PRIVILEGE].includes(code)) return outOfReach(error)
  if (OUT_OF_REACH.includes(code.slice(0, 2))) return outOfReach(error)
  return ROW.includes(code.slice(0, 2)) ? refusedRecord(error) : error
}

/** Whether the values of a row caused the error, as by a rule that an operator has added to the table. */
export const isRefusedRecord = (error: unknown): error is AppError =>
  error instanceof AppError && error.number === 50001

/** Makes an OperatorError of one line, without credentials, of the error of an opening. */
export function openingError({ shown }: PostgresAddress, error: unknown): unknown {
  const reason = causeOf(error)
  if (!(reason instanceof Error)) return error
  const exitCode = reason instanceof OperatorError ? reason.exitCode : 1
  return new OperatorError(`store ${shown}: ${reason.message}`, { cause: error, exitCode })
}
