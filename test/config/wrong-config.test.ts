import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { OperatorError } from '../../src/base/operator-error.ts'
import { environmentName, readConfig, SETTINGS, type SettingValues } from '../../src/settings/config.ts'
import { CASES } from './cases.ts'

const KEYS = Object.keys(SETTINGS) as (keyof SettingValues)[]

/** Settings without which others of an identity provider are a fault. */
const PROVIDER = { PLANTSTORE_OIDC_ISSUER: 'https://id.example', PLANTSTORE_OIDC_AUDIENCE: 'plants' }

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

  test('is refused with only one of the files of a certificate', () => {
    assert.equal(faultsOf({ tlsCert: 'chain.pem' }).message, '--tls-cert: needs --tls-key')
    assert.equal(faultsOf({}, { PLANTSTORE_TLS_KEY: 'key.pem' }).message, '--tls-key: needs --tls-cert')
    assert.equal(readConfig({ tlsKey: 'key.pem' }, {}, 'client').tlsKey, 'key.pem', 'a command reads neither')
  })

  test('makes backups without a folder, or of a store that is not a file', () => {
    assert.match(faultsOf({ backupEvery: '24h' }).message, /^--backup-every: needs --backup-folder$/)
    const postgres = { backupEvery: '24h', backupFolder: '/backup', store: 'postgres://me@db.example/plants' }
    assert.match(
      faultsOf(postgres).message,
      /^--backup-every: backs up SQLite stores only; use the tools of PostgreSQL$/,
    )
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
