import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { SCOPES } from '../../src/domain/token.ts'
import { type Config, environmentName, readConfig, SETTINGS, type SettingValues } from '../../src/settings/config.ts'
import { CASES } from './cases.ts'

const KEYS = Object.keys(SETTINGS) as (keyof SettingValues)[]

const PROVIDER = { PLANTSTORE_OIDC_ISSUER: 'https://id.example', PLANTSTORE_OIDC_AUDIENCE: 'plants' }

/** Settings without which another one is a fault. */
const NEEDED: Readonly<Partial<Record<keyof SettingValues, Readonly<Record<string, string>>>>> = {
  backupEvery: { PLANTSTORE_BACKUP_FOLDER: '/backup' },
  backupHook: { PLANTSTORE_BACKUP_EVERY: '24h', PLANTSTORE_BACKUP_FOLDER: '/backup' },
  oidcIssuer: PROVIDER,
  oidcAudience: PROVIDER,
  oidcScopeClaim: PROVIDER,
  oidcScopeMap: PROVIDER,
  oidcPartClaim: PROVIDER,
  oidcTokenType: PROVIDER,
  oidcMaxLifetime: PROVIDER,
  oidcClientId: PROVIDER,
  publicIndex: { PLANTSTORE_PUBLIC: 'all' },
  tlsCert: { PLANTSTORE_TLS_KEY: 'key.pem' },
  tlsKey: { PLANTSTORE_TLS_CERT: 'chain.pem' },
}

suite('the configuration', () => {
  test('prefers a flag to the environment, and the environment to the default', () => {
    for (const key of KEYS) {
      const right = Object.entries(CASES[key].right)
      right.forEach(([text, value], i) => {
        const [other] = right[i - 1] ?? right.at(-1) ?? []
        const environment = { ...NEEDED[key], [environmentName(SETTINGS[key].flag)]: other }
        assert.deepEqual(readConfig({ [key]: text }, environment)[key], value, `--${SETTINGS[key].flag} ${text}`)
        const own = { ...NEEDED[key], [environmentName(SETTINGS[key].flag)]: text }
        assert.deepEqual(readConfig({}, own)[key], value, `${environmentName(SETTINGS[key].flag)}=${text}`)
      })
    }
  })

  test('has the documented defaults', () => {
    assert.deepEqual(readConfig({}, {}), {
      host: '127.0.0.1',
      port: 8080,
      metricsPort: undefined,
      publicUrl: undefined,
      public: undefined,
      publicIndex: undefined,
      tlsCert: undefined,
      tlsKey: undefined,
      store: { engine: 'sqlite', path: 'data/plants.db', isDefault: true },
      storeConnections: 10,
      storeTimeout: 10_000,
      storeWait: 60_000,
      changesKeep: 2_592_000_000,
      changesKeepSize: 2 ** 30,
      backupEvery: undefined,
      backupKeep: 7,
      backupFolder: undefined,
      backupHook: undefined,
      token: undefined,
      oidcIssuer: undefined,
      oidcAudience: undefined,
      oidcScopeClaim: 'scope',
      oidcScopeMap: SCOPES.map((scope) => [scope, scope]),
      oidcPartClaim: undefined,
      oidcTokenType: 'at+jwt',
      oidcMaxLifetime: 86_400_000,
      oidcClientId: undefined,
      logLevel: 'info',
      auditLog: '-',
      page: true,
      mcp: 'off',
      securityContact: undefined,
      logFormat: 'auto',
      corsOrigins: undefined,
      headerLimit: 16 * 2 ** 10,
      headersTimeout: 10_000,
      requestTimeout: 30_000,
      stallTimeout: 30_000,
      unreadLimit: 2 ** 28,
      compressionLimit: 2 ** 24,
      pipelineLimit: 2 ** 25,
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
      publicLimit: 1200,
      trustedProxies: [],
      maxSearches: 8,
      searchQueue: 1000,
      searchQueuePerToken: 100,
      searchTimeout: 10_000,
      maxExports: 4,
      exportTimeout: 1_800_000,
      maxImports: 8,
      maxDryRuns: 4,
      maxStreams: 100,
      maxStreamsPerToken: 10,
      maxTokens: 10_000,
      maxEndedTokens: 10_000,
      changeQueue: 100,
      changeQueuePerToken: 20,
      leastSpeed: 1024,
      webhookAllow: { external: true, private: false, loopback: false, networks: [], names: [] },
      webhookGiveUp: 432_000_000,
    } satisfies Config)
  })

  test('derives flag, variable and member from one name', () => {
    for (const key of KEYS) {
      const { flag } = SETTINGS[key]
      const expected = key.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
      assert.equal(flag, expected)
      assert.equal(environmentName(flag), `PLANTSTORE_${flag.toUpperCase().replaceAll('-', '_')}`)
    }
  })

  test('treats an empty variable as absent', () => {
    const environment = Object.fromEntries(KEYS.map((key) => [environmentName(SETTINGS[key].flag), '']))
    assert.deepEqual(readConfig({}, environment), readConfig({}, {}))
  })

  test('derives bounds for dry runs and for heads', () => {
    const few = readConfig({ maxImports: '5', requestTimeout: '0s' }, {})
    assert.deepEqual([few.maxDryRuns, few.headersTimeout], [3, 0])
  })

  test('has at most 30 settings, where those of one optional part count as one', () => {
    const parts = new Set(
      KEYS.map((key) => /^(?:backup|changes|oidc|public|store|tls|webhook)(?=[A-Z]|$)/.exec(key)?.[0] ?? key),
    )
    assert.ok(parts.size <= 30, `${parts.size} settings`)
  })

  test('is frozen', () => {
    assert.ok(Object.isFrozen(readConfig({}, {})))
  })
})
