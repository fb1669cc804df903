import type { SettingValues } from '../../src/settings/config.ts'
import { words } from '../support/words.ts'

/** Two or more valid texts of a setting with their values, and some invalid texts. */
interface Case<T> {
  readonly right: Readonly<Record<string, T>>
  readonly wrong: readonly string[]
}

/** For settings that take a text as it is. */
const texts = (...right: string[]): Case<string> => ({
  right: Object.fromEntries(right.map((text) => [text, text])),
  wrong: [''],
})

const COUNT: Case<number> = { right: { '1': 1, '100000': 100_000 }, wrong: ['', '0', '100001', '-1', '1.5', 'off'] }
const CONNECTIONS: Case<number> = { right: { '1': 1, '1000000': 1_000_000 }, wrong: ['', '0', '1000001', '-3', 'off'] }
const TIME: Case<number> = {
  right: { '0ms': 0, '5s': 5000, '60m': 3_600_000 },
  wrong: ['', '1', '5 s', '5S', '-1s', '61m', 'never', 'for ever'],
}
const TIMEOUT: Case<number> = {
  right: { '100ms': 100, '60m': 3_600_000 },
  wrong: ['', '99ms', '0s', '61m', '10', 'off'],
}
const NOWHERE = { external: false, private: false, loopback: false, networks: [], names: [] }

