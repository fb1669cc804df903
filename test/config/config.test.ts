import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { OperatorError } from '../../src/base/operator-error.ts'
import { ignoredVariables, withoutServiceLinks } from '../../src/cli/config-file.ts'
import { SCOPES } from '../../src/domain/token.ts'
import { type Config, environmentName, readConfig, SETTINGS, type SettingValues } from '../../src/settings/config.ts'
import { words } from '../support/words.ts'
import { CASES } from './cases.ts'

const KEYS = Object.keys(SETTINGS) as (keyof SettingValues)[]

const PROVIDER = { PLANTSTORE_OIDC_ISSUER: 'https://id.example', PLANTSTORE_OIDC_AUDIENCE: 'plants' }

/** Settings without which another one is a fault. */
const NEEDED: Readonly<Partial<Record<keyof SettingValues, Readonly<Record<string, string>>>>> = {
  backupEvery: { PLANTSTORE_BACKUP_FOLDER: '/backup' },
  backupHook: { PLANTSTORE_BACKUP_EVERY: '24h', PLANTSTORE_BACKUP_FOLDER: '/backup' },
  publicIndex: { PLANTSTORE_PUBLIC: 'all' },
  tlsCert: { PLANTSTORE_TLS_KEY: 'key.pem' },
  tlsKey: { PLANTSTORE_TLS_CERT: 'chain.pem' },
}
const neededFor = (key: keyof SettingValues) => (key.startsWith('oidc') ? PROVIDER : NEEDED[key])

