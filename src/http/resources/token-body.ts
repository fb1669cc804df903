import { AppError } from '../../domain/errors.ts'
import {
  faultOfTokenName,
  LAST_TIME,
  SCOPES,
  type Scope,
  scopesIn,
  type TokenRequest,
  timeIn,
} from '../../domain/token.ts'
import type { OperationBodies } from '../operations.generated.ts'
import { readSmallBody } from './small-body.ts'

const MEMBERS = ['name', 'scopes', 'expiresAt'] as const satisfies readonly (keyof OperationBodies['createToken'])[]

/**
 * Reads the body of createToken.
 *
 * @throws AppError as readSmallBody does, and 40002 that names every fault
 */
export function parseTokenRequest(body: Buffer, nestingLimit: number): TokenRequest {
  const { members, faults } = readSmallBody(body, nestingLimit, MEMBERS)
  const name = nameIn(members.name, faults)
  const scopes = scopesOf(members.scopes, faults)
  const expiresAt = expiryIn(members.expiresAt, faults)
  if (faults.length > 0) throw new AppError(40002, faults.join('; '))
  return { name, scopes, expiresAt }
}

function nameIn(value: unknown, faults: string[]): string {
  const fault = typeof value === 'string' ? faultOfTokenName(value) : 'must be a string'
  if (fault !== undefined) faults.push(`name ${value === undefined ? 'is required' : fault}`)
  return String(value)
}

function scopesOf(value: unknown, faults: string[]): readonly Scope[] {
  const texts = Array.isArray(value) ? value.map((each: unknown) => (typeof each === 'string' ? each : '')) : []
  const scopes = scopesIn(texts)
  if (scopes === undefined) {
    faults.push(`scopes ${value === undefined ? 'is required' : `must be an array with some of ${SCOPES.join(', ')}`}`)
  }
  return scopes ?? []
}

const NO_TIME = `expiresAt must be a date and time with a zone, such as 2030-12-31T12:00:00Z, and no later than ${new Date(LAST_TIME).toISOString()}`

function expiryIn(value: unknown, faults: string[]): Date | undefined {
  if (value === undefined) return undefined
  const time = typeof value === 'string' ? timeIn(value) : undefined
  if (time === undefined) faults.push(NO_TIME)
  else if (time.getTime() <= Date.now()) faults.push('expiresAt must be in the future')
  return time
}