/** The cases of every setting. */
export const CASES: { readonly [Key in keyof SettingValues]: Case<SettingValues[Key]> } = {
  host: texts('0.0.0.0', '::1'),
  port: { right: { '0': 0, '65535': 65535 }, wrong: ['65536', '-1', '80.5', 'http', '', '0x50', '1e3', ' 80'] },
  metricsPort: {
    right: {
      '9464': { host: '127.0.0.1', port: 9464 },
      '0.0.0.0:0': { host: '0.0.0.0', port: 0 },
      '[::1]:9464': { host: '::1', port: 9464 },
      'monitors.example:80': { host: 'monitors.example', port: 80 },
      off: undefined,
    },
    wrong: ['65536', '-1', 'on', '', ' 80', ':80', '::1', '127.0.0.1:', '127.0.0.1:65536', '127.0.0.1'],
  },
  publicUrl: {
    right: {
      'https://plants.example': 'https://plants.example',
      'HTTP://192.168.1.20:8080/': 'http://192.168.1.20:8080',
      'https://Plants.example/Garden': 'https://plants.example/Garden',
      'https://plants.example/my-garden/v1.0_~/': 'https://plants.example/my-garden/v1.0_~',
    },
    wrong: [
      '',
      ...words`plants.example ftp://plants.example https:// https://me@plants.example/garden`,
      ...words`https://me:secret@plants.example/garden https://me@plants.example`,
      ...words`// /garden// //garden /a//b /a%2fb /a%2Fb /a%5cb /a\b \a /%61 /gärten /. /.. /a/.. /a/../b /a/./b`
        .concat('/a b', words`/%2e%2e/a /a;b /a:b /a* /a? /a# /a?b /a#b /?a /#a`)
        .map((path) => `https://plants.example${path}`),
    ],
  },
  public: {
    right: {
      all: 'all',
      off: undefined,
      'greenhouse 1/, bed 3,bed 3': ['greenhouse 1/', 'bed 3'],
      '["all", "beds, north"]': ['all', 'beds, north'],
    },
    wrong: ['', 'bed,', '[', '[]', '[1]', 'x'.repeat(201), `a${',b'.repeat(20)}`, '["\\u0000"]'],
  },
  publicIndex: { right: { on: 'on', off: undefined }, wrong: ['', 'ON', 'true', 'all'] },
  tlsCert: texts('chain.pem', '/etc/plantstore/fullchain.pem'),
  tlsKey: texts('key.pem', '/etc/plantstore/privkey.pem'),
  page: { right: { on: true, off: false }, wrong: ['', 'no', 'ON', 'true'] },
  mcp: { right: { off: 'off', on: 'on', delete: 'delete' }, wrong: ['', 'ON', 'true', 'read'] },
  securityContact: {
    right: {
      'mailto:security@garden.example': 'mailto:security@garden.example',
      'https://garden.example/security': 'https://garden.example/security',
      'tel:+49-1-201-555-0123': 'tel:+49-1-201-555-0123',
    },
    wrong: ['', 'security@garden.example', 'http://garden.example/security', 'javascript:alert(1)'],
  },
  corsOrigins: {
    right: {
      'https://garden.example': ['https://garden.example'],
      'http://localhost:5173, https://a.example': ['http://localhost:5173', 'https://a.example'],
    },
    wrong: ['', ...words`* null https://a.example/ https://A.example https://a.example:443 a.example file://`],
  },
  trustedProxies: {
    right: { '10.0.0.0/8': [{ address: '10.0.0.0', prefix: 8 }], none: [] },
    wrong: ['', 'proxy.example', '10.0.0.0/33', '0.0.0.0/0', 'off'],
  },
  token: {
    right: { 'k7Qz-3fV0.pW9~mX': 'k7Qz-3fV0.pW9~mX', 'ABC-._~+/0139576==': 'ABC-._~+/0139576==' },
    wrong: [
      '',
      'k7Qz-3fV0.pW9~m',
      '0123456789 abcdef',
      'schlüssel-schlüssel',
      '0123456789abcdef\n',
      '====k7Qz-3fV0.pW9~mX',
      // Guessable tokens.
      ...words`aaaaaaaaaaaaaaaaaaaaaaaa abababcdcdcdefefef secret89secret89 0123456789abcdef`,
      'ZYXWVUTSRQPONMLKJIHGFEDCBA',
      // A secret of "plantstore token create", and a part of one.
      'ps_OtNFSrQZ08UQUjlzvjaTvbHFhTIzzZDx3wdOGDzU8Gg1XoNPl',
      'ps_OtNFSrQZ08UQUjlzvjaTvbHF',
    ],
  },
  oidcIssuer: {
    right: texts('https://id.example/realms/plants/', 'http://127.0.0.1:3000', 'http://[::1]:3000').right,
    wrong: ['', ' https://id.example'].concat(
      words`id.example http://id.example http://127.0.0.1.example ftp://id.example https://me@id.example`,
      words`https://id.example?a=b https://id.example/? https://id.example/#a`,
    ),
  },
  oidcAudience: {
    right: {
      plants: ['plants'],
      'client_id:4fbl': ['client_id:4fbl'],
      'a, https://plants.example ,c,d,e': ['a', 'https://plants.example', 'c', 'd', 'e'],
    },
    wrong: ['', ',', 'a,', 'a,b,c,d,e,f', 'client_id:', 'a,client_id:'],
  },
  oidcScopeClaim: texts('scp', 'realm_access.roles'),
  oidcPartClaim: texts('beds', 'garden.beds'),
  oidcScopeMap: {
    right: {
      'Gardener=plants:read, Gardener=plants:write': [
        ['Gardener', 'plants:read'],
        ['Gardener', 'plants:write'],
      ],
      'a b=c=tokens': [['a b=c', 'tokens']],
    },
    wrong: ['', 'plants:read', '=plants:read', 'a=', 'a=plants', 'a=plants:read,', 'a==plants:read', 'a=plants:read;b'],
  },
  oidcTokenType: { right: { any: 'any', 'at+jwt': 'at+jwt' }, wrong: ['', 'jwt', 'JWT', 'AT+JWT'] },
  oidcMaxLifetime: { right: { '1m': 60_000, '7d': 7 * 86_400_000 }, wrong: ['', '59s', '0s', '24', 'off', '1.5h'] },
  oidcClientId: texts('plants-page', '0b2a6a0e'),
  store: {
    right: {
      'sqlite:/srv/plants.db': { engine: 'sqlite', path: '/srv/plants.db', isDefault: false },
      'sqlite:data/plants.db': { engine: 'sqlite', path: 'data/plants.db', isDefault: true },
    },
    // test/postgres-address.test.ts tests addresses of PostgreSQL.
    wrong: ['', 'sqlite:', 'plants.db', 'mysql://localhost', 'SQLITE:x', 'postgres:x', 'postgres://host:port/db'],
  },
  storeConnections: { right: { '4': 4, '1000': 1000 }, wrong: ['', '3', '1001', 'all'] },
  storeTimeout: TIMEOUT,
  storeWait: TIME,
  changesKeep: {
    right: { '0s': 0, '12h': 43_200_000, '7d': 604_800_000 },
    wrong: ['', 'auto', '7', '-1d', '500ms', '1w', '3651d', '9999999999d'],
  },
  changesKeepSize: {
    right: { '1MiB': 2 ** 20, '4GiB': 2 ** 32 },
    wrong: ['', '0', '1', '1KiB', '-1GiB', '1TiB', '2000GiB'],
  },
  backupEvery: { right: { off: undefined, '24h': 86_400_000 }, wrong: ['', '59s', '0s', '24', 'daily'] },
  backupKeep: { right: { '1': 1, '10000': 10_000 }, wrong: ['', '0', '10001', '-1', '1.5', 'all'] },
  backupFolder: texts('/backup', 'backups'),
  backupHook: texts('/usr/local/bin/plantstore-offsite', 'hook.sh'),
  logFormat: { right: { auto: 'auto', json: 'json', text: 'text' }, wrong: ['JSON', 'pretty', ''] },
  logLevel: { right: { debug: 'debug', silent: 'silent' }, wrong: ['', 'verbose', 'INFO', 'trace'] },
  auditLog: {
    right: { '-': '-', off: undefined, '/var/log/plantstore/audit.log': '/var/log/plantstore/audit.log' },
    wrong: [''],
  },
  requestTimeout: TIME,
  stallTimeout: TIME,
  keepAliveTimeout: TIME,
  drainWindow: TIME,
  maxConnections: CONNECTIONS,
  maxAddressConnections: CONNECTIONS,
  rateLimit: { right: { '100': 100, off: undefined }, wrong: ['', '0', 'OFF', '-5'] },
  maxSearches: COUNT,
  searchTimeout: TIMEOUT,
  maxExports: COUNT,
  maxImports: COUNT,
  webhookAllow: {
    right: {
      external: { ...NOWHERE, external: true },
      'External, private,loopback': { ...NOWHERE, external: true, private: true, loopback: true },
      '10.1.0.0/16': { ...NOWHERE, networks: [{ address: '10.1.0.0', prefix: 16 }] },
      'fd00::/8': { ...NOWHERE, networks: [{ address: 'fd00::', prefix: 8 }] },
      'external,Hooks.garden.example,*.kew.example': {
        ...NOWHERE,
        external: true,
        names: ['hooks.garden.example', '*.kew.example'],
      },
    },
    wrong: ['', ...words`external, 0.0.0.0/0 10.0.0.0/33 * *.*.example a..example https://a.example a:443`],
  },
  webhookGiveUp: { right: { '0s': 0, '90s': 90_000, '5d': 432_000_000 }, wrong: ['', '5', '5w', '3651d', 'off'] },
}
