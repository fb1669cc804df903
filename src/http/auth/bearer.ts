import { timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { BoundedMap } from '../../base/counts.ts'
import { addressGroup, type ClientAddresses } from '../../base/network.ts'
import { AppError } from '../../domain/errors.ts'
import type { Part } from '../../domain/part.ts'
import {
  type Actor,
  CONFIGURED_TOKEN,
  hashSecret,
  type Identity,
  isJwt,
  isWellFormed,
  LOOK_UP_INTERVAL,
  PUBLIC,
  SCOPES,
  type Scope,
  TOKEN_TTL,
  type Token,
  type TokenIssuer,
  type TokenStore,
} from '../../domain/token.ts'
import type { Config } from '../../settings/config.ts'
import { FairQueue } from '../admission/admission.ts'
import type { Responder } from '../answer/responder.ts'
import { HttpError } from '../refusal.ts'
import type { Exchange, Route } from '../request/exchange.ts'
import type { Operation } from '../request/operations.ts'
import { AddressLimit, RateLimiter } from './limits.ts'

interface AuthOptions {
  readonly tokens: TokenStore
  readonly config: Pick<Config, 'token' | 'authFailureLimit' | 'public' | 'publicLimit'>
  /** Verifies every token that is a JWT; undefined: the service takes none. */
  readonly issuer: TokenIssuer | undefined
  readonly addresses: ClientAddresses
  /** Called when the store could not record the last use of a token. */
  readonly onTouchFailure: (error: unknown) => void
}

/** The parts of a request that identify its client. */
type Request = Pick<IncomingMessage, 'headers' | 'socket'>
type Asking = Pick<Exchange, 'startedAt' | 'signal'> & { readonly request: Request; revoked?: Actor | undefined }

interface Verified {
  readonly identity: Identity
  readonly until: number
}

const MAX_TOKENS = 10_000
/** Milliseconds for which a JWT counts as verified, less where it expires before. A key that its issuer withdraws stops later. */
const VERIFIED_TTL = 60_000
/** Characters of a JWT that the cache keeps whole. Its digest takes the place of a longer one, which needs more time. */
const MAX_KEY = 2048
/**
 * Steps of checks of JWTs at once: parsing, and 50 to 500 µs in the threads of Node.js, two of which stay free for
 * files. Addresses take turns, because each may send as many bad JWTs as it likes.
 */
const CHECKS = { running: 2, runningPerToken: 2, waiting: Number.POSITIVE_INFINITY }
const TOUCH_INTERVAL = 60_000
const REALM = 'Bearer realm="plantstore"'

/**
 * Checks bearer tokens (RFC 6750). A valid token passes whatever else its address sends: Auth looks every token up, and
 * the limit decides only how it refuses an invalid one (docs/decisions/0008-failed-authentication-limit.md).
 */
export class Auth {
  readonly #options: AuthOptions
  readonly #configuredHash: Buffer | undefined
  readonly #failures: AddressLimit | undefined
  /** The sender of every request without a token; undefined without a public view. */
  readonly #visitor: Identity | undefined
  readonly #visits: AddressLimit
  /**
   * By the whole header, so that most requests cost one look-up and no hash. The service never logs or stores a key.
   * All spellings of a header share the entry of the plain one: else one token could take the places of all others.
   */
  readonly #verified: BoundedMap<string, Verified>
  readonly #touched: BoundedMap<string, number>
  /** Its waiting requests have open connections, of which there are few. */
  readonly #checks = new FairQueue('checks of access tokens', CHECKS)

  /** @param max tokens that it remembers */
  constructor(options: AuthOptions, max = MAX_TOKENS) {
    this.#options = options
    this.#verified = new BoundedMap(max)
    this.#touched = new BoundedMap(max)
    const { token, authFailureLimit, public: view, publicLimit } = options.config
    this.#configuredHash = token === undefined ? undefined : hashSecret(token)
    this.#failures = authFailureLimit === undefined ? undefined : new AddressLimit(authFailureLimit)
    this.#visitor = view && visitorOf(view)
    this.#visits = new AddressLimit(publicLimit)
  }

  /**
   * @param isPublic whether a request without a token is one of the public view, if the service has one
   * @throws AppError (or a promise of one) 40101 without a token, 40102 or 40103 with an invalid one, 42901 from an
   *   address that sent too many invalid ones, or too many requests of the public view
   */
  identify(asking: Asking, isPublic = false): Identity | Promise<Identity> {
    const header = asking.request.headers.authorization
    if (header === undefined && isPublic && this.#visitor !== undefined)
      return this.#visit(this.#visitor, asking.request)
    const known = header === undefined ? undefined : this.#verified.get(header)
    return known !== undefined && asking.startedAt < known.until
      ? this.#unexpired(known.identity, asking.request)
      : this.#verify(header, asking)
  }

  /**
   * Checks again the token of a request under way, and resolves when it is still valid.
   *
   * @throws AppError 40102 when it was revoked, 40103 when it has expired, 50301 when the store is out of reach
   */
  async confirm({ hash, expiresAt }: Identity): Promise<void> {
    if (Date.now() >= expiresAt) throw expiredToken()
    if (hash === undefined) return
    const token = await this.#options.tokens.findToken(hash)
    if (token === undefined || token.revokedAt !== undefined) throw revokedToken()
    // A rotation may have brought the expiry forward.
    if (token.expiresAt !== undefined && token.expiresAt.getTime() <= Date.now()) throw expiredToken()
  }

  async #verify(header: string | undefined, asking: Asking): Promise<Identity> {
    const { request } = asking
    if (header === undefined || !/^bearer(?: |$)/i.test(header)) {
      throw new HttpError(40101, 'an access token is required: send "Authorization: Bearer <token>"', challenge())
    }
    const secret = secretIn(header)
    const issuer = isJwt(secret) ? this.#options.issuer : undefined
    // No header has a line feed, so no client can send the digest in place of the token.
    const isLong = issuer !== undefined && secret.length > MAX_KEY
    const key = isLong ? `\n${hashSecret(secret).toString('base64')}` : `Bearer ${secret}`
    const known = key === header ? undefined : this.#verified.get(key)
    if (known !== undefined && performance.now() < known.until) return this.#unexpired(known.identity, request)
    if (issuer !== undefined) return this.#issued(issuer, secret, key, asking)
    // Counts from before the look-up, because the token may be revoked during it.
    const until = performance.now() + TOKEN_TTL
    const identity = await this.#find(secret, asking)
    if (identity === undefined) {
      this.#verified.delete(key)
      throw this.#failure(request, 40102, UNKNOWN)
    }
    this.#verified.set(key, { identity, until })
    return this.#unexpired(identity, request)
  }

  async #issued(issuer: TokenIssuer, jwt: string, key: string, { request, signal }: Asking): Promise<Identity> {
    const group = addressGroup(this.#addressOf(request))
    try {
      const token = await issuer.verify(jwt, () => this.#checks.enter(group, signal))
      const identity = { ...token, hash: undefined }
      // Once it has expired, the token passes for a moment longer, but the cache never holds it then.
      const left = token.expiresAt - Date.now()
      this.#verified.set(key, { identity, until: performance.now() + Math.min(VERIFIED_TTL, left) - 1 })
      return identity
    } catch (error) {
      if (!(error instanceof AppError) || (error.number !== 40102 && error.number !== 40103)) throw error
      throw this.#failure(request, error.number, error.message)
    }
  }

  async #find(secret: string, asking: Asking): Promise<Identity | undefined> {
    // Stored tokens all have this form, which the configured token never has.
    if (!isWellFormed(secret)) return this.#isConfigured(secret) ? CONFIGURED : undefined
    const hash = hashSecret(secret)
    const token = await this.#options.tokens.findToken(hash)
    if (token === undefined) return undefined
    const { id, name, scopes, part, revokedAt, expiresAt } = token
    if (revokedAt !== undefined) {
      asking.revoked = { id, name }
      return undefined
    }
    this.#touch(token)
    return { actor: { id, name, part }, scopes, expiresAt: expiresAt?.getTime() ?? Number.POSITIVE_INFINITY, hash }
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
    const isRecent = (time = 0) => Math.abs(now - time) < TOUCH_INTERVAL
    if (isRecent(token.lastUsedAt?.getTime()) || isRecent(this.#touched.get(token.id))) return
    this.#touched.set(token.id, now)
    this.#options.tokens.touchToken(token.id, new Date(now)).catch(this.#options.onTouchFailure)
  }

  #visit(visitor: Identity, request: Request): Identity {
    const seconds = this.#visits.note(this.#addressOf(request))
    if (seconds === 0) return visitor
    const excess = `too many requests without a token came from this address; wait ${seconds} seconds`
    throw new AppError(42901, excess, { retryAfter: seconds })
  }

  #addressOf({ headers, socket }: Request): string {
    return this.#options.addresses.of(socket.remoteAddress, headers)
  }

  #failure(request: Request, number: 40102 | 40103, message: string): AppError {
    const seconds = this.#failures?.note(this.#addressOf(request)) ?? 0
    if (seconds === 0) return badToken(number, message)
    const excess = `${message}, like too many others from this address; wait ${seconds} seconds`
    return new AppError(42901, excess, { retryAfter: seconds })
  }
}

