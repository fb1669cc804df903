import assert from 'node:assert/strict'
import { suite, type TestContext, test } from 'node:test'
import { makeSecret } from '../../src/domain/token.ts'
import { movableTime } from '../support/clock.ts'
import { type Answer, errorOf, messageOf, SECRET, type Sending, type Service, withService } from '../support/service.ts'
import { onService } from '../support/service-tests.ts'

const PLANT = { id: 1, name: 'x' }

const withToken = (service: Service, token: string, from?: string): Promise<Answer> => {
  const sending: Sending = { authorization: `Bearer ${token}` }
  return service.create(PLANT, from === undefined ? sending : { ...sending, headers: { 'X-Forwarded-For': from } })
}

/** A service that trusts this machine as a proxy, and allows two bad tokens a minute. */
const behindProxy = (t: TestContext): Promise<Service> =>
  withService(t, { authFailureLimit: 2, trustedProxies: '127.0.0.1' })

/** Sends bad tokens until the third gets 429. */
async function block(service: Service, from?: string): Promise<void> {
  for (const expected of [40102, 40102, 42901]) {
    assert.equal(errorOf(await withToken(service, 'nonsense', from)), expected)
  }
}

suite('an address that sends bad tokens', () => {
  onService('gets 42901 with Retry-After after too many of them', { authFailureLimit: 2 }, async (service) => {
    await block(service)
    const expired = (await service.issueToken(['plants:write'], new Date(0))).secret
    for (const bad of ['nonsense', makeSecret(), expired]) {
      const answer = await withToken(service, bad)
      assert.deepEqual([answer.status, errorOf(answer)], [429, 42901])
      const seconds = Number(answer.headers['retry-after'])
      assert.ok(seconds >= 1 && seconds <= 60)
      assert.match(messageOf(answer), new RegExp(`wait ${seconds} seconds`))
    }
    assert.equal(
      errorOf(await service.create(PLANT, { authorization: null })),
      40101,
      'a request without a token does not count',
    )
  })

  test('may still use any good token: a used, an unseen, a new or the configured one', async (t) => {
    const service = await withService(t, { authFailureLimit: 2 })
    const move = movableTime(t)
    const [used, unused] = [await service.issueToken(['plants:write']), await service.issueToken(['plants:write'])]
    assert.equal((await withToken(service, used.secret)).status, 200)
    await block(service)
    const good = [used, unused, await service.issueToken(['plants:write'])].map(({ secret }) => secret)
    for (const secret of [...good, SECRET]) {
      const [between, answer] = await Promise.all([withToken(service, makeSecret()), withToken(service, secret)])
      assert.deepEqual([between.status, answer.status], [429, 200])
    }
    move(1100)
    for (const secret of [...good, SECRET]) {
      assert.equal((await withToken(service, secret)).status, 200, 'even when the service looks the token up again')
    }
  })

  test('may send 60 in a minute by default, and any number if the limit is off', async (t) => {
    for (const [flags, expected] of [
      [{}, 42901],
      [{ authFailureLimit: undefined }, 40102],
    ] as const) {
      const service = await withService(t, flags)
      for (let i = 0; i < 60; i++) assert.equal(errorOf(await withToken(service, 'nonsense')), 40102)
      assert.equal(errorOf(await withToken(service, 'nonsense')), expected)
    }
  })

  test('is the one that a trusted proxy names, so other clients of the proxy are served', async (t) => {
    const service = await behindProxy(t)
    await block(service, '203.0.113.9')
    assert.equal(errorOf(await withToken(service, 'nonsense', '203.0.113.10')), 40102)
    assert.equal(errorOf(await withToken(service, 'nonsense', '203.0.113.10, 203.0.113.9')), 42901)
    assert.equal(errorOf(await withToken(service, 'nonsense')), 40102, 'the proxy itself counts separately')
    assert.match(service.log, /"address":"203\.0\.113\.9"/)
  })

  test('is the /64 network with IPv6', async (t) => {
    const service = await behindProxy(t)
    await block(service, '2001:db8:0:1::1')
    assert.equal(errorOf(await withToken(service, 'nonsense', '2001:db8:0:1:ffff::9')), 42901)
    assert.equal(errorOf(await withToken(service, 'nonsense', '2001:db8:0:2::1')), 40102)
  })

  onService('cannot choose another one without a trusted proxy', { authFailureLimit: 2 }, async (service) => {
    await block(service, '203.0.113.9')
    assert.equal(errorOf(await withToken(service, 'nonsense', '203.0.113.10')), 42901)
    assert.doesNotMatch(service.log, /203\.0\.113/)
  })
})
