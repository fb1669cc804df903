import { type CryptoKey, errors, type JWTPayload, jwtVerify } from 'jose'
import { AppError } from '../domain/errors.ts'
import { type IssuedToken, partIn, plainTokenName, SCOPES, type Scope, type TokenIssuer } from '../domain/token.ts'
import { readJsonBody } from '../json/body.ts'
import { CLIENT_PREFIX, type IdentityProvider } from '../settings/identity-provider.ts'
import { IssuerKeys } from './issuer-keys.ts'

/** The signatures that the service verifies (RFC 8725 section 3.1): all are made with a private key. */
const ALGORITHMS = ['RS256', 'PS256', 'ES256', 'ES384', 'EdDSA']
/** Seconds by which the clocks of the provider and the service may differ. */
const LEEWAY = 30
/** Characters of a subject, as OpenID Connect Core 1.0 section 2 allows. */
const MAX_SUBJECT = 255
/** Claims of an ID token (OpenID Connect Core 1.0 sections 2 and 3.3.2.11), which says who signed in and permits nothing. */
const ID_TOKEN_CLAIMS = ['nonce', 'at_hash', 'c_hash']
const FORM = /^[\w-]+\.[\w-]+\.[\w-]+$/

type Members = Readonly<Record<string, unknown>>

export interface JwtIssuerOptions extends IdentityProvider {
  readonly oidcIssuer: string
  /** Called once for each time in which the provider gives no keys. */
  readonly onOutage: (error: unknown) => void
}

/** Verifies JWTs by `jose` (RFC 8725, RFC 9068). It never reads a key, or the address of one, from a token. */
export class JwtIssuer implements TokenIssuer {
  readonly #options: JwtIssuerOptions
  readonly #keys: IssuerKeys

  constructor(options: JwtIssuerOptions) {
    this.#options = options
    this.#keys = new IssuerKeys(options.oidcIssuer, options.onOutage)
  }

  async verify(jwt: string, enter: () => Promise<() => void>): Promise<IssuedToken> {
    const parsed = await enter()
    // Parsing takes up to 0.3 ms, and a thousand tokens may arrive in one turn of the event loop.
    setImmediate(parsed)
    const [header, claims] = partsOf(jwt)
    this.#checkHeader(header, claims)
    const keys = await this.#keys.find(header, claims['iat'])
    const leave = await enter()
    try {
      return this.#read(await this.#verified(jwt, keys, claims))
    } catch (error) {
      throw refusalOf(error)
    } finally {
      leave()
    }
  }

  /** Tries each key. @throws the error of `jose` for the last one, or for another fault than the signature */
  async #verified(jwt: string, [key, ...others]: readonly CryptoKey[], claims: Members): Promise<JWTPayload> {
    if (key === undefined) throw bad('is signed by no key of the identity provider')
    const { oidcIssuer: issuer, oidcAudience: names = [] } = this.#options
    const audience = names.filter((name) => !name.startsWith(CLIENT_PREFIX))
    try {
      const { payload } = await jwtVerify(jwt, key, {
        algorithms: ALGORITHMS,
        issuer,
        ...(this.#isOfClient(claims) ? {} : { audience }),
        requiredClaims: ['sub', 'exp', 'iat'],
        clockTolerance: LEEWAY,
      })
      return payload
    } catch (error) {
      if (others.length > 0 && error instanceof errors.JWSSignatureVerificationFailed) {
        return this.#verified(jwt, others, claims)
      }
      throw error
    }
  }

