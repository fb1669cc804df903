import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type CryptoKey, exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose'
import Provider from 'oidc-provider'
import type { Scene } from './clean-up.ts'
import type { Bounds } from './service.ts'

/** The name of the service at the issuer. */
export const AUDIENCE = 'urn:plants'
export const PAGE_CLIENT = 'plants-page'
const ALGORITHMS = ['RS256', 'PS256', 'ES256', 'ES384', 'EdDSA'] as const
export type Algorithm = (typeof ALGORITHMS)[number]

type Handler = (request: IncomingMessage, response: ServerResponse) => unknown

interface Pair {
  readonly privateKey: CryptoKey
  readonly publicKey: CryptoKey
}

/** The keys of each generation, which the providers of a process share: two of RSA take half a second. */
const GENERATIONS: Promise<Readonly<Record<string, Pair>>>[] = []

async function makePairs(): Promise<Readonly<Record<string, Pair>>> {
  const pairs = await Promise.all(ALGORITHMS.map((alg) => generateKeyPair(alg, { extractable: true })))
  return Object.fromEntries(ALGORITHMS.map((alg, i) => [alg, pairs[i] ?? assert.fail()]))
}

/** A real identity provider (oidc-provider) on this machine. */
export class Issuer {
  readonly url: string
  /** Requests for keys, and for the address of the keys. */
  readonly asked = { keys: 0, discovery: 0 }
  /** The seconds for which the tokens of the page are valid. */
  lifetime = 3600
  /** Whether the page gets a token that renews its sign-in. */
  renews = true
  /** Answers a request in place of the provider; returns false to leave it to the provider. */
  instead: (request: IncomingMessage, response: ServerResponse) => boolean = () => false
  readonly #server: Server
  #generation = 0
  #pairs: Readonly<Record<string, Pair>> = {}
  #handler: Handler = () => {}

  static async start(scene: Scene): Promise<Issuer> {
    const server = createServer()
    await once(server.listen(0, '127.0.0.1'), 'listening')
    const issuer = new Issuer(server)
    scene.after(() => issuer.leave())
    await issuer.rotate()
    return issuer
  }

  constructor(server: Server) {
    this.#server = server
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    server.on('request', (request: IncomingMessage, response: ServerResponse) => {
      if (request.url === '/jwks') this.asked.keys++
      if (request.url?.endsWith('/openid-configuration') === true) this.asked.discovery++
      if (!this.instead(request, response)) void this.#handler(request, response)
    })
  }

  /** The settings of a service that takes the tokens of this issuer. */
  get settings(): Bounds {
    return { oidcIssuer: this.url, oidcAudience: `${AUDIENCE},another`, oidcClientId: PAGE_CLIENT }
  }

  /** The id of the present key of an algorithm. */
  kid = (alg: Algorithm): string => `${alg}-${this.#generation}`

  keyOf = (alg: Algorithm): Pair => this.#pairs[alg] ?? assert.fail(alg)

  /** Signs with new keys from now on, and publishes no other ones. */
  async rotate(): Promise<void> {
    this.#generation++
    const known = GENERATIONS[this.#generation] ?? makePairs()
    GENERATIONS[this.#generation] = known
    this.#pairs = await known
    const keys = ALGORITHMS.map(async (alg) => ({
      ...(await exportJWK(this.keyOf(alg).privateKey)),
      kid: this.kid(alg),
      alg,
      use: 'sig',
    }))
    const provider = new Provider(this.url, this.#configurationOf(await Promise.all(keys)))
    this.#handler = provider.callback()
  }

  /** Refuses connections from now on. */
  async leave(): Promise<void> {
    if (!this.#server.listening) return
    this.#server.close()
    this.#server.closeAllConnections()
    await once(this.#server, 'close')
  }

  async comeBack(): Promise<void> {
    await once(this.#server.listen(Number(new URL(this.url).port), '127.0.0.1'), 'listening')
  }

  /** Asks the provider for a token, as a program does. */
  async token(scope = 'plants:read plants:write tokens'): Promise<string> {
    const response = await fetch(`${this.url}/token`, {
      method: 'POST',
      headers: { Authorization: `Basic ${btoa('program:the-secret-of-the-program')}` },
      body: new URLSearchParams({ grant_type: 'client_credentials', scope, resource: AUDIENCE }),
    })
    const answer = (await response.json()) as { access_token?: string }
    return answer.access_token ?? assert.fail(JSON.stringify(answer))
  }

  /** Signs claims with a key of the provider, over those of a good token. A member that is undefined is left out. */
  async sign(
    claims: Readonly<Record<string, unknown>> = {},
    header: Readonly<Record<string, unknown>> = {},
    key?: CryptoKey | Uint8Array,
  ): Promise<string> {
    const alg = (header['alg'] ?? 'ES256') as Algorithm
    const now = Math.floor(Date.now() / 1000)
    const all: JWTPayload = {
      iss: this.url,
      aud: AUDIENCE,
      sub: 'anna',
      iat: now,
      exp: now + 3600,
      scope: 'plants:read plants:write tokens',
      ...claims,
    }
    const signed = { alg, kid: this.kid('ES256'), typ: 'at+jwt', ...header }
    return new SignJWT(all).setProtectedHeader(signed).sign(key ?? this.keyOf(alg).privateKey)
  }

  #configurationOf(keys: readonly object[]): Record<string, unknown> {
    const server = {
      audience: AUDIENCE,
      scope: 'plants:read plants:write tokens',
      accessTokenFormat: 'jwt',
      jwt: { sign: { alg: 'ES256' } },
    }
    return {
      jwks: { keys },
      clients: [
        {
          client_id: 'program',
          client_secret: 'the-secret-of-the-program',
          grant_types: ['client_credentials'],
          redirect_uris: [],
          response_types: [],
        },
        {
          client_id: PAGE_CLIENT,
          token_endpoint_auth_method: 'none',
          application_type: 'native',
          grant_types: ['authorization_code', 'refresh_token'],
          redirect_uris: ['http://127.0.0.1/', 'http://127.0.0.1/garden/'],
        },
      ],
      scopes: ['openid', 'offline_access', 'plants:read', 'plants:write', 'tokens'],
      clientBasedCORS: () => true,
      issueRefreshToken: () => this.renews,
      ttl: {
        AccessToken: () => this.lifetime,
        ClientCredentials: 3600,
        Session: 86_400,
        Grant: 86_400,
        Interaction: 600,
        RefreshToken: 86_400,
      },
      extraTokenClaims: (_context: unknown, { accountId }: { accountId?: string }) =>
        accountId === undefined ? undefined : { preferred_username: accountId },
      features: {
        clientCredentials: { enabled: true },
        devInteractions: { enabled: true },
        resourceIndicators: {
          enabled: true,
          defaultResource: () => AUDIENCE,
          useGrantedResource: () => true,
          getResourceServerInfo: () => ({ ...server, accessTokenTTL: this.lifetime }),
        },
      },
    }
  }
}
