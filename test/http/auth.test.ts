import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import type { Token } from '../../src/domain/token.ts'
import { movableClock, movableTime } from '../support/clock.ts'
import { assertConforms } from '../support/conforms.ts'
import { raw } from '../support/raw.ts'
import { assertRefused, errorOf, SECRET, type Service, withService } from '../support/service.ts'
import { onService } from '../support/service-tests.ts'
import { as } from '../support/tokens.ts'
import { until } from '../support/until.ts'

const PLANT = { id: 1, name: 'x' }
const REALM = 'Bearer realm="plantstore"'
const INVALID = `${REALM}, error="invalid_token", error_description="the access token is malformed, unknown or revoked"`

const lastUseOf = async ({ store }: Service, { id }: Token): Promise<Date | undefined> =>
  (await store.tokens.listTokens()).find((token) => token.id === id)?.lastUsedAt

suite('a request without a token', () => {
  onService('is 40101 with a challenge without an error, even if more is wrong', async (service) => {
    const others = ['Basic dXNlcjpwYXNz', 'Token abc', 'Bearerish abc', 'Digest x="y"']
    for (const authorization of [null, '', SECRET, ...others]) {
      const answer = await service.create('not even JSON', { authorization })
      assertRefused(answer, 40101)
      assert.equal(answer.headers['www-authenticate'], REALM)
    }
  })

  onService('is 40101 even if the query, a cookie or the body contains a token', async (service) => {
    const form = { headers: { 'Content-Type': 'application/x-www-form-urlencoded' }, body: `access_token=${SECRET}` }
    const answers = [
      await service.send('POST', `/plants?access_token=${SECRET}`, { authorization: null, body: '{}' }),
      await service.send('POST', '/plants', { ...form, authorization: null }),
      await service.create(
        { ...PLANT, access_token: SECRET },
        { authorization: null, headers: { Cookie: `a=${SECRET}` } },
      ),
    ]
    for (const answer of answers) assert.equal(errorOf(answer), 40101)
    assert.equal(service.log.includes(SECRET), false, 'the log does not contain the token')
  })
})

suite('a token', () => {
  onService('may follow its scheme after any number of blanks, and is the same token then', async (service) => {
    const { secret, token } = await service.issueToken(['tokens'])
    const headers = { 'Content-Type': 'application/json', 'Idempotency-Key': 'a key' }
    const body = '{"name":"another","scopes":["tokens"]}'
    const made = []
    for (const blanks of [' ', '  ', ' '.repeat(500)]) {
      const authorization = `bearer${blanks}${secret}`
      const { json } = await service.send('GET', '/tokens/self', { authorization })
      assert.deepEqual((json as { id: string }).id, token.id)
      made.push((await service.send('POST', '/tokens', { authorization, headers, body })).json)
    }
    assert.deepEqual(made, [made[0], made[0], made[0]])
  })

  onService('that is malformed, mistyped or unknown is 40102 with a challenge that says so', async (service) => {
    const { secret } = await service.issueToken(['plants:write'])
    const unknown = 'ps_0000000000000000000000000000000000000000000000000'
    const mistyped = secret.slice(0, 10) + (secret[10] === 'x' ? 'y' : 'x') + secret.slice(11)
    const bad = ['', 'ps_', unknown, mistyped, secret.slice(0, -1), `${secret}0`, secret.toLowerCase(), `${SECRET}x`]
    for (const token of [...bad, `\t${secret}`, `${secret} ${secret}`, 'x'.repeat(4000)]) {
      const answer = await service.create(PLANT, as(token))
      assertRefused(answer, 40102)
      assert.equal(answer.headers['www-authenticate'], INVALID, token)
    }
    assert.equal((await service.create(PLANT, as(secret))).status, 200)
  })

  onService('that is sent twice is refused, even if both copies are equal', async (service) => {
    const twice = `Authorization: Bearer ${SECRET}\r\n`.repeat(2)
    const bytes = `POST /plants HTTP/1.1\r\nHost: a\r\n${twice}Content-Length: 0\r\nConnection: close\r\n\r\n`
    const [answer = assert.fail()] = await raw(service.port, bytes)
    assert.equal(answer.status, 401)
    assertConforms('createPlant', answer)
  })

  test('that has expired is 40103 at once, whether the service has just looked it up or looks it up again', async (t) => {
    const service = await withService(t)
    const move = movableTime(t)
    const expiry = Date.now() + 600_000
    const { secret: past } = await service.issueToken(['plants:write'], new Date(Date.now() - 1))
    const { secret: soon } = await service.issueToken(['plants:write'], new Date(expiry))
    assert.equal((await service.create(PLANT, as(soon))).status, 200)
    t.mock.timers.enable({ apis: ['Date'], now: expiry })
    for (const later of [0, 1100]) {
      move(later)
      const answers = [past, soon].map((secret) => service.create(PLANT, as(secret)))
      for (const answer of await Promise.all(answers)) {
        assertRefused(answer, 40103)
        const details = 'error="invalid_token", error_description="the access token has expired"'
        assert.equal(answer.headers['www-authenticate'], `${REALM}, ${details}`)
      }
    }
  })

  onService('that is revoked stops working within a second, even while it is in use', async (service, t) => {
    const move = movableTime(t)
    const { secret, token } = await service.issueToken(['plants:write'])
    const create = () => service.create(PLANT, as(secret))
    assert.equal((await create()).status, 200)
    assert.equal(await service.store.tokens.revokeToken(token.id), 'revoked')
    // The second begins at the revocation: constant use must not prolong it.
    for (let i = 0; i < 20; i++) {
      await create()
      move(50)
    }
    const answer = await create()
    assertRefused(answer, 40102)
    assert.equal(answer.headers['www-authenticate'], INVALID)
  })

  onService('has its last use recorded at most once a minute', async (service, t) => {
    const move = movableTime(t)
    const { secret, token } = await service.issueToken(['plants:write'])
    const before = Date.now()
    const lastUse = () => lastUseOf(service, token)
    assert.equal(await lastUse(), undefined)
    await service.create(PLANT, as(secret))
    await until(async () => (await lastUse()) !== undefined, 'the use of the token is not recorded')
    const noted = await lastUse()
    assert.ok(noted !== undefined && noted.getTime() >= before && noted.getTime() <= Date.now())
    move(1100)
    await service.create(PLANT, as(secret))
    // The store writes in order, so a record of that use would be stored before this token.
    await service.issueToken(['plants:write'])
    assert.deepEqual(await lastUse(), noted)
  })

  onService('has its last use recorded again after the clock was set back', async (service, t) => {
    const move = movableTime(t)
    const step = movableClock(t)
    const { secret, token } = await service.issueToken(['plants:write'])
    const lastUse = () => lastUseOf(service, token)
    step(14 * 365 * 86_400_000)
    await service.create(PLANT, as(secret))
    await until(async () => (await lastUse()) !== undefined, 'the use of the token is not recorded')
    step(-14 * 365 * 86_400_000)
    move(1100)
    await service.create(PLANT, as(secret))
    await until(async () => (await lastUse())?.getFullYear() === new Date().getFullYear(), 'the last use stays in 2040')
  })
})