/** Any number of blanks may follow the scheme (RFC 9110 section 11.4). */
const secretIn = (header: string): string => header.slice('bearer'.length).replace(/^ +/, '')

export const secretOf = ({ headers }: Request): string => secretIn(headers.authorization ?? '')

const CONFIGURED: Identity = {
  actor: CONFIGURED_TOKEN,
  scopes: SCOPES,
  expiresAt: Number.POSITIVE_INFINITY,
  hash: undefined,
}

const visitorOf = (view: Part | 'all'): Identity => ({
  actor: view === 'all' ? PUBLIC : { ...PUBLIC, part: view },
  scopes: ['plants:read'],
  expiresAt: Number.POSITIVE_INFINITY,
  hash: undefined,
})

const UNKNOWN = 'the access token is malformed, unknown or revoked'
const EXPIRED = 'the access token has expired'

const badToken = (number: 40102 | 40103, message: string): AppError =>
  new HttpError(number, message, challenge(`error="invalid_token", error_description="${message}"`))

export const revokedToken = (): AppError => badToken(40102, 'the access token was revoked')

export const expiredToken = (): AppError => badToken(40103, EXPIRED)

/** The refusal of a request for a token with more rights than the token of the request. */
export const tooStrong = (message: string, scopes: readonly Scope[]): AppError => insufficient(40302, message, scopes)

