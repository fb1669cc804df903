import { isScope, SCOPES, type Scope } from '../domain/token.ts'
import { atLeast, kind, longDuration, oneOf, optional, setting, text, type ValuesOf } from './setting.ts'

/** The identity provider whose access tokens the service accepts besides its own. */
export const IDENTITY_PROVIDER = {
  /** Exactly as the tokens name it; undefined: the service accepts its own tokens only. */
  oidcIssuer: optional(
    kind('URL', issuer),
    'an identity provider (OpenID Connect) whose access tokens (JWT) the service accepts besides its own, exactly as they name it in iss; https, or http on this machine',
  ),
  oidcAudience: optional(
    kind('TEXTS', audiences),
    'names of this service at the identity provider, 1 to 5 with commas between; a token must have one of them in aud. client_id:TEXT stands for access tokens without aud whose client_id is TEXT, as those of Amazon Cognito',
  ),
  oidcScopeClaim: setting(
    text('CLAIM'),
    'scope',
    'the claim with the scopes, a text with blanks or an array; dots lead into objects, such as realm_access.roles',
  ),
  oidcScopeMap: setting(
    kind('FROM=TO,...', scopeMap),
    SCOPES.map((scope) => `${scope}=${scope}`).join(','),
    'the scope of the service that each value of that claim gives; all other values give none. FROM may have an audience and a slash in front, for providers that want it in requests',
  ),
  /** Undefined: tokens of the provider have no part. */
  oidcPartClaim: optional(
    text('CLAIM'),
    'the claim with the part of the store that a token may see and change: a tag, a text ending with / for all tags that begin so, or an array of up to 20 of them; a token without this claim, or with another value, then has no scope; dots lead into objects',
  ),
  oidcTokenType: setting(
    kind('TYPE', oneOf('at+jwt', 'any')),
    'at+jwt',
    'the type that the header of a token must have: at+jwt (RFC 9068); or any, which also takes JWT or none, but no ID token',
  ),
  /** Milliseconds from the issue of a token to its expiry. */
  oidcMaxLifetime: setting(
    kind('TIME', atLeast('1m', longDuration)),
    '24h',
    'the longest time from the issue of a token to its expiry, at least 1m: nobody can revoke such a token here',
  ),
  /** Undefined: the page offers no sign-in by the provider. */
  oidcClientId: optional(text('ID'), 'the public client at the identity provider as which the page signs people in'),
}

/** The start of an audience that names a client instead. */
export const CLIENT_PREFIX = 'client_id:'

export type IdentityProvider = ValuesOf<typeof IDENTITY_PROVIDER>

/** Whether what is fetched from there is what its owner sent: https, or a loopback address. */
export function isTrustworthy({ protocol, hostname }: URL): boolean {
  return protocol === 'https:' || (protocol === 'http:' && /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/.test(hostname))
}

function issuer(given: string): string {
  const url = URL.parse(given)
  const isPlain = url !== null && url.search + url.hash + url.username + url.password === '' && !/[?#\s]/.test(given)
  if (!isPlain || !isTrustworthy(url)) {
    throw new Error('must be an address like https://id.example/realms/plants (http on this machine only)')
  }
  return given
}

function audiences(given: string): readonly string[] {
  const names = given.split(',').map((name) => name.trim())
  if (names.includes('') || names.includes(CLIENT_PREFIX) || names.length > 5)
    throw new Error(`"${given}" is not 1 to 5 texts with commas between`)
  return names
}

function scopeMap(given: string): readonly (readonly [string, Scope])[] {
  return given.split(',').map((pair) => {
    const [, from = '', to = ''] = /^\s*(.*[^\s=])=([^=]*?)\s*$/.exec(pair) ?? []
    if (!isScope(to)) throw new Error(`"${pair}" is not FROM=TO with TO one of ${SCOPES.join(', ')}`)
    return [from, to]
  })
}
