import type { AuthorizationServer, TokenEndpointResponse } from 'oauth4webapi'
import { say } from '../language/language.ts'
import { factOf } from '../page/fact.ts'
import { leaveForSignIn } from '../page/leaving.ts'
import { linkTo } from '../page/route.ts'
import { foreign, PageError } from '../page/said.ts'
import { SERVICE } from '../page/service.ts'
import { storedAs } from '../page/stored.ts'
import { KEY } from './token-key.ts'

interface Provider {
  readonly issuer: string
  /** The name for people. */
  readonly name: string
  readonly client: { readonly client_id: string }
  readonly scope: string
}

/** What the page keeps in the tab while the person is at the provider. */
interface Pending {
  readonly state: string
  readonly verifier: string
  /** The fragment to return to. */
  readonly hash: string
}

/** The access token in use, and what renews it. */
interface Renewal {
  readonly token: string
  readonly refresh: string
  /** Milliseconds since 1970. */
  readonly madeAt: number
  readonly expiresAt: number
}

export interface SignInAnswer extends Pending {
  readonly parameters: URLSearchParams
}

const PENDING = storedAs('plantstore-sign-in')
const RENEWAL = storedAs('plantstore-renewal')
/** Milliseconds before its expiry at which a token is renewed. */
const MARGIN = 30_000

/** The identity provider with which people sign in; undefined where the operator has named none. */
export const provider: Provider | undefined = readProvider()

function readProvider(): Provider | undefined {
  const [issuer, id, scope = ''] = ['oidc-issuer', 'oidc-client-id', 'oidc-scope'].map(factOf)
  if (issuer === undefined || id === undefined) return undefined
  return { issuer, name: new URL(issuer).host, client: { client_id: id }, scope }
}

/**
 * Leaves for the provider, by an authorization code with PKCE (RFC 7636).
 *
 * @throws Error with the reason for people
 */
export async function leaveToSignIn(): Promise<void> {
  const { name, client, scope } = known()
  if (!isSecureContext) throw new PageError(say('provider.needsHttps', { name }))
  const server = await discovered()
  const oauth = await import('./oauth.js')
  if (server.authorization_endpoint === undefined) throw new PageError(say('provider.signsNobody', { name }))
  const pending: Pending = {
    state: oauth.generateRandomState(),
    verifier: oauth.generateRandomCodeVerifier(),
    hash: location.hash,
  }
  const url = new URL(server.authorization_endpoint)
  const parameters = {
    response_type: 'code',
    // Browsers send no fragment to a server, so no log and no Referer holds the code.
    response_mode: 'fragment',
    ...client,
    redirect_uri: redirectUri(),
    scope,
    state: pending.state,
    code_challenge: await oauth.calculatePKCECodeChallenge(pending.verifier),
    code_challenge_method: 'S256',
  }
  for (const [parameter, value] of Object.entries(parameters)) url.searchParams.set(parameter, value)
  sessionStorage.setItem(PENDING, JSON.stringify(pending))
  leaveForSignIn(url)
}

/** Takes the answer of the provider from the address, which then has what it had before. */
export function takeAnswer(): SignInAnswer | undefined {
  const parameters = new URLSearchParams(location.hash.slice(1))
  if (!parameters.has('state') || !(parameters.has('code') || parameters.has('error'))) return undefined
  const pending = JSON.parse(sessionStorage.getItem(PENDING) ?? 'null') as Pending | null
  sessionStorage.removeItem(PENDING)
  history.replaceState(null, '', pending?.hash || linkTo(''))
  // A site that sends a person here with its own answer must not sign them in.
  return pending === null ? undefined : { ...pending, parameters }
}