/** Whether an identity has all of these scopes, and one at least. */
export const hasScopes = ({ scopes: own }: Identity, scopes: readonly Scope[] = []): boolean =>
  own.length > 0 && scopes.every((scope) => own.includes(scope))

/** @throws AppError 40301 when the identity lacks one of the scopes, or has none at all, as a JWT may */
export function requireScopes(identity: Identity, scopes: readonly Scope[]): void {
  if (identity.scopes.length === 0) {
    const needed = scopes.length === 0 ? SCOPES : scopes
    throw insufficient(40301, 'the access token has no scope of this service', needed)
  }
  const missing = scopes.find((scope) => !identity.scopes.includes(scope))
  if (missing !== undefined) throw insufficient(40301, `the access token lacks the scope ${missing}`, scopes)
}

/** @throws AppError 40301 as requireScopes does, 40303 where the operation is of the whole store and the token of a part */
function requireRights(identity: Identity, { scopes = [], isOfWholeStore }: Operation): void {
  requireScopes(identity, scopes)
  if (isOfWholeStore && identity.actor.part !== undefined) {
    throw new AppError(40303, 'this operation needs an access token without a part')
  }
}

const insufficient = (number: 40301 | 40302, message: string, scopes: readonly Scope[]): AppError =>
  new HttpError(number, message, challenge(`error="insufficient_scope", scope="${scopes.join(' ')}"`))

/** The headers of a refusal that asks for an access token. */
export const challenge = (details = ''): { headers: Record<string, string> } => ({
  headers: { 'WWW-Authenticate': details === '' ? REALM : `${REALM}, ${details}` },
})

type End = (reason: unknown) => void

/** Ends requests under way, such as imports and exports, whose token is revoked or expires. */
export class TokenWatch {
  readonly #auth: Auth
  readonly #watched = new Map<string, { readonly identity: Identity; readonly ends: Set<End>; isLookedUp: boolean }>()
  #timer: NodeJS.Timeout | undefined

  constructor(auth: Auth) {
    this.#auth = auth
  }

  /**
   * @param end called with an AppError: 40102, 40103, or the failure of the look-up
   * @returns a function that stops the watch
   */
  watch(identity: Identity, end: End): () => void {
    // One subject of an identity provider may have several tokens, which expire at different times.
    const key = `${identity.actor.id} ${identity.expiresAt}`
    const watched = this.#watched.get(key) ?? { identity, ends: new Set(), isLookedUp: false }
    watched.ends.add(end)
    this.#watched.set(key, watched)
    this.#timer ??= setInterval(() => this.#check(), LOOK_UP_INTERVAL).unref()
    return () => {
      watched.ends.delete(end)
      if (watched.ends.size === 0 && this.#watched.get(key) === watched) this.#watched.delete(key)
    }
  }

  #check(): void {
    if (this.#watched.size === 0) {
      clearInterval(this.#timer)
      this.#timer = undefined
    }
    for (const watched of this.#watched.values()) {
      // One look-up per token at a time. The store bounds the time of each.
      if (watched.isLookedUp) continue
      watched.isLookedUp = true
      this.#auth
        .confirm(watched.identity)
        .catch((reason: unknown) => {
          for (const end of watched.ends) end(reason)
        })
        .finally(() => {
          watched.isLookedUp = false
        })
    }
  }
}

/** Returns a route that checks the token of a request before `next` reads the body. */
export type Authorize = (operation: Operation, next: Route) => Route

/** Refuses a request whose token is not valid, lacks a scope, has a part where none may be, or exceeds its rate. */
export function authorizeOperations(config: Config, auth: Auth, responder: Responder): Authorize {
  const limiter = config.rateLimit === undefined ? undefined : new RateLimiter(config.rateLimit)

  return (operation, next) => {
    if (operation.scopes === undefined) return next
    const admit = (exchange: Exchange, identity: Identity) => {
      exchange.identity = identity
      // The public view has a limit of each address.
      if (identity.actor.id !== PUBLIC.id) exchange.rateLimitHeaders = limiter?.take(identity.actor.id)
      requireRights(identity, operation)
      next(exchange)
    }
    return (exchange) => {
      // A call by the service itself, for a request whose token was checked and has taken its turn.
      if (exchange.identity !== undefined) {
        requireRights(exchange.identity, operation)
        next(exchange)
        return
      }
      const identity = auth.identify(exchange, operation.isPublic)
      if (!(identity instanceof Promise)) return admit(exchange, identity)
      identity.then((known) => admit(exchange, known)).catch((error: unknown) => responder.refuse(exchange, error))
    }
  }
}
