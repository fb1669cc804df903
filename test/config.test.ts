// Longer than 300 lines because the cases of every setting stand together.
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { type Config, environmentName, readConfig, SETTINGS } from '../src/config.ts'
import { OperatorError } from '../src/operator-error.ts'
import { WORK_LIMIT_CASES, WORK_LIMIT_DEFAULTS } from './support/work-limits.ts'

type Key = keyof Config
const KEYS = Object.keys(SETTINGS) as Key[]

/** For each setting: two valid texts with their values, and some invalid texts. */
const CASES: { readonly [K in Key]: { right: readonly [string, Config[K]][]; wrong: readonly string[] } } = {
  ...WORK_LIMIT_CASES,
  host: {
    right: [
      ['0.0.0.0', '0.0.0.0'],
      ['::1', '::1'],
    ],
    wrong: [''],
  },
  port: {
    right: [
      ['0', 0],
      ['65535', 65535],
    ],
    wrong: ['65536', '-1', '80.5', 'http', '', '0x50', '1e3', ' 80'],
  },
  metricsPort: {
    right: [
      ['0', 0],
      ['9464', 9464],
      ['off', undefined],
    ],
    wrong: ['65536', '-1', 'on', '', ' 80'],
  },
  logFormat: {
    right: [
      ['auto', 'auto'],
      ['json', 'json'],
      ['text', 'text'],
    ],
    wrong: ['JSON', 'pretty', ''],
  },
  maxDelay: {
    right: [
      ['100ms', 100],
      ['5s', 5000],
    ],
    wrong: ['99ms', '0s', '5', '2h', '', 'off'],
  },
  maxMemory: {
    right: [
      ['1MiB', 2 ** 20],
      ['4GiB', 2 ** 32],
      ['1024GiB', 2 ** 40],
    ],
    wrong: ['0MiB', '1025GiB', '512', '1KiB', '4gib', '-1GiB', '1.5GiB', 'off'],
  },
  metricsHost: {
    right: [
      ['0.0.0.0', '0.0.0.0'],
      ['::1', '::1'],
    ],
    wrong: [''],
  },
  store: {
    right: [
      ['sqlite:/srv/plants.db', { engine: 'sqlite', path: '/srv/plants.db', isDefault: false }],
      ['sqlite:data/plants.db', { engine: 'sqlite', path: 'data/plants.db', isDefault: true }],
    ],
    // test/postgres-address.test.ts tests addresses of PostgreSQL.
    wrong: ['', 'sqlite:', 'plants.db', 'mysql://localhost', 'SQLITE:x', 'postgres:x', 'postgres://host:port/db'],
  },
  storeConnections: {
    right: [
      ['4', 4],
      ['1000', 1000],
    ],
    wrong: ['', '3', '1001', 'all'],
  },
  storeSearchConnections: {
    right: [
      ['1', 1],
      ['5', 5],
    ],
    wrong: ['', '0', '1001', 'a third'],
  },
  storeLongConnections: {
    right: [
      ['1', 1],
      ['5', 5],
    ],
    wrong: ['', '0', '1001', 'a third'],
  },
  storeTimeout: {
    right: [
      ['100ms', 100],
      ['1m', 60_000],
    ],
    wrong: ['', '99ms', '0s', '10'],
  },
  storeWait: {
    right: [
      ['0s', 0],
      ['5m', 300_000],
    ],
    wrong: ['', '-1s', 'for ever'],
  },
  changesKeep: {
    right: [
      ['0s', 0],
      ['12h', 43_200_000],
      ['7d', 604_800_000],
    ],
    wrong: ['', '7', '-1d', '500ms', '1w', '3651d', '9999999999d'],
  },
  backupEvery: {
    right: [
      ['off', undefined],
      ['24h', 86_400_000],
    ],
    wrong: ['', '59s', '0s', '24', 'daily'],
  },
  backupKeep: {
    right: [
      ['1', 1],
      ['10000', 10_000],
    ],
    wrong: ['', '0', '10001', '-1', '1.5', 'all'],
  },
  backupFolder: {
    right: [
      ['/backup', '/backup'],
      ['backups', 'backups'],
    ],
    wrong: [''],
  },
  page: {
    right: [
      ['on', true],
      ['off', false],
    ],
    wrong: ['', 'no', 'ON', 'true'],
  },
  docs: {
    right: [
      ['on', true],
      ['off', false],
    ],
    wrong: ['', 'no', 'ON', 'true'],
  },
  corsOrigins: {
    right: [
      ['https://garden.example', ['https://garden.example']],
      ['http://localhost:5173, https://a.example', ['http://localhost:5173', 'https://a.example']],
    ],
    wrong: [
      '',
      '*',
      'null',
      'https://a.example/',
      'https://A.example',
      'https://a.example:443',
      'a.example',
      'file://',
    ],
  },
  token: {
    right: [
      ['k7Qz-3fV0.pW9~mX', 'k7Qz-3fV0.pW9~mX'],
      ['ABC-._~+/0139576==', 'ABC-._~+/0139576=='],
    ],
    wrong: [
      '',
      'k7Qz-3fV0.pW9~m',
      '0123456789 abcdef',
      'schlüssel-schlüssel',
      '0123456789abcdef\n',
      '====k7Qz-3fV0.pW9~mX',
      // Guessable tokens.
      'aaaaaaaaaaaaaaaaaaaaaaaa',
      'abababcdcdcdefefef',
      'secret89secret89',
      '0123456789abcdef',
      'ZYXWVUTSRQPONMLKJIHGFEDCBA',
      // A secret of "plantstore token create", and a part of one.
      'ps_OtNFSrQZ08UQUjlzvjaTvbHFhTIzzZDx3wdOGDzU8Gg1XoNPl',
      'ps_OtNFSrQZ08UQUjlzvjaTvbHF',
    ],
  },
  auditLog: {
    right: [
      ['-', '-'],
      ['off', undefined],
      ['/var/log/plantstore/audit.log', '/var/log/plantstore/audit.log'],
    ],
    wrong: [''],
  },
  logLevel: {
    right: [
      ['debug', 'debug'],
      ['silent', 'silent'],
    ],
    wrong: ['', 'verbose', 'INFO', 'trace'],
  },
  bodyLimit: {
    right: [
      ['1KiB', 1024],
      ['2048', 2048],
    ],
    wrong: ['', '0', '1KB', '1GiB', '1.5MiB', '-1', '513MiB'],
  },
  headerLimit: {
    right: [
      ['32KiB', 32768],
      ['8192B', 8192],
    ],
    wrong: ['', '0B', 'big', '16 KiB'],
  },
  nestingLimit: {
    right: [
      ['1', 1],
      ['1000', 1000],
    ],
    wrong: ['', '0', '1001', 'deep'],
  },
  headersTimeout: {
    right: [
      ['500ms', 500],
      ['0s', 0],
    ],
    wrong: ['', '5', '5h', '-1s', '61m', '1.5s'],
  },
  requestTimeout: {
    right: [
      ['1m', 60_000],
      ['15s', 15_000],
    ],
    wrong: ['', '30', 'never', '61m'],
  },
  unreadLimit: {
    right: [
      ['1MiB', 2 ** 20],
      ['1', 1],
    ],
    wrong: ['0', '1GB', 'off'],
  },
  compressionLimit: {
    right: [
      ['1MiB', 2 ** 20],
      ['1', 1],
    ],
    wrong: ['0', '1GB', 'off'],
  },
  pipelineLimit: {
    right: [
      ['64KiB', 65_536],
      ['1MiB', 2 ** 20],
    ],
    wrong: ['0', 'all'],
  },
  bodyMemory: {
    right: [
      ['64KiB', 65_536],
      ['1', 1],
    ],
    wrong: ['0', 'all', '1GB'],
  },
  logBuffer: {
    right: [
      ['64KiB', 65_536],
      ['1', 1],
    ],
    wrong: ['0', 'all', '1GB'],
  },
  auditBuffer: {
    right: [
      ['64KiB', 65_536],
      ['1', 1],
    ],
    wrong: ['0', 'all', '1GB'],
  },
  maxConnections: {
    right: [
      ['1', 1],
      ['1000000', 1_000_000],
    ],
    wrong: ['0', '1000001', 'off', '1.5'],
  },
  maxAddressConnections: {
    right: [
      ['250', 250],
      ['1', 1],
    ],
    wrong: ['0', '-3', 'off'],
  },
  descriptorReserve: {
    right: [
      ['64', 64],
      ['1000', 1000],
    ],
    wrong: ['', '63', '1000001', 'half', '-256'],
  },
  stallTimeout: {
    right: [
      ['5s', 5000],
      ['0ms', 0],
    ],
    wrong: ['', '5 s', '5S'],
  },
  keepAliveTimeout: {
    right: [
      ['5s', 5000],
      ['0ms', 0],
    ],
    wrong: ['', '5 s', '5S'],
  },
  drainWindow: {
    right: [
      ['0s', 0],
      ['10s', 10_000],
    ],
    wrong: ['', '1', 'long'],
  },
  maxWaiting: {
    right: [
      ['1', 1],
      ['1000000', 1_000_000],
    ],
    wrong: ['', '0', '1000001', '1e3'],
  },
  rateLimit: {
    right: [
      ['100', 100],
      ['off', undefined],
    ],
    wrong: ['', '0', 'OFF', '-5'],
  },
  authFailureLimit: {
    right: [
      ['5', 5],
      ['off', undefined],
    ],
    wrong: ['', '0', 'none'],
  },
  trustedProxies: {
    right: [
      ['10.0.0.0/8', [{ address: '10.0.0.0', prefix: 8 }]],
      ['none', []],
    ],
    wrong: ['', 'proxy.example', '10.0.0.0/33', '0.0.0.0/0', 'off'],
  },
}

