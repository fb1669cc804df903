import { type CryptoKey, createLocalJWKSet, errors, type JWK, type JWSHeaderParameters } from 'jose'
import { AppError } from '../domain/errors.ts'
import { isTrustworthy } from '../settings/identity-provider.ts'

/** Milliseconds after which the keys are fetched again in the background. */
const FRESH = 10 * 60_000
/** Milliseconds for which the keys are used while the provider does not answer: longer than it usually stays away. */
const USABLE = 24 * 3_600_000
/** Milliseconds between requests, as the provider serves others too. */
const PAUSE = 30_000
/** Milliseconds between requests while there are no keys, so that tokens work soon after the provider is back. */
const PAUSE_WITHOUT_KEYS = 5000
/** Milliseconds that a new key may need to reach every server of the provider. */
const SPREADING = 60_000
/** Milliseconds for each answer of the provider. */
const TIMEOUT = 5000
/** Keys that are tried for a token that names none: each costs a verification. Providers have two while they rotate. */
const MAX_TRIED = 4
/** Bytes of an answer of the provider; a key has about 500. */
const MAX_ANSWER = 256 * 1024

interface Keys {
  readonly find: ReturnType<typeof createLocalJWKSet>
  readonly ids: ReadonlySet<string | undefined>
  /** Milliseconds since 1970. */
  readonly fetchedAt: number
}

/**
 * The public keys of an identity provider (RFC 7517), by its discovery document (OpenID Connect Discovery 1.0). Outages
 * of the provider and tokens with invented keys cost few requests: `createRemoteJWKSet` of jose forgets its keys after
 * ten minutes without the provider, and then sends a request for each token (docs/decisions/0040-identity-provider.md).
 */
export class IssuerKeys {
  readonly #issuer: string
  readonly #onOutage: (error: unknown) => void
  #keys: Keys | undefined
  #keysUrl: string | undefined
  #fetching: Promise<void> | undefined
  #triedAt = Number.NEGATIVE_INFINITY
  #soughtAt = Number.NEGATIVE_INFINITY
  #isAway = false

  /** @param onOutage called once for each time in which the provider gives no keys */
  constructor(issuer: string, onOutage: (error: unknown) => void) {
    this.#issuer = issuer
    this.#onOutage = onOutage
    void this.#refresh(0)
  }

  /**
   * Returns the key that the header of a token names, or the keys that fit a header that names none; none for an
   * unknown key.
   *
   * @param issuedAt seconds since 1970, when the token was signed, by its own account
   * @throws AppError 50301 when the provider has to be asked first, and does not answer
   */
  async find(header: JWSHeaderParameters, issuedAt: unknown): Promise<readonly CryptoKey[]> {
    const keys = await this.#usable()
    const found = await keysIn(keys, header)
    // A key of this id that does not fit has another algorithm, or a fault.
    if (found.length > 0 || (header.kid !== undefined && keys.ids.has(header.kid))) return found
    await this.#seek()
    const latest = await this.#usable()
    if (latest !== keys) return keysIn(latest, header)
    // Otherwise anybody would get 503 with an invented key, for as long as it is sent: keys this young are the latest.
    if (since(latest.fetchedAt) < PAUSE) return []
    // The provider is away, and may have signed the token with a key that is newer than these.
    if (typeof issuedAt === 'number' && issuedAt * 1000 > keys.fetchedAt - SPREADING) {
      throw noKeys(this.#soughtAt + PAUSE)
    }
    return []
  }

  async #usable(): Promise<Keys> {
    const age = since(this.#keys?.fetchedAt)
    if (age > USABLE) await this.#refresh(PAUSE_WITHOUT_KEYS)
    else if (age > FRESH) void this.#refresh(PAUSE)
    if (this.#keys !== undefined && since(this.#keys.fetchedAt) <= USABLE) return this.#keys
    throw noKeys(this.#triedAt + PAUSE_WITHOUT_KEYS)
  }

  /** Fetches keys for a token whose key is unknown. Invented keys cause one request in PAUSE, even if it fails. */
  async #seek(): Promise<void> {
    if (this.#fetching !== undefined || since(this.#soughtAt) < PAUSE) return this.#fetching
    this.#soughtAt = Date.now()
    await this.#fetch(this.#keysUrl)
  }

  async #refresh(pause: number): Promise<void> {
    if (this.#fetching !== undefined || since(this.#triedAt) < pause) return this.#fetching
    await this.#fetch(undefined)
  }

  #fetch(keysUrl: string | undefined): Promise<void> {
    this.#triedAt = Date.now()
    this.#fetching = this.#load(keysUrl)
      .catch((error: unknown) => {
        if (!this.#isAway) this.#onOutage(error)
        this.#isAway = true
      })
      .finally(() => {
        this.#fetching = undefined
      })
    return this.#fetching
  }

  async #load(keysUrl: string | undefined): Promise<void> {
    const url = keysUrl ?? (await this.#discover())
    const keys = (await readJson(url))['keys'] as JWK[]
    // Throws where they are no keys.
    const find = createLocalJWKSet({ keys })
    this.#keysUrl = url
    this.#keys = { find, ids: new Set(keys.map(({ kid }) => kid)), fetchedAt: Date.now() }
    this.#isAway = false
  }

  async #discover(): Promise<string> {
    const { issuer, jwks_uri: url } = await readJson(
      `${this.#issuer.replace(/\/$/, '')}/.well-known/openid-configuration`,
    )
    if (issuer !== this.#issuer) throw new Error(`the provider calls itself ${String(issuer)}, not ${this.#issuer}`)
    const parsed = typeof url === 'string' ? URL.parse(url) : null
    if (parsed === null || !isTrustworthy(parsed)) throw new Error('the provider names no safe address of its keys')
    return parsed.href
  }
}

/** Milliseconds. A clock that was set back makes no time last for ever. */
const since = (time = Number.NEGATIVE_INFINITY): number => Math.abs(Date.now() - time)

/** None also where the only key that fits is malformed. */
async function keysIn({ find }: Keys, header: JWSHeaderParameters): Promise<readonly CryptoKey[]> {
  try {
    return [await find(header)]
  } catch (error) {
    if (!(error instanceof errors.JWKSMultipleMatchingKeys) || header.kid !== undefined) return []
    const keys: CryptoKey[] = []
    for await (const key of error) if (keys.push(key) === MAX_TRIED) break
    return keys
  }
}

/** @param next milliseconds since 1970, when the provider may be asked again */
function noKeys(next: number): AppError {
  const retryAfter = Math.max(1, Math.ceil((next - Date.now()) / 1000))
  const message = `the keys of the identity provider are out of reach; wait ${retryAfter} seconds`
  return new AppError(50301, message, { retryAfter })
}

async function readJson(url: string): Promise<Readonly<Record<string, unknown>>> {
  const response = await fetch(url, {
    redirect: 'error',
    signal: AbortSignal.timeout(TIMEOUT),
    headers: { Accept: 'application/json' },
  })
  const pieces: Uint8Array[] = []
  let length = 0
  // Leaving the loop cancels the rest of the body.
  for await (const piece of response.body ?? []) {
    length += piece.length
    if (!response.ok || length > MAX_ANSWER) break
    pieces.push(piece)
  }
  if (!response.ok) throw new Error(`${url} answers ${response.status}`)
  if (length > MAX_ANSWER) throw new Error(`the answer of ${url} is longer than ${MAX_ANSWER} bytes`)
  const json: unknown = JSON.parse(Buffer.concat(pieces).toString())
  if (typeof json !== 'object' || json === null) throw new Error(`the answer of ${url} is no object`)
  return json as Readonly<Record<string, unknown>>
}
