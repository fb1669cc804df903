import { createHash, createHmac, randomBytes } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { includes, MAX_TEXTS, type Part, simplified } from './part.ts'
import { isTag, MAX_TAG } from './plant.ts'

export const SCOPES = ['plants:read', 'plants:write', 'tokens', 'webhooks'] as const
export type Scope = (typeof SCOPES)[number]

/** An access token without its secret, of which the store has only the SHA-256. */
export interface Token {
  /** The public name of the token, such as `tok_3kTmX0aB`. */
  readonly id: string
  readonly name: string
  readonly scopes: readonly Scope[]
  /** Undefined: all plants. A part never changes. */
  readonly part?: Part | undefined
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

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const SECRET_DIGITS = 43
const CHECK_DIGITS = 6
const FORM = /^ps_[0-9A-Za-z]{49}$/

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
  const derive = (what: string) => derivedBits(creatorSecret, what, key)
  return { id: tokenIdOf(derive('plantstore token id').subarray(0, 8)), secret: secretOf(derive('plantstore secret')) }
}

export const derivedBits = (creatorSecret: string, what: string, key: string): Buffer =>
  createHmac('sha256', creatorSecret).update(`${what}\n${key}`).digest()

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

/** Whether a bearer token is a JWT: three parts (RFC 7515 section 3.1). */
export const isJwt = (token: string): boolean => /^[^.]*\.[^.]*\.[^.]*$/.test(token)

/** SHA-256 of the secret, 32 bytes, for the store. A secret of 256 random bits needs no slow hash. */
export function hashSecret(secret: string): Buffer {
  return createHash('sha256').update(secret, 'utf8').digest()
}

export const makeTokenId = (): string => tokenIdOf(randomBytes(8))

const tokenIdOf = (bits: Buffer): string => idOfBits('tok_', bits)

/** The public name of a record: a prefix, and 8 bytes in base62. */
export const idOfBits = (prefix: string, bits: Buffer): string =>
  prefix + base62(BigInt(`0x${bits.toString('hex')}`), 11)

export const isScope = (text: string): text is Scope => (SCOPES as readonly string[]).includes(text)

const checkDigits = (digits: string): string => base62(BigInt(crc32(digits)), CHECK_DIGITS)

function base62(value: bigint, digits: number): string {
  let text = ''
  for (let rest = value; text.length < digits; rest /= 62n) text = BASE62[Number(rest % 62n)] + text
  return text
}

/** The longest overlap of two secrets, and the usual one, in milliseconds. */
export const MAX_OVERLAP = 7 * 86_400_000
export const DEFAULT_OVERLAP = 86_400_000

export type TokenRequest = Pick<Token, 'name' | 'scopes' | 'part' | 'expiresAt'>

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

/** A name from elsewhere as that of a token: without disguising characters, and cut; empty where nothing is left. */
export function plainTokenName(name: string, max = MAX_NAME): string {
  const plain = name.slice(0, 4 * max).replaceAll(new RegExp(DISGUISING, 'gu'), '')
  return Array.from(plain.trim()).slice(0, max).join('')
}

/** Milliseconds after which a revoked token works nowhere: on no instance, in no request under way, for no webhook. */
const REVOKED_WITHIN = 1000
/** Milliseconds for which the service takes a token that it has found without a further look-up. */
export const TOKEN_TTL = REVOKED_WITHIN / 2
/** Milliseconds between look-ups of tokens in use. A tenth of REVOKED_WITHIN is for the look-up. */
export const LOOK_UP_INTERVAL = REVOKED_WITHIN - TOKEN_TTL - REVOKED_WITHIN / 10

/** The scopes in their usual order, each once; undefined for no scope or an unknown one. */
export function scopesIn(texts: readonly string[]): readonly Scope[] | undefined {
  if (texts.length === 0 || !texts.every(isScope)) return undefined
  return SCOPES.filter((scope) => texts.includes(scope))
}

/** RFC 3339 section 5.6. */
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
type Excess = 'scopes' | 'part' | 'expiry'

/**
 * A token may create a token that has only scopes of its creator and expires no later, within its part.
 *
 * @returns the right that the request has in excess; undefined where the creator may give all of it
 */
