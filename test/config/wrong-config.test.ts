import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { type Config, environmentName, readConfig, SETTINGS } from '../../src/config.ts'
import { OperatorError } from '../../src/operator-error.ts'
import { CASES } from './cases.ts'

const KEYS = Object.keys(SETTINGS) as (keyof Config)[]

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

  test('is refused with a line for each fault', () => {
    const flags = Object.fromEntries(KEYS.map((key) => [key, CASES[key].wrong.at(-1) ?? '']))
    const { message, exitCode } = faultsOf(flags)
    assert.equal(exitCode, 2)
    const lines = message.split('\n').map((line) => line.split(': ', 1)[0])
    assert.deepEqual(
      lines,
      KEYS.map((key) => `--${SETTINGS[key].flag}`),
    )
  })

  test('is refused with the largest size or time', () => {
    assert.match(faultsOf({ bodyMemory: '900MiB' }).message, /: "900MiB" is not a size .*, up to 512MiB$/)
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

  test('leaves fewer than two connections for work other than searches and long reads', () => {
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

  test('makes backups without a folder, or of a store that is not a file', () => {
    assert.match(faultsOf({ backupEvery: '24h' }).message, /^--backup-every: needs --backup-folder$/)
    const postgres = { backupEvery: '24h', backupFolder: '/backup', store: 'postgres://me@db.example/plants' }
    assert.match(
      faultsOf(postgres).message,
      /^--backup-every: backs up SQLite stores only; use the tools of PostgreSQL$/,
    )
    assert.equal(readConfig({ backupEvery: '24h' }, {}, 'client').backupEvery, 86_400_000, 'a command makes none')
  })

  test('allows headers more time than the whole request', () => {
    assert.match(faultsOf({ requestTimeout: '5s' }).message, /^--headers-timeout: must not be longer than/)
    assert.equal(readConfig({ requestTimeout: '0s' }, {}).requestTimeout, 0, '0 is no limit')
    assert.equal(readConfig({ requestTimeout: '5s', headersTimeout: '5s' }, {}).headersTimeout, 5000)
  })
})