  /**
   * Whether a token that names no audience is an access token of a client that stands for one: Amazon Cognito has no
   * `aud` in them, and `token_use` tells them from ID tokens.
   */
  #isOfClient({ aud, client_id: client, token_use: use }: Members): boolean {
    if (aud !== undefined || (use !== undefined && use !== 'access') || typeof client !== 'string') return false
    return this.#options.oidcAudience?.includes(`${CLIENT_PREFIX}${client}`) === true
  }

  #checkHeader({ alg, typ, kid, crit }: Members, claims: Members): void {
    if (kid !== undefined && typeof kid !== 'string') throw bad('has a key id (kid) that is no string')
    if (!ALGORITHMS.some((known) => known === alg)) throw bad(`is not signed by one of ${ALGORITHMS.join(', ')}`)
    if (crit !== undefined) throw bad('has the header crit, which the service does not support')
    const type = typeof typ === 'string' ? typ.toLowerCase().replace(/^application\//, '') : typ
    if (type === 'at+jwt') return
    if (this.#options.oidcTokenType !== 'any') throw bad('does not have the type at+jwt (RFC 9068)')
    if (type !== 'jwt' && type !== undefined) throw bad('has a type other than at+jwt or JWT')
    if (ID_TOKEN_CLAIMS.some((claim) => claim in claims)) throw bad('is an ID token')
  }

  #read(claims: JWTPayload): IssuedToken {
    const { sub, exp = Number.NaN, iat = Number.NaN } = claims
    const subject = typeof sub === 'string' && sub.length <= MAX_SUBJECT ? sub : ''
    if (subject === '' || plainTokenName(subject, MAX_SUBJECT) !== subject) throw bad('has a wrong claim sub')
    if (iat > Date.now() / 1000 + LEEWAY) throw bad('has a wrong claim iat: it is in the future')
    const lifetime = this.#options.oidcMaxLifetime / 1000
    // The negation also refuses NaN.
    if (!(exp - iat <= lifetime)) throw bad(`lives longer than the ${lifetime} seconds that the service allows`)
    const { preferred_username: user, client_id: client, azp } = claims
    const names = [user, client, azp].map((name) => (typeof name === 'string' ? plainTokenName(name) : ''))
    const name = names.find((each) => each !== '') ?? plainTokenName(subject)
    const { oidcPartClaim } = this.#options
    const part = oidcPartClaim === undefined ? undefined : partIn([valueAt(claims, oidcPartClaim) ?? []].flat())
    // Else a group that the provider forgets to map would have the whole store.
    const hasNone = oidcPartClaim !== undefined && part === undefined
    const scopes = hasNone ? [] : this.#scopesIn(claims)
    return { actor: { id: `oidc:${subject}`, name, part }, scopes, expiresAt: exp * 1000 }
  }

  #scopesIn(claims: JWTPayload): readonly Scope[] {
    const { oidcScopeClaim, oidcScopeMap, oidcAudience = [] } = this.#options
    const claim = valueAt(claims, oidcScopeClaim)
    const values: readonly unknown[] = typeof claim === 'string' ? claim.split(' ') : Array.isArray(claim) ? claim : []
    const given = oidcScopeMap.filter(([from]) => {
      const audience = oidcAudience.find((name) => from.startsWith(`${name}/`))
      return values.includes(from) || (audience !== undefined && values.includes(from.slice(audience.length + 1)))
    })
    return SCOPES.filter((scope) => given.some(([, to]) => to === scope))
  }
}

/** @throws AppError 40102 for a text that is no JWT, or repeats a member (RFC 7519 section 4) */
function partsOf(jwt: string): [Members, Members] {
  const [header = '', claims = ''] = FORM.test(jwt) ? jwt.split('.', 2) : []
  return [membersIn(header), membersIn(claims)]
}

function membersIn(part: string): Members {
  const bytes = Buffer.from(part, 'base64url')
  try {
    if (readJsonBody(bytes).isObject) return JSON.parse(bytes.toString()) as Members
  } catch {
    // The message of the parser is about a body.
  }
  throw bad('is malformed')
}

/** The claim of this name, or the value at the end of a path with dots. Names of claims may have dots themselves. */
function valueAt(claims: Members, path: string): unknown {
  if (Object.hasOwn(claims, path)) return claims[path]
  return path.split('.').reduce<unknown>((at, name) => {
    return typeof at === 'object' && at !== null && Object.hasOwn(at, name) ? (at as Members)[name] : undefined
  }, claims)
}

function refusalOf(error: unknown): unknown {
  if (error instanceof errors.JWTExpired) return new AppError(40103, 'the access token has expired')
  if (error instanceof errors.JWTClaimValidationFailed) return bad(`has a wrong claim ${error.claim}, or none`)
  if (error instanceof errors.JWSSignatureVerificationFailed) return bad('has a wrong signature')
  // As for RSA with less than 2048 bits.
  if (error instanceof TypeError) return bad('is signed by a key that the service does not accept')
  return error instanceof errors.JOSEError ? bad('is malformed') : error
}

const bad = (what: string): AppError => new AppError(40102, `the access token ${what}`)