export function excessOf(
  wanted: TokenRequest,
  creator: Pick<IssuedToken, 'actor' | 'scopes' | 'expiresAt'>,
): Excess | undefined {
  if (!wanted.scopes.every((scope) => creator.scopes.includes(scope))) return 'scopes'
  if (!includes(creator.actor.part, wanted.part)) return 'part'
  return (wanted.expiresAt?.getTime() ?? 0) > creator.expiresAt ? 'expiry' : undefined
}

/** The name that requests give to what they do together, such as an import. */
export interface ActionName {
  /** 1 to 64 characters of `[A-Za-z0-9_-]`, which one token uses. */
  readonly id: string
  /** At most MAX_TITLE characters, such as the name of a file. The first change of an action stores it. */
  readonly title?: string | undefined
  /** The id of the action that this one undoes. */
  readonly undoes?: string | undefined
}

/** What a value must be for `partIn`, as the rest of a sentence. */
export const PART_RULE = `1 to ${MAX_TEXTS} texts of 1 to ${MAX_TAG} characters without U+0000 or a lone surrogate`

/** The part in an array of texts, simplified; undefined for any other value, and for texts that can be no tag. */
export function partIn(value: unknown): Part | undefined {
  if (!Array.isArray(value) || value.length === 0 || value.length > MAX_TEXTS) return undefined
  return value.every((text: unknown) => isTag(text) && text !== '') ? simplified(value as string[]) : undefined
}

export interface Actor {
  /** The id of an access token, which begins with `tok_`, or one of the ids below. The log of changes keeps it. */
  readonly id: string
  readonly name: string
  /** What it may see and change; undefined: all. The log of changes does not keep it. */
  readonly part?: Part | undefined
  /** What the change belongs to; undefined for a change on its own. */
  readonly action?: ActionName | undefined
}

/** The token that the configuration of the service names. */
export const CONFIGURED_TOKEN: Actor = { id: 'configured', name: 'PLANTSTORE_TOKEN' }

/** The actor of requests without a token, where the service has a public view. Its part is the setting's. */
export const PUBLIC: Actor = { id: 'public', name: 'public' }

/** The actor of a command that opens the store itself, by its rights to the file or the database, without a token. */
export const commandActor = (command: 'import' | 'copy' | 'token' | 'restore' | 'check' | 'serve' | 'undo'): Actor => ({
  id: `command:${command}`,
  name: `plantstore ${command}`,
})

export interface IssuedToken {
  /** Its id is `oidc:` and the subject of a token that an identity provider made. */
  readonly actor: Actor
  /** None where the token gives no scope of the service. */
  readonly scopes: readonly Scope[]
  /** Milliseconds since 1970. */
  readonly expiresAt: number
}

/** The sender of a request. */
export interface Identity extends IssuedToken {
  /** SHA-256 of the token's secret; undefined for a token outside of the store, which nobody can revoke here. */
  readonly hash: Buffer | undefined
}

/** Verifies the access tokens (JWT, RFC 9068) of one identity provider. */
export interface TokenIssuer {
  /**
   * Resolves with a valid token. It also passes for LEEWAY after its expiry, as clocks differ.
   *
   * @param enter waits for the turn of one step of the check, and resolves with a function that ends the turn
   * @throws AppError 40102 for an invalid token, 40103 for an expired one, 50301 while no key can tell; all that
   *   `enter` throws
   */
  verify(jwt: string, enter: () => Promise<() => void>): Promise<IssuedToken>
}

export interface StoredToken {
  readonly token: Token
  readonly hash: Buffer
}

/** Bounds on the creation of a token by another one. */
export interface IssueOptions {
  /** The id of the creating token, which must be active at that moment; undefined for a token outside of the store. */
  readonly creator: string | undefined
  /** The most active tokens (neither revoked nor expired) of the store. */
  readonly max: number
  /** The most revoked and expired tokens that the store lists besides. */
  readonly maxEnded: number
  /** Undefined: the new token replaces none. */
  readonly rotates?: Rotation | undefined
}

