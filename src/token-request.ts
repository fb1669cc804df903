import { isScope, LAST_TIME, SCOPES, type Scope } from './token.ts'

/** The content of a new token. */
export interface TokenRequest {
  readonly name: string
  readonly scopes: readonly Scope[]
  readonly expiresAt: Date | undefined
}

const MAX_NAME = 100
/** Control and direction characters, which could disguise a name in a list. */
const DISGUISING = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u

/** Returns the fault of a token's name, as the rest of a sentence that begins with "name"; undefined without one. */
export function faultOfTokenName(name: string): string | undefined {
  // A character has at most two code units, so a longer text needs no counting.
  if (name.length === 0 || name.length > 2 * MAX_NAME || [...name].length > MAX_NAME) {
    return `must have 1 to ${MAX_NAME} characters`
  }
  return DISGUISING.test(name) ? 'must not contain control, format or line-separating characters' : undefined
}

/** The scopes in their usual order, each once; undefined for no scope or an unknown one. */
export function scopesIn(texts: readonly string[]): readonly Scope[] | undefined {
  if (texts.length === 0 || !texts.every(isScope)) return undefined
  return SCOPES.filter((scope) => texts.includes(scope))
}

/** The pattern of a date with a time and a zone (RFC 3339 section 5.6). */
export const DATE_TIME =
  /^\d{4}-\d{2}-\d{2}[Tt](?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,9})?(?:[Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/

/**
 * The time in a text that matches DATE_TIME, in whole milliseconds; undefined for a day that does not exist, and for
 * a time after LAST_TIME.
 */
export function timeIn(text: string): Date | undefined {
  if (!DATE_TIME.test(text)) return undefined
  const time = new Date(text.toUpperCase())
  // Date accepts 30 February, and reads it as 2 March.
  const [year = 0, month = 0, day = 0] = text.slice(0, 10).split('-').map(Number)
  const isDay = new Date(Date.UTC(year, month - 1, day)).getUTCDate() === day
  return isDay && time.getTime() <= LAST_TIME ? time : undefined
}

/** A request for more rights than its own token may give. */
export type Excess = 'scopes' | 'expiry'

/**
 * A token may create a token that has only scopes of its creator and expires no later.
 *
 * @returns the right that the request has in excess; undefined where the creator may give all of it
 */
export function excessOf(
  wanted: TokenRequest,
  creator: { readonly scopes: readonly Scope[]; readonly expiresAt: number },
): Excess | undefined {
  if (!wanted.scopes.every((scope) => creator.scopes.includes(scope))) return 'scopes'
  return (wanted.expiresAt?.getTime() ?? 0) > creator.expiresAt ? 'expiry' : undefined
}
