import { timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { type Actor, CONFIGURED_TOKEN } from '../../domain/actor.ts'
import type { AppError } from '../../domain/errors.ts'
import { hashSecret, isWellFormed, SCOPES, type Scope, type Token } from '../../domain/token.ts'
import type { TokenStore } from '../../domain/token-store.ts'
import { HttpError } from '../response/http-error.ts'
import { BoundedMap } from './bounded-map.ts'
import type { ClientAddresses } from './client-address.ts'
import { FailureLimit } from './failure-limit.ts'

/** The sender of a request. */
export interface Identity {
  readonly actor: Actor
  readonly scopes: readonly Scope[]
  readonly expiresAt: number
  /** SHA-256 of the token's secret; undefined for the configured token, which cannot be revoked. */
  readonly hash: Buffer | undefined
}

export interface AuthOptions {
  readonly tokens: TokenStore
  readonly configuredToken: string | undefined
  readonly failureLimit: number | undefined
  readonly addresses: ClientAddresses
  /** Called when the store could not record the last use of a token. */
  readonly onTouchFailure: (error: unknown) => void
}

/** The parts of a request that identify its client. */
type Request = Pick<IncomingMessage, 'headers' | 'socket'>

interface Verified {
  readonly identity: Identity
  readonly until: number
}

interface InvalidToken {
  readonly until: number
  /** The actor of a revoked token; undefined for an unknown one. */
  readonly revoked: Actor | undefined
}

/** Milliseconds of the cache of tokens. Within this time, a revoked token stops working on every instance. */
const CACHE_TTL = 500
const MAX_TOKENS = 10_000
const TOUCH_INTERVAL = 60_000
const REALM = 'Bearer realm="plantstore"'

/**
 * Checks bearer tokens (RFC 6750). A valid token passes whatever else its address sends: Auth looks every token up, and
 * the limit decides only how it refuses an invalid one (docs/decisions/0008-failed-authentication-limit.md).
 */
export class Auth {
  readonly #options: AuthOptions
  readonly #configuredHash: Buffer | undefined
  readonly #failures: FailureLimit | undefined
  /**
   * By the whole header, so that most requests cost one look-up and no hash. The service never logs or stores a key.
   * All spellings of a header share the entry of the plain one: else one token could take the places of all others.
   */
  readonly #verified: BoundedMap<string, Verified>
  /** Well-formed tokens that are unknown to the store, or revoked. */
  readonly #invalid: BoundedMap<string, InvalidToken>
  readonly #touched: BoundedMap<string, number>

  /** @param max tokens that it remembers, of each kind */
  constructor(options: AuthOptions, max = MAX_TOKENS) {
    this.#options = options
    this.#verified = new BoundedMap(max)
    this.#invalid = new BoundedMap(max)
    this.#touched = new BoundedMap(max)
    this.#configuredHash = options.configuredToken === undefined ? undefined : hashSecret(options.configuredToken)
    this.#failures = options.failureLimit === undefined ? undefined : new FailureLimit(options.failureLimit)
  }

  /**
   * @param now `performance.now()`
   * @throws AppError (or a promise of one) 40101 without a token, 40102 or 40103 with an invalid one, 42901 with an
   *   invalid one from an address that sent too many of them
   */
  identify(request: Request, now: number): Identity | Promise<Identity> {
    const header = request.headers.authorization
    const known = header === undefined ? undefined : this.#verified.get(header)
    return known !== undefined && now < known.until
      ? this.#unexpired(known.identity, request)
      : this.#verify(header, request)
  }

  /**
   * Checks again the token of a request under way, and resolves when it is still valid.
   *
   * @throws AppError 40102 when it was revoked, 40103 when it has expired, 50301 when the store is out of reach
   */
  async confirm({ hash, expiresAt }: Identity): Promise<void> {
    if (Date.now() >= expiresAt) throw badToken(40103, EXPIRED)
    if (hash === undefined) return
    const token = await this.#options.tokens.findToken(hash)
    if (token === undefined || token.revokedAt !== undefined) throw revokedToken()
  }

  async #verify(header: string | undefined, request: Request): Promise<Identity> {
    if (header === undefined || !/^bearer(?: |$)/i.test(header)) {
      throw new HttpError(40101, 'an access token is required: send "Authorization: Bearer <token>"', challenge())
    }
    const secret = secretIn(header)
    const key = `Bearer ${secret}`
    const known = key === header ? undefined : this.#verified.get(key)
    if (known !== undefined && performance.now() < known.until) return this.#unexpired(known.identity, request)
    // Counts from before the look-up, because the token may be revoked during it.
    const until = performance.now() + CACHE_TTL
    const identity = await this.#find(secret, until)
    if (!('scopes' in identity)) {
      this.#verified.delete(key)
      throw this.#failure(request, 40102, 'the access token is malformed, unknown or revoked', identity.revoked)
    }
    this.#verified.set(key, { identity, until })
    return this.#unexpired(identity, request)
  }

  async #find(secret: string, until: number): Promise<Identity | InvalidToken> {
    // Stored tokens all have this form, which the configured token never has.
    if (!isWellFormed(secret)) return this.#isConfigured(secret) ? CONFIGURED : { until, revoked: undefined }
    const known = this.#invalid.get(secret)
    if (known !== undefined && known.until > performance.now()) return known
    const hash = hashSecret(secret)
    const token = await this.#options.tokens.findToken(hash)
    if (token === undefined || token.revokedAt !== undefined) {
      const bad = { until, revoked: token === undefined ? undefined : { id: token.id, name: token.name } }
      this.#invalid.set(secret, bad)
      return bad
    }
    this.#touch(token)
    return {
      actor: { id: token.id, name: token.name },
      scopes: token.scopes,
      expiresAt: token.expiresAt?.getTime() ?? Number.POSITIVE_INFINITY,
      hash,
    }
  }

  #isConfigured(secret: string): boolean {
    return this.#configuredHash !== undefined && timingSafeEqual(hashSecret(secret), this.#configuredHash)
  }

  #unexpired(identity: Identity, request: Request): Identity {
    if (Date.now() < identity.expiresAt) return identity
    throw this.#failure(request, 40103, EXPIRED)
  }

  #touch(token: Token): void {
    const now = Date.now()
    const last = Math.max(token.lastUsedAt?.getTime() ?? 0, this.#touched.get(token.id) ?? 0)
    if (now - last < TOUCH_INTERVAL) return
    this.#touched.set(token.id, now)
    this.#options.tokens.touchToken(token.id, new Date(now)).catch(this.#options.onTouchFailure)
  }

  #failure({ headers, socket }: Request, number: 40102 | 40103, message: string, revoked?: Actor): AppError {
    const seconds = this.#failures?.note(this.#options.addresses.of(socket.remoteAddress, headers)) ?? 0
    if (seconds === 0) return badToken(number, message, revoked)
    return new HttpError(42901, `${message}, like too many others from this address; wait ${seconds} seconds`, {
      headers: {},
      retryAfter: seconds,
      revoked,
    })
  }
}

