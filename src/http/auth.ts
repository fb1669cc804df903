import { timingSafeEqual } from 'node:crypto'
import { AppError } from '../errors.ts'
import type { Store } from '../store.ts'
import { hashSecret, isMistyped, SCOPES, type Scope, type Token } from '../token.ts'
import { FailureLimit } from './failure-limit.ts'

/** Who sends a request. */
export interface Identity {
  /** The id of the token in the store; `configured` for the one from the configuration. */
  readonly tokenId: string
  readonly scopes: readonly Scope[]
  readonly expiresAt: number
}

export interface AuthOptions {
  readonly store: Store
  readonly configuredToken: string | undefined
  readonly failureLimit: number | undefined
  /** Told of a note of use that could not be written; nothing else depends on it. */
  readonly onTouchFailure: (error: unknown) => void
}

interface Verified {
  readonly identity: Identity
  readonly until: number
  /** Where the token was sent from since it is known here. */
  readonly addresses: Set<string>
}

/** How long a verified token is not looked up again, in ms: a revoked one stops working within this time everywhere. */
const TRUST = 1000
const MAX_VERIFIED = 10_000
const TOUCH_INTERVAL = 60_000
const REALM = 'Bearer realm="plantstore"'

/** Checks bearer tokens (RFC 6750). */
export class Auth {
  readonly #options: AuthOptions
  readonly #configuredHash: Buffer | undefined
  readonly #failures: FailureLimit | undefined
  /** By the whole header, so that most requests cost one look-up and no hash; bounded, and never written anywhere. */
  readonly #verified = new Map<string, Verified>()
  readonly #touched = new Map<string, number>()

  constructor(options: AuthOptions) {
    this.#options = options
    this.#configuredHash = options.configuredToken === undefined ? undefined : hashSecret(options.configuredToken)
    this.#failures = options.failureLimit === undefined ? undefined : new FailureLimit(options.failureLimit)
  }

  /**
   * @param header the Authorization header
   * @param address of the client
   * @param now `performance.now()`
   * @throws AppError (or a promise of one) 40101 without a token, 40102 or 40103 with a bad one, 42901 from an address
   *   that sent too many bad ones, unless it has used this very token before
   */
  identify(header: string | undefined, address: string, now: number): Identity | Promise<Identity> {
    const known = header === undefined ? undefined : this.#verified.get(header)
    if (known !== undefined && now < known.until && known.addresses.has(address)) {
      return this.#unexpired(known.identity, address)
    }
    return this.#verify(header, address, known)
  }

  async #verify(header: string | undefined, address: string, known: Verified | undefined): Promise<Identity> {
    if (header === undefined || !/^bearer(?: |$)/i.test(header)) {
      throw new AppError(40101, 'an access token is needed: send "Authorization: Bearer <token>"', challenge())
    }
    if (this.#failures?.isBlocked(address) === true && known?.addresses.has(address) !== true)
      throw this.#blocked(address)
    const secret = header.slice('bearer '.length)
    // From here on it may be revoked without our seeing it, however long the look-up takes.
    const askedAt = performance.now()
    const token = await this.#find(secret)
    if (token === undefined) {
      this.#verified.delete(header)
      throw this.#failure(address, 40102, 'the access token is malformed, unknown or revoked')
    }
    const addresses = known?.addresses ?? new Set()
    if (addresses.size < MAX_VERIFIED) addresses.add(address)
    this.#remember(header, { identity: token.identity, until: askedAt + TRUST, addresses })
    if (token.token !== undefined) this.#touch(token.token)
    return this.#unexpired(token.identity, address)
  }

  async #find(secret: string): Promise<{ identity: Identity; token: Token | undefined } | undefined> {
    const hash = hashSecret(secret)
    if (this.#configuredHash !== undefined && timingSafeEqual(hash, this.#configuredHash)) {
      return {
        identity: { tokenId: 'configured', scopes: SCOPES, expiresAt: Number.POSITIVE_INFINITY },
        token: undefined,
      }
    }
    const token = isMistyped(secret) ? undefined : await this.#options.store.findToken(hash)
    if (token === undefined) return undefined
    const expiresAt = token.expiresAt?.getTime() ?? Number.POSITIVE_INFINITY
    return { identity: { tokenId: token.id, scopes: token.scopes, expiresAt }, token }
  }

  #unexpired(identity: Identity, address: string): Identity {
    if (Date.now() < identity.expiresAt) return identity
    throw this.#failure(address, 40103, 'the access token has expired')
  }

  #remember(header: string, verified: Verified): void {
    this.#verified.delete(header)
    this.#verified.set(header, verified)
    if (this.#verified.size > MAX_VERIFIED) this.#verified.delete(this.#verified.keys().next().value as string)
  }

  #touch(token: Token): void {
    const now = Date.now()
    const last = Math.max(token.lastUsedAt?.getTime() ?? 0, this.#touched.get(token.id) ?? 0)
    if (now - last < TOUCH_INTERVAL) return
    this.#touched.set(token.id, now)
    this.#options.store.touchToken(token.id, new Date(now)).catch(this.#options.onTouchFailure)
  }

  #failure(address: string, number: 40102 | 40103, message: string): AppError {
    this.#failures?.note(address)
    return new AppError(number, message, challenge(`error="invalid_token", error_description="${message}"`))
  }

  #blocked(address: string): AppError {
    const seconds = this.#failures?.secondsLeft(address) ?? 1
    return new AppError(42901, `too many bad access tokens came from this address; wait ${seconds} seconds`, {
      headers: { 'Retry-After': String(seconds) },
    })
  }
}

/** @throws AppError 40301 when the identity lacks one of the scopes */
export function requireScopes(identity: Identity, scopes: readonly Scope[]): void {
  for (const scope of scopes) {
    if (identity.scopes.includes(scope)) continue
    const details = challenge(`error="insufficient_scope", scope="${scopes.join(' ')}"`)
    throw new AppError(40301, `the access token lacks the scope ${scope}`, details)
  }
}

const challenge = (details = ''): { headers: Record<string, string> } => ({
  headers: { 'WWW-Authenticate': details === '' ? REALM : `${REALM}, ${details}` },
})
