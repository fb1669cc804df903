import type { IdentityProvider } from '../../src/settings/identity-provider.ts'
import type { CasesOf } from './case.ts'

/** Settings of the identity provider. */
export const PROVIDER_CASES: CasesOf<keyof IdentityProvider> = {
  oidcIssuer: {
    right: [
      ['https://id.example/realms/plants/', 'https://id.example/realms/plants/'],
      ['http://127.0.0.1:3000', 'http://127.0.0.1:3000'],
      ['http://[::1]:3000', 'http://[::1]:3000'],
    ],
    wrong: [
      '',
      'id.example',
      'http://id.example',
      'http://127.0.0.1.example',
      'ftp://id.example',
      'https://me@id.example',
      'https://id.example?a=b',
      'https://id.example/?',
      'https://id.example/#a',
      ' https://id.example',
    ],
  },
  oidcAudience: {
    right: [
      ['plants', ['plants']],
      ['a, https://plants.example ,c,d,e', ['a', 'https://plants.example', 'c', 'd', 'e']],
    ],
    wrong: ['', ',', 'a,', 'a,b,c,d,e,f'],
  },
  oidcScopeClaim: {
    right: [
      ['scp', 'scp'],
      ['realm_access.roles', 'realm_access.roles'],
    ],
    wrong: [''],
  },
  oidcScopeMap: {
    right: [
      [
        'Gardener=plants:read, Gardener=plants:write',
        [
          ['Gardener', 'plants:read'],
          ['Gardener', 'plants:write'],
        ],
      ],
      ['a b=c=tokens', [['a b=c', 'tokens']]],
    ],
    wrong: ['', 'plants:read', '=plants:read', 'a=', 'a=plants', 'a=plants:read,', 'a==plants:read', 'a=plants:read;b'],
  },
  oidcTokenType: {
    right: [
      ['any', 'any'],
      ['at+jwt', 'at+jwt'],
    ],
    wrong: ['', 'jwt', 'JWT', 'AT+JWT'],
  },
  oidcMaxLifetime: {
    right: [
      ['1m', 60_000],
      ['7d', 7 * 86_400_000],
    ],
    wrong: ['', '59s', '0s', '24', 'off', '1.5h'],
  },
  oidcClientId: {
    right: [
      ['plants-page', 'plants-page'],
      ['0b2a6a0e', '0b2a6a0e'],
    ],
    wrong: [''],
  },
}
