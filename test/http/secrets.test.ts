import assert from 'node:assert/strict'
import { suite } from 'node:test'
import { SECRET } from '../support/service.ts'
import { onService } from '../support/service-tests.ts'

suite('the secret of a token', () => {
  onService('is never on the disk or in the log, whatever its requests do', { logLevel: 'debug' }, async (service) => {
    const { secret, token } = await service.issueToken(['plants:write'])
    const { secret: weak } = await service.issueToken(['plants:read'])
    const expired = await service.issueToken(['plants:write'], new Date(0))
    const unknown = 'an-unknown-secret-of-somebody'
    const secrets = [secret, weak, expired.secret, unknown, SECRET]
    for (const [id, each] of secrets.entries()) {
      const authorization = `Bearer ${each}`
      await service.create({ id, name: `a plant of ${id}` }, { authorization })
      await service.create('{', { authorization })
      await service.send('GET', `/nowhere?access_token=${each}`, { authorization })
    }
    assert.ok(await service.under.holds(token.id), 'the search finds what is stored')
    assert.ok(service.log.includes(token.id), 'the log has the public name of the token')
    for (const each of secrets) {
      assert.equal(await service.under.holds(each), false)
      assert.ok(!service.log.includes(each))
    }
  })
})
