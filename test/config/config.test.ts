import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { type Config, environmentName, readConfig, SETTINGS, type SettingValues } from '../../src/settings/config.ts'
import { CASES } from './cases.ts'

const KEYS = Object.keys(SETTINGS) as (keyof SettingValues)[]

suite('the configuration', () => {
  test('prefers a flag to the environment, and the environment to the default', () => {
    for (const key of KEYS) {
      const [[first, one], [second, two]] = CASES[key].right as readonly [[string, unknown], [string, unknown]]
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
      store: { engine: 'sqlite', path: 'data/plants.db', isDefault: true },
      storeConnections: 10,
      storeSearchConnections: 3,
      storeLongConnections: 3,
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
      maxSearches: 8,
      maxSearchesPerToken: 4,
      searchQueue: 1000,
      searchQueuePerToken: 100,
      searchTimeout: 10_000,
      maxExports: 4,
      maxExportsPerToken: 2,
      exportTimeout: 1_800_000,
      maxImports: 8,
      maxImportsPerToken: 4,
      maxDryRuns: 4,
      maxDryRunsPerToken: 2,
      maxPatches: 16,
      maxTokens: 10_000,
      maxEndedTokens: 10_000,
      changeQueue: 100,
      changeQueuePerToken: 20,
      leastSpeed: 1024,
    } satisfies Config)
  })

  test('derives flag, variable and member from one name', () => {
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

  test('derives bounds for one token, for dry runs and for heads', () => {
    const few = readConfig({ maxSearches: '1', maxExports: '3', maxImports: '5', requestTimeout: '0s' }, {})
    assert.deepEqual([few.maxSearchesPerToken, few.maxExportsPerToken, few.maxImportsPerToken], [1, 2, 3])
    assert.deepEqual([few.maxDryRuns, few.maxDryRunsPerToken, few.headersTimeout], [3, 2, 0])
    const { storeSearchConnections, storeLongConnections } = readConfig({ storeConnections: '4' }, {})
    assert.deepEqual([storeSearchConnections, storeLongConnections], [1, 1], 'two are left for all else')
  })

  test('has at most 30 settings', () => {
    assert.ok(KEYS.length <= 30, `${KEYS.length} settings`)
  })

  test('is frozen', () => {
    assert.ok(Object.isFrozen(readConfig({}, {})))
  })
})
