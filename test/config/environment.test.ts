import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { unknownVariables } from '../../src/cli/config-file.ts'
import { readConfig } from '../../src/settings/config.ts'

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

  test('is searched for misspelt settings, each with the nearest setting', () => {
    const environment = {
      PLANTSTORE_STORE: 'x',
      PLANTSTORE_SORE: 'a',
      PLANTSTORE_SERVICE_HOST: 'b',
      PLANTSTORE: 'c',
      plantstore_port: 'd',
    }
    assert.equal(unknownVariables({ PLANTSTORE_PORT: '1', PATH: '/bin' }), undefined)
    assert.equal(
      unknownVariables(environment),
      'ignored, as no setting has this name: PLANTSTORE_SERVICE_HOST, PLANTSTORE_SORE (did you mean PLANTSTORE_STORE?)',
    )
  })
})