/** The active token that a new one replaces, and the most rights that it may have. */
export interface Rotation {
  readonly id: string
  /** Milliseconds since 1970: it then expires, unless it does so before. */
  readonly until: number
  readonly scopes: readonly Scope[]
  readonly part?: Part | undefined
  /** Milliseconds since 1970, or infinity. */
  readonly expiresAt: number
}

/**
 * The token in the store, which expires no later than its creator, or the refusal: its creator is no longer active,
 * there are too many tokens, the id is that of a revoked token or of one with another content, or the token to replace
 * is not active or has more rights than the bounds.
 */
export type IssueResult = Token | IssueRefusal
export type IssueRefusal = 'creator revoked' | 'too many' | 'other content' | RotationRefusal
type RotationRefusal = 'absent' | 'too strong'

/**
 * `last`: the call spares the token, which is the last active one with the scope `tokens` and without a part. `too strong`:
 * it is not within the given part.
 */
export type RevokeResult = 'revoked' | 'revoked before' | 'absent' | 'last' | 'too strong'

/** The last token of a page: the next page begins after it. */
export type TokenPosition = Pick<Token, 'createdAt' | 'id'>

export interface TokenPage {
  readonly after?: TokenPosition | undefined
  readonly limit?: number | undefined
}

/**
 * The access tokens of a store. These comments are the specification for every engine; each engine runs the same test
 * suite (test/token-suite.ts). Writes resolve after the commit. Every method throws the AppErrors that Store names for
 * all of its methods.
 */
export interface TokenStore {
  /** Stores a token under the SHA-256 of its secret, without any bound. */
  createToken(token: Token, hash: Buffer): Promise<void>

  /**
   * Stores a new token within the bounds, atomically. It expires with its creator at the latest. A token that has this
   * id already stays as it is, and is the result if it has the same content. If more tokens have ended than the store
   * may list, it first removes those that ended first: the excess and a tenth of the bound, so that few calls remove
   * any.
   *
   * With `rotates` the new token has the name, the scopes, the part and the expiry of the token that it replaces, whose
   * own expiry changes in the same transaction.
   */
  issueToken(token: Token, hash: Buffer, options: IssueOptions): Promise<IssueResult>

  /** Returns the token whose secret has this SHA-256 (32 bytes), even expired or revoked; undefined if unknown. */
  findToken(hash: Buffer): Promise<Token | undefined>

  /** Returns all tokens, also revoked and expired ones, oldest first; tokens of one moment by their ids. */
  listTokens(page?: TokenPage): Promise<Token[]>

  /** Returns the same tokens with their hashes, for a copy of the store; in any order. */
  exportTokens(): Promise<StoredToken[]>

  /** Records that a token was used. A crash may lose the record. Does nothing for an unknown token. */
  touchToken(id: string, usedAt: Date): Promise<void>

  /**
   * Revokes a token. Nothing makes it active again.
   *
   * @param sparesLast leaves the last active token with the scope `tokens` and without a part, also when several are
   *   revoked at once
   * @param part leaves a token that is not within it
   */
  revokeToken(id: string, sparesLast?: boolean, part?: Part): Promise<RevokeResult>
}

export const isActive = ({ revokedAt, expiresAt }: Token, now: number): boolean =>
  revokedAt === undefined && (expiresAt === undefined || expiresAt.getTime() > now)

/** The number of ended tokens to remove from a store that lists this many of them. */
export const endedToRemove = (ended: number, max: number): number =>
  ended <= max ? 0 : ended - max + Math.floor(max / 10)

/** Returns why a token cannot be replaced; undefined where it can. */
export function faultOfRotation(
  replaced: Token | undefined,
  { scopes, part, expiresAt }: Rotation,
  now: number,
): RotationRefusal | undefined {
  const end = replaced?.expiresAt?.getTime() ?? Number.POSITIVE_INFINITY
  if (replaced === undefined || replaced.revokedAt !== undefined || end <= now) return 'absent'
  const isWithin = replaced.scopes.every((scope) => scopes.includes(scope)) && includes(part, replaced.part)
  return end > expiresAt || !isWithin ? 'too strong' : undefined
}
