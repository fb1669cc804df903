import { createHash, createHmac, randomBytes } from 'node:crypto'
import { crc32 } from 'node:zlib'

export const SCOPES = ['plants:read', 'plants:write', 'tokens'] as const
export type Scope = (typeof SCOPES)[number]

/** An access token without its secret, of which the store has only the SHA-256. */
export interface Token {
  /** The public name of the token, such as `tok_3kTmX0aB`. */
  readonly id: string
  readonly name: string
  readonly scopes: readonly Scope[]
  readonly createdAt: Date
  readonly expiresAt: Date | undefined
  /** Written at most once a minute. */
  readonly lastUsedAt: Date | undefined
  /** A revoked token no longer works, but stays in lists. */
  readonly revokedAt: Date | undefined
}

/**
 * The last time that a token may have, in milliseconds since 1970: RFC 3339 has four digits for the year, so no client
 * reads a later one.
 */
export const LAST_TIME = Date.UTC(9999, 11, 31, 23, 59, 59, 999)

/** Returns a stored time, at most LAST_TIME: earlier versions accepted 9999-12-31T23:59:59-05:00. */
export const storedTime = (milliseconds: number): Date => new Date(Math.min(milliseconds, LAST_TIME))

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const SECRET_DIGITS = 43
const CHECK_DIGITS = 6
const FORM = /^ps_[0-9A-Za-z]{49}$/

/** The prefix of every secret. */
export const TOKEN_PREFIX = 'ps_'

/**
 * A new secret: `ps_`, 256 random bits as 43 base62 digits, and their CRC-32 as 6 more. The program shows it once and
 * stores it nowhere.
 */
export const makeSecret = (): string => secretOf(randomBytes(32))

/**
 * The id and secret of a token that another one creates under a key of the client. They are the same each time, so a
 * retry creates no second token. HMAC-SHA-256 makes them as hard to guess as the creator's secret and the key together
 * (docs/decisions/0029-tokens-over-http.md).
 */
export function derivedToken(creatorSecret: string, key: string): { readonly id: string; readonly secret: string } {
  const derive = (what: string) => createHmac('sha256', creatorSecret).update(`${what}\n${key}`).digest()
  return { id: tokenIdOf(derive('plantstore token id').subarray(0, 8)), secret: secretOf(derive('plantstore secret')) }
}

function secretOf(bits: Buffer): string {
  const digits = base62(BigInt(`0x${bits.toString('hex')}`), SECRET_DIGITS)
  return `${TOKEN_PREFIX}${digits}${checkDigits(digits)}`
}

/**
 * Whether a text has the form and the check digits of a secret. Most invalid tokens fail here, without a look-up in the
 * store.
 */
export function isWellFormed(secret: string): boolean {
  if (!FORM.test(secret)) return false
  const digits = secret.slice(TOKEN_PREFIX.length)
  return checkDigits(digits.slice(0, SECRET_DIGITS)) === digits.slice(SECRET_DIGITS)
}

/** SHA-256 of the secret, 32 bytes, for the store. A secret of 256 random bits needs no slow hash. */
export function hashSecret(secret: string): Buffer {
  return createHash('sha256').update(secret, 'utf8').digest()
}

export const makeTokenId = (): string => tokenIdOf(randomBytes(8))

const tokenIdOf = (bits: Buffer): string => `tok_${base62(BigInt(`0x${bits.toString('hex')}`), 11)}`

export const isScope = (text: string): text is Scope => (SCOPES as readonly string[]).includes(text)

const checkDigits = (digits: string): string => base62(BigInt(crc32(digits)), CHECK_DIGITS)

function base62(value: bigint, digits: number): string {
  let text = ''
  for (let rest = value; text.length < digits; rest /= 62n) text = BASE62[Number(rest % 62n)] + text
  return text
}

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