suite('the rate of a token', () => {
  onService('is unlimited by default, and answers do not mention it', async (service) => {
    const answers = await Promise.all(Array.from({ length: 50 }, () => service.create(PLANT)))
    for (const { status, headers } of answers) {
      assert.deepEqual([status, headers['ratelimit'], headers['ratelimit-policy']], [200, undefined, undefined])
    }
  })

  onService('is limited per token, and each answer says how many are left', { rateLimit: '2' }, async (service, t) => {
    const move = movableTime(t)
    const { secret } = await service.issueToken(['plants:write'])
    const first = await service.create(PLANT)
    assert.equal(first.status, 200)
    assert.equal(first.headers['ratelimit-policy'], '"default";q=2;w=1')
    assert.equal(first.headers['ratelimit'], '"default";r=1;t=1')
    const answers = await Promise.all(Array.from({ length: 20 }, () => service.create(PLANT)))
    const refused = answers.find(({ status }) => status === 429) ?? assert.fail('none was refused')
    assert.equal(errorOf(refused), 42901)
    assert.equal(refused.headers['retry-after'], '1')
    assert.equal(refused.headers['ratelimit'], '"default";r=0;t=1')
    assert.equal((await service.create(PLANT, as(secret))).status, 200)
    assert.equal((await service.send('GET', '/health/live')).status, 200)
    move(1010)
    assert.equal((await service.create(PLANT)).status, 200)
  })
})

suite('the secret of a token', () => {
  onService('is never on the disk or in the log, whatever its requests do', { logLevel: 'debug' }, async (service) => {
    const { secret, token } = await service.issueToken(['plants:write'])
    const { secret: weak } = await service.issueToken(['plants:read'])
    const expired = await service.issueToken(['plants:write'], new Date(0))
    const unknown = 'an-unknown-secret-of-somebody'
    const secrets = [secret, weak, expired.secret, unknown, SECRET]
    for (const [id, each] of secrets.entries()) {
      await service.create({ id, name: `a plant of ${id}` }, as(each))
      await service.create('{', as(each))
      await service.send('GET', `/nowhere?access_token=${each}`, as(each))
    }
    assert.ok(await service.under.holds(token.id), 'the search finds what is stored')
    assert.ok(service.log.includes(token.id), 'the log has the public name of the token')
    for (const each of secrets) {
      assert.equal(await service.under.holds(each), false)
      assert.ok(!service.log.includes(each))
    }
  })
})
