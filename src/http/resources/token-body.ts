import { AppError } from '../../errors.ts'
import { readJsonBody } from '../../json-body.ts'
import { SCOPES, type Scope } from '../../token.ts'
import { faultOfTokenName, scopesIn, type TokenRequest, timeIn } from '../../token-request.ts'
import type { OperationBodies } from '../operations.generated.ts'

type Members = OperationBodies['createToken']

/** No token needs more; JSON.parse takes its time for a body of many members. */
const LONGEST_BODY = 16 * 1024
const MEMBERS = ['name', 'scopes', 'expiresAt'] as const satisfies readonly (keyof Members)[]

/**
 * Reads the body of createToken. It refuses members that a token does not have: ignored, a mistyped `expiresAt` would
 * make a token that never expires.
 *
 * @throws AppError 40001; 40002 that names every fault; 41301
 */
export function parseTokenRequest(body: Buffer, nestingLimit: number): TokenRequest {
  if (body.length > LONGEST_BODY) {
    throw new AppError(41301, 'the body is larger than the 16 KiB that this operation takes')
  }
  if (!readJsonBody(body, nestingLimit).isObject) throw new AppError(40002, 'the body must be an object')
  const json = JSON.parse(body.toString()) as Readonly<Record<string, unknown>>
  const faults: string[] = []
  const name = nameIn(json['name'], faults)
  const scopes = scopesOf(json['scopes'], faults)
  const expiresAt = expiryIn(json['expiresAt'], faults)
  const unknown = Object.keys(json).filter((member) => !MEMBERS.some((known) => known === member))
  if (unknown.length > 0) {
    // A long or strange name may be a secret in the wrong place.
    const told = unknown.filter((member) => /^\w{1,30}$/.test(member)).slice(0, 5)
    faults.push(`unknown member${told.length === 0 ? '' : ` ${told.join(', ')}`}; a token has ${MEMBERS.join(', ')}`)
  }
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

function expiryIn(value: unknown, faults: string[]): Date | undefined {
  if (value === undefined) return undefined
  const time = typeof value === 'string' ? timeIn(value) : undefined
  if (time === undefined) faults.push('expiresAt must be a date and time with a zone, such as 2030-12-31T12:00:00Z')
  else if (time.getTime() <= Date.now()) faults.push('expiresAt must be in the future')
  return time
}