suite('the configuration', () => {
  test('prefers a flag to the environment, and the environment to the default', () => {
    for (const key of KEYS) {
      const [[first, one], [second, two]] = CASES[key].right as [[string, unknown], [string, unknown]]
      const folder = key === 'backupEvery' ? { PLANTSTORE_BACKUP_FOLDER: '/backup' } : {}
      const environment = { ...folder, [environmentName(SETTINGS[key].flag)]: second }
      assert.deepEqual(readConfig({ [key]: first }, environment)[key], one, `--${SETTINGS[key].flag}`)
      assert.deepEqual(readConfig({}, environment)[key], two, environmentName(SETTINGS[key].flag))
    }
  })

  test('has the documented defaults', () => {
    assert.deepEqual(readConfig({}, {}), {
      host: '127.0.0.1',
      port: 8080,
      metricsPort: undefined,
      metricsHost: '127.0.0.1',
      store: { engine: 'sqlite', path: 'data/plants.db', isDefault: true },
      storeConnections: 10,
      storeSearchConnections: undefined,
      storeLongConnections: undefined,
      storeTimeout: 10_000,
      storeWait: 60_000,
      changesKeep: 0,
      backupEvery: undefined,
      backupKeep: 7,
      backupFolder: undefined,
      token: undefined,
      logLevel: 'info',
      auditLog: '-',
      page: true,
      logFormat: 'auto',
      docs: true,
      corsOrigins: undefined,
      bodyLimit: 2 ** 20,
      headerLimit: 16 * 2 ** 10,
      nestingLimit: 32,
      headersTimeout: 10_000,
      requestTimeout: 30_000,
      stallTimeout: 30_000,
      unreadLimit: 2 ** 28,
      compressionLimit: 2 ** 24,
      pipelineLimit: 2 ** 25,
      bodyMemory: 2 ** 28,
      logBuffer: 2 ** 20,
      auditBuffer: 2 ** 23,
      maxConnections: 10_000,
      maxAddressConnections: 1000,
      descriptorReserve: 256,
      keepAliveTimeout: 65_000,
      drainWindow: 1000,
      maxWaiting: 10_000,
      maxDelay: 5000,
      maxMemory: undefined,
      rateLimit: undefined,
      authFailureLimit: 60,
      trustedProxies: [],
      ...WORK_LIMIT_DEFAULTS,
    } satisfies Config)
  })

  test('spells each name alike as flag, variable and member', () => {
    for (const key of KEYS) {
      const { flag } = SETTINGS[key]
      assert.equal(
        flag,
        key.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`),
      )
      assert.equal(environmentName(flag), `PLANTSTORE_${flag.toUpperCase().replaceAll('-', '_')}`)
    }
  })

  test('treats an empty variable as absent', () => {
    const environment = Object.fromEntries(KEYS.map((key) => [environmentName(SETTINGS[key].flag), '']))
    assert.deepEqual(readConfig({}, environment), readConfig({}, {}))
  })

  test('can not be changed once it is read', () => {
    assert.ok(Object.isFrozen(readConfig({}, {})))
  })
})

suite('a wrong configuration', () => {
  const faultsOf = (flags: Record<string, string>, environment: NodeJS.ProcessEnv = {}): OperatorError => {
    try {
      readConfig(flags, environment)
    } catch (error) {
      assert.ok(error instanceof OperatorError)
      return error
    }
    return assert.fail(`taken as right: ${JSON.stringify([flags, environment])}`)
  }

  test('is refused for each setting, by the name that was used', () => {
    for (const key of KEYS) {
      const { flag } = SETTINGS[key]
      for (const wrong of CASES[key].wrong) {
        const byFlag = faultsOf({ [key]: wrong })
        assert.equal(byFlag.exitCode, 2)
        assert.ok(byFlag.message.startsWith(`--${flag}: `), byFlag.message)
        assert.equal(byFlag.message.split('\n').length, 1)
        if (wrong === '') continue
        const byVariable = faultsOf({}, { [environmentName(flag)]: wrong })
        assert.ok(byVariable.message.startsWith(`${environmentName(flag)}: `), byVariable.message)
      }
    }
  })

  test('is reported whole, with a line for each fault', () => {
    const flags = Object.fromEntries(KEYS.map((key) => [key, CASES[key].wrong.at(-1) ?? '']))
    const { message, exitCode } = faultsOf(flags)
    assert.equal(exitCode, 2)
    const lines = message.split('\n').map((line) => line.split(': ', 1)[0])
    assert.deepEqual(
      lines,
      KEYS.map((key) => `--${SETTINGS[key].flag}`),
    )
  })

  test('never tells the token', () => {
    for (const secret of [
      'too-short',
      'long enough but with spaces',
      'geheimer-schlüssel',
      'ps_k7Qz3fV0pW9mX',
      'aaaaaaaaaaaaaaaaa',
    ]) {
      assert.ok(!faultsOf({ token: secret, port: 'x' }).message.includes(secret))
      assert.ok(!faultsOf({}, { PLANTSTORE_TOKEN: secret }).message.includes(secret))
    }
  })

  test('is one whose searches and long reads leave fewer than two connections for other work', () => {
    const why =
      /^--store-connections: must exceed the sum of --store-search-connections and --store-long-connections by two$/
    assert.match(faultsOf({ storeSearchConnections: '6' }).message, why)
    assert.match(
      faultsOf({ storeConnections: '5', storeSearchConnections: '2', storeLongConnections: '2' }).message,
      why,
    )
    const most = { storeConnections: '6', storeSearchConnections: '2', storeLongConnections: '2' }
    assert.equal(readConfig(most, {}).storeSearchConnections, 2)
  })

  test('is one that backs up to no folder, or a store that is not a file', () => {
    assert.match(faultsOf({ backupEvery: '24h' }).message, /^--backup-every: needs --backup-folder$/)
    const postgres = { backupEvery: '24h', backupFolder: '/backup', store: 'postgres://me@db.example/plants' }
    assert.match(
      faultsOf(postgres).message,
      /^--backup-every: backs up SQLite stores only; use the tools of PostgreSQL$/,
    )
    assert.equal(readConfig({ backupEvery: '24h' }, {}, 'client').backupEvery, 86_400_000, 'a command makes none')
  })

  test('is one whose headers may take longer than the whole request', () => {
    assert.match(faultsOf({ requestTimeout: '5s' }).message, /^--headers-timeout: must not be longer than/)
    assert.equal(readConfig({ requestTimeout: '0s' }, {}).requestTimeout, 0, '0 is no limit')
    assert.equal(readConfig({ requestTimeout: '5s', headersTimeout: '5s' }, {}).headersTimeout, 5000)
  })
})
