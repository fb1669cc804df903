import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { suite, test } from 'node:test'
import { OperatorError } from '../../src/base/operator-error.ts'
import { environmentName, readConfig, SETTINGS, type SettingValues } from '../../src/settings/config.ts'
import { RETIRED } from '../../src/settings/limits.ts'
import { CASES } from './cases.ts'

const KEYS = Object.keys(SETTINGS) as (keyof SettingValues)[]

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
    assert.match(faultsOf({ bodyLimit: '900MiB' }).message, /: "900MiB" is not a size .*, up to 512MiB$/)
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

  test('makes backups without a folder, or of a store that is not a file', () => {
    assert.match(faultsOf({ backupEvery: '24h' }).message, /^--backup-every: needs --backup-folder$/)
    const postgres = { backupEvery: '24h', backupFolder: '/backup', store: 'postgres://me@db.example/plants' }
    assert.match(
      faultsOf(postgres).message,
      /^--backup-every: backs up SQLite stores only; use the tools of PostgreSQL$/,
    )
    assert.equal(readConfig({ backupEvery: '24h' }, {}, 'client').backupEvery, 86_400_000, 'a command makes none')
  })

  test('is refused for each variable of an earlier version, with what replaces it, as the changelog says', () => {
    const changelog = readFileSync(new URL('../../CHANGELOG.md', import.meta.url), 'utf8')
    const upgrading = /^### Upgrading\n(.*?)^###? /ms.exec(changelog)?.[1] ?? ''
    for (const [flag, instead] of Object.entries(RETIRED)) {
      const name = environmentName(flag)
      assert.equal(faultsOf({}, { [name]: '1' }).message, `${name}: is no setting any more: ${instead}`)
      assert.doesNotThrow(() => readConfig({}, { [name]: '1' }, 'client'), 'a command needs none of them')
      assert.doesNotThrow(() => readConfig({}, { [name]: '' }), 'an empty variable is not set')
      assert.ok(upgrading.includes(`\`--${flag}\``), `"Upgrading" does not name --${flag}`)
    }
  })
})