suite('the configuration', () => {
  test('prefers a flag to the environment, and the environment to the default', () => {
    for (const key of KEYS) {
      const right = Object.entries(CASES[key].right)
      right.forEach(([text, value], i) => {
        const [other] = right[i - 1] ?? right.at(-1) ?? []
        const environment = { ...neededFor(key), [environmentName(SETTINGS[key].flag)]: other }
        assert.deepEqual(readConfig({ [key]: text }, environment)[key], value, `--${SETTINGS[key].flag} ${text}`)
        const own = { ...neededFor(key), [environmentName(SETTINGS[key].flag)]: text }
        assert.deepEqual(readConfig({}, own)[key], value, `${environmentName(SETTINGS[key].flag)}=${text}`)
      })
    }
  })

  test('has the documented defaults', () => {
    const given = Object.entries(readConfig({}, {})).filter(([, value]) => value !== undefined)
    assert.deepEqual(Object.fromEntries(given), {
      host: '127.0.0.1',
      port: 8080,
      store: { engine: 'sqlite', path: 'data/plants.db', isDefault: true },
      storeConnections: 10,
      storeTimeout: 10_000,
      storeWait: 60_000,
      changesKeep: 2_592_000_000,
      changesKeepSize: 2 ** 30,
      backupKeep: 7,
      oidcScopeClaim: 'scope',
      oidcScopeMap: SCOPES.map((scope) => [scope, scope]),
      oidcTokenType: 'at+jwt',
      oidcMaxLifetime: 86_400_000,
      logLevel: 'info',
      auditLog: '-',
      page: true,
      mcp: 'off',
      logFormat: 'auto',
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
    } satisfies Partial<Config>)
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

  test('is refused for each setting, by the name of the flag or variable that sets it', () => {
    for (const key of KEYS) {
      const { flag } = SETTINGS[key]
      for (const wrong of CASES[key].wrong) {
        const needed = key.startsWith('oidc') ? PROVIDER : {}
        const byFlag = faultsOf({ [key]: wrong }, needed)
        assert.equal(byFlag.exitCode, 2)
        assert.ok(byFlag.message.startsWith(`--${flag}: `), byFlag.message)
        assert.equal(byFlag.message.split('\n').length, 1)
        if (wrong === '') continue
        const byVariable = faultsOf({}, { ...needed, [environmentName(flag)]: wrong })
        assert.ok(byVariable.message.startsWith(`${environmentName(flag)}: `), byVariable.message)
      }
    }
  })

  test('is refused with a line for each fault', () => {
    const flags = Object.fromEntries(KEYS.map((key) => [key, CASES[key].wrong.at(-1) ?? '']))
    const { message, exitCode } = faultsOf(flags)
    assert.equal(exitCode, 2)
    const lines = message.split('\n').map((line) => line.split(': ', 1)[0])
    const expected = KEYS.map((key) => `--${SETTINGS[key].flag}`)
    assert.deepEqual(lines, expected)
  })

  test('is refused with the largest size or time', () => {
    assert.match(faultsOf({ changesKeepSize: '2TiB' }).message, /: "2TiB" is not a size .*, from 1MiB to 1024GiB$/)
    assert.match(faultsOf({ requestTimeout: '61m' }).message, /: "61m" is not a time .*, up to 60m$/)
  })

  test('is refused without showing the token', () => {
    const weak = words`too-short geheimer-schlüssel ps_k7Qz3fV0pW9mX aaaaaaaaaaaaaaaaa`
    for (const secret of ['long enough but with spaces', ...weak]) {
      assert.ok(!faultsOf({ token: secret, port: 'x' }).message.includes(secret))
      assert.ok(!faultsOf({}, { PLANTSTORE_TOKEN: secret }).message.includes(secret))
    }
  })

  test('is refused with only one of the files of a certificate', () => {
    assert.equal(faultsOf({ tlsCert: 'chain.pem' }).message, '--tls-cert: needs --tls-key')
    assert.equal(faultsOf({}, { PLANTSTORE_TLS_KEY: 'key.pem' }).message, '--tls-key: needs --tls-cert')
    assert.equal(readConfig({ tlsKey: 'key.pem' }, {}, 'client').tlsKey, 'key.pem', 'a command reads neither')
  })

  test('makes backups without a folder, or of a store that is not a file', () => {
    assert.match(faultsOf({ backupEvery: '24h' }).message, /^--backup-every: needs --backup-folder$/)
    const postgres = { backupEvery: '24h', backupFolder: '/backup', store: 'postgres://me@db.example/plants' }
    const pattern = /^--backup-every: backs up SQLite stores only; use the tools of PostgreSQL$/
    assert.match(faultsOf(postgres).message, pattern)
    assert.equal(readConfig({ backupEvery: '24h' }, {}, 'client').backupEvery, 86_400_000, 'a command makes none')
  })

  test('names a part of an identity provider, and tells all that is missing or in conflict', () => {
    const audience = { oidcAudience: 'plants' }
    const alone = { ...audience, oidcScopeClaim: 'scp', oidcScopeMap: 'a=tokens', oidcTokenType: 'any' }
    const more = { oidcPartClaim: 'beds', oidcMaxLifetime: '1h', oidcClientId: 'page' }
    assert.deepEqual(
      faultsOf({ ...alone, ...more })
        .message.split('\n')
        .map((line) => line.replace(/^--oidc-(.*): needs --oidc-issuer$/, '$1')),
      ['audience', 'scope-claim', 'scope-map', 'part-claim', 'token-type', 'max-lifetime', 'client-id'],
    )
    const issuer = { oidcIssuer: 'https://id.example' }
    assert.equal(faultsOf({ ...issuer }).message, '--oidc-issuer: needs --oidc-audience')
    const dotted = faultsOf({ ...issuer, token: 'k7Qz.3fV0.pW9~mX' }).message.split('\n')
    assert.match(dotted[1] ?? '', /^--token: has two dots, like the tokens of --oidc-issuer/)
    assert.equal(faultsOf({ oidcIssuer: 'x', ...audience }).message.split('\n').length, 1)
    const both = faultsOf({ oidcTokenType: 'x', port: 'x' }).message.split('\n')
    const found = both.map((line) => line.replace(/^--([\w-]+): .*/, '$1'))
    assert.deepEqual(found, ['port', 'oidc-token-type', 'oidc-token-type'])
    assert.deepEqual(readConfig(audience, {}, 'client').oidcAudience, ['plants'], 'a command verifies no tokens')
  })
})

suite('the environment', () => {
  test('provides the token of a command that talks to a service', () => {
    for (const token of [
      'ps_OtNFSrQZ08UQUjlzvjaTvbHFhTIzzZDx3wdOGDzU8Gg1XoNPl',
      'k7Qz-3fV0.pW9~mX',
      'short',
      'aaaaaaaaaaaaaaaa',
    ]) {
      assert.equal(readConfig({}, { PLANTSTORE_TOKEN: token }, 'client').token, token)
    }
    for (const token of ['with a blank', 'schlüssel', 'a\nb']) {
      assert.throws(
        () => readConfig({}, { PLANTSTORE_TOKEN: token }, 'client'),
        /^OperatorError: PLANTSTORE_TOKEN: may hold only/,
      )
    }
  })

  test('counts a setting as not set where Kubernetes gave it the address of a Service', () => {
    for (const { flag } of Object.values(SETTINGS)) {
      const name = environmentName(flag)
      for (const link of ['tcp://10.0.0.11:8080', 'udp://[fd00::1]:53']) {
        const environment = { [name]: link, PATH: '/bin' }
        assert.deepEqual(withoutServiceLinks(environment), { PATH: '/bin' })
        assert.equal(ignoredVariables(environment), `ignored, as it holds the address of a Service: ${name}`)
      }
    }
    const kept = { PLANTSTORE_PORT: '9000', PGHOST: 'tcp://10.0.0.11' }
    assert.deepEqual(withoutServiceLinks(kept), kept)
  })

  test('is searched for misspelt settings, each with the nearest setting', () => {
    const environment = {
      PLANTSTORE_STORE: 'x',
      PLANTSTORE_SORE: 'a',
      PLANTSTORE_SERVICE_HOST: 'b',
      PLANTSTORE: 'c',
      plantstore_port: 'd',
    }
    assert.equal(ignoredVariables({ PLANTSTORE_PORT: '1', PATH: '/bin' }), undefined)
    assert.equal(
      ignoredVariables(environment),
      'ignored, as no setting has this name: PLANTSTORE_SERVICE_HOST, PLANTSTORE_SORE (did you mean PLANTSTORE_STORE?)',
    )
  })
})