/** Any number of blanks may follow the scheme (RFC 9110 section 11.4). */
const secretIn = (header: string): string => header.slice('bearer'.length).replace(/^ +/, '')

/** The secret of a request with a valid token. */
export const secretOf = ({ headers }: Request): string => secretIn(headers.authorization ?? '')

const CONFIGURED: Identity = {
  actor: CONFIGURED_TOKEN,
  scopes: SCOPES,
  expiresAt: Number.POSITIVE_INFINITY,
  hash: undefined,
}

const EXPIRED = 'the access token has expired'

const badToken = (number: 40102 | 40103, message: string, revoked?: Actor): AppError =>
  new HttpError(number, message, {
    ...challenge(`error="invalid_token", error_description="${message}"`),
    revoked,
  })

/** The refusal of a request whose token was revoked in the meantime. */
export const revokedToken = (): AppError => badToken(40102, 'the access token was revoked')

/** The refusal of a request for a token with more rights than the token of the request. */
export const tooStrong = (message: string, scopes: readonly Scope[]): AppError =>
  new HttpError(40302, message, challenge(`error="insufficient_scope", scope="${scopes.join(' ')}"`))

/** @throws AppError 40301 when the identity lacks one of the scopes */
export function requireScopes(identity: Identity, scopes: readonly Scope[]): void {
  for (const scope of scopes) {
    if (identity.scopes.includes(scope)) continue
    const details = challenge(`error="insufficient_scope", scope="${scopes.join(' ')}"`)
    throw new HttpError(40301, `the access token lacks the scope ${scope}`, details)
  }
}

const challenge = (details = ''): { headers: Record<string, string> } => ({
  headers: { 'WWW-Authenticate': details === '' ? REALM : `${REALM}, ${details}` },
})