/** Exchanges the code of an answer for an access token. @throws Error with the reason for people */
export async function redeem({ state, verifier, parameters }: SignInAnswer): Promise<string> {
  const { name, client } = known()
  try {
    const server = await discovered()
    const oauth = await import('./oauth.js')
    // Checks state, and the issuer of the answer (RFC 9207).
    const code = oauth.validateAuthResponse(server, client, parameters, state)
    const exchanged = [code, redirectUri(), verifier, await options()] as const
    const answer = await oauth.authorizationCodeGrantRequest(server, client, oauth.None(), ...exchanged)
    return keep(await oauth.processAuthorizationCodeResponse(server, client, answer))
  } catch (error) {
    const why =
      parameters.get('error') ??
      (error instanceof PageError ? error.message : foreign(String(error instanceof Error ? error.message : error)))
    throw new PageError(say('provider.failed', { name, why }), { cause: error })
  }
}

let renewing: Promise<string> | undefined
/** All access tokens of this sign-in, as work that began with an earlier one goes on. */
const names = new Set<string>()

/** Returns the token to send: another one where this one comes from the provider, which renews it. */
export async function freshToken(token: string): Promise<string> {
  const renewal = keptRenewal()
  if (renewal === undefined || (renewal.token !== token && !names.has(token))) return token
  names.add(token)
  const now = Date.now()
  // A clock that was set back makes no token last longer.
  if (now >= renewal.madeAt && now < renewal.expiresAt - MARGIN) return renewal.token
  renewing ??= renewed(renewal).finally(() => {
    renewing = undefined
  })
  return renewing
}

/** Forgets what renews a token. @returns the token in its place, which the tab keeps */
export function endRenewal(token: string): string {
  const renewal = keptRenewal()
  if (renewal === undefined || (renewal.token !== token && !names.has(token))) return token
  sessionStorage.removeItem(RENEWAL)
  return renewal.token
}

/** Returns the present token where the provider cannot renew it; the service refuses it once it has expired. */
async function renewed({ token, refresh }: Renewal): Promise<string> {
  const { client } = known()
  try {
    const server = await discovered()
    const oauth = await import('./oauth.js')
    const answer = await oauth.refreshTokenGrantRequest(server, client, oauth.None(), refresh, await options())
    const next = keep(await oauth.processRefreshTokenResponse(server, client, answer), refresh)
    names.add(next)
    if (sessionStorage.getItem(KEY) === token) sessionStorage.setItem(KEY, next)
    return next
  } catch {
    return token
  }
}

function keep({ access_token: token, refresh_token, expires_in }: TokenEndpointResponse, before?: string): string {
  const refresh = refresh_token ?? before
  sessionStorage.removeItem(RENEWAL)
  if (refresh !== undefined && expires_in !== undefined) {
    const madeAt = Date.now()
    const renewal: Renewal = { token, refresh, madeAt, expiresAt: madeAt + expires_in * 1000 }
    sessionStorage.setItem(RENEWAL, JSON.stringify(renewal))
  }
  return token
}

const keptRenewal = (): Renewal | undefined =>
  (JSON.parse(sessionStorage.getItem(RENEWAL) ?? 'null') as Renewal | null) ?? undefined

function known(): Provider {
  if (provider === undefined) throw new PageError(say('provider.none'))
  return provider
}

async function discovered(): Promise<AuthorizationServer> {
  const { issuer, name } = known()
  const url = new URL(issuer)
  let server: AuthorizationServer
  try {
    const { discoveryRequest, processDiscoveryResponse } = await import('./oauth.js')
    server = await processDiscoveryResponse(url, await discoveryRequest(url, await options()))
  } catch (cause) {
    throw new PageError(say('provider.silent', { name }), { cause })
  }
  // The content security policy of the page allows no other one.
  if (URL.parse(server.token_endpoint ?? '')?.origin !== url.origin) {
    throw new PageError(say('provider.elsewhere', { name }))
  }
  return server
}

/** The service takes a provider without https on its own machine only. */
const options = async () => ({
  [(await import('./oauth.js')).allowInsecureRequests]: known().issuer.startsWith('http:'),
  signal: AbortSignal.timeout(15_000),
})

const redirectUri = (): string => `${SERVICE}/`
