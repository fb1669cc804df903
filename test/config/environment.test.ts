import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { ignoredVariables, withoutServiceLinks } from '../../src/cli/config-file.ts'
import { environmentName, readConfig, SETTINGS } from '../../src/settings/config.ts'

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
