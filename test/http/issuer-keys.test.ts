import assert from 'node:assert/strict'
import { generateKeyPairSync, sign } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { suite, type TestContext, test } from 'node:test'
import { type CryptoKey, exportJWK, generateKeyPair } from 'jose'
import { Issuer } from '../support/issuer.ts'
import { type Answer, assertRefused, errorOf, SECRET, type Service, withService } from '../support/service.ts'
import { as } from '../support/tokens.ts'
import { until } from '../support/until.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE

interface Scene {
  readonly issuer: Issuer
  readonly service: Service
  /** Moves the clock on, in milliseconds. It stands still in between. */
  readonly later: (time: number) => void
}

async function withKeys(t: TestContext): Promise<Scene> {
  const issuer = await Issuer.start(t)
  const service = await withService(t, { ...issuer.settings, authFailureLimit: undefined })
  await until(() => issuer.asked.keys === 1, 'the service fetches no keys at its start')
  assert.equal((await self(service, await issuer.sign())).status, 200)
  let now = Date.now()
  t.mock.timers.enable({ apis: ['Date'], now })
  const later = (time: number) => {
    now += time
    t.mock.timers.setTime(now)
  }
  return { issuer, service, later }
}

/** A service whose identity provider is away at its start. */
async function withoutKeys(t: TestContext): Promise<Pick<Scene, 'issuer' | 'service'>> {
  const issuer = await Issuer.start(t)
  await issuer.leave()
  const service = await withService(t, issuer.settings)
  await until(() => service.log.includes('the issuer is away'), 'the log has no line')
  return { issuer, service }
}

/** Answers requests for a path in place of the provider. */
function answerInstead(issuer: Issuer, path: string, answer: (response: ServerResponse) => unknown): void {
  issuer.instead = ({ url }, response) => {
    if (url === path) answer(response)
    return url === path
  }
}

const self = (service: Service, jwt: string): Promise<Answer> => service.send('GET', '/tokens/self', as(jwt))

const statusOf = async ({ issuer, service }: Scene): Promise<number> =>
  (await self(service, await issuer.sign())).status

const outages = ({ service }: Scene): number => service.log.split('the issuer is away').length - 1

const requests = ({ issuer }: Scene): number => issuer.asked.keys + issuer.asked.discovery

/** A token whose key the provider has never had. */
const invented = (issuer: Issuer, i: number, iat = Math.floor(Date.now() / 1000)): Promise<string> =>
  issuer.sign({ iat }, { kid: `invented-${i}` })

suite('the keys of an identity provider', () => {
  test('that do not fit refuse their tokens with 40102, cost no request, and leave the other keys alone', async (t) => {
    const issuer = await Issuer.start(t)
    const es256 = issuer.keyOf('ES256')
    const weak = generateKeyPairSync('rsa', { modulusLength: 1024 })
    const point = { kty: 'EC', crv: 'P-256', alg: 'ES256', x: 'AAAA', y: 'AAAA' }
    const keys = [
      { ...(await exportJWK(es256.publicKey)), kid: issuer.kid('ES256') },
      { ...(await exportJWK(es256.privateKey)), kid: 'private' },
      { ...weak.publicKey.export({ format: 'jwk' }), kid: 'weak' },
      { ...point, kid: 'malformed' },
      { ...point, ...(await exportJWK(es256.publicKey)), y: 'AQ'.repeat(21).concat('A'), kid: 'not on the curve' },
      { ...(await exportJWK(es256.publicKey)), kid: 'encryption', use: 'enc' },
      { ...(await exportJWK(es256.publicKey)), kid: '5' },
    ]
    answerInstead(issuer, '/jwks', (response) => response.end(JSON.stringify({ keys })))
    const service = await withService(t, { ...issuer.settings, authFailureLimit: undefined })
    assert.equal((await self(service, await issuer.sign())).status, 200)
    const refused = async (header: Readonly<Record<string, unknown>>) =>
      assert.equal(errorOf(await self(service, await issuer.sign({}, header))), 40102, JSON.stringify(header))
    for (const kid of ['private', 'malformed', 'not on the curve', 'encryption', 5, null, {}]) await refused({ kid })
    const [header, claims] = (await issuer.sign({}, { kid: 'weak' })).split('.', 2)
    const clear = String(Buffer.from(header ?? '', 'base64url')).replace('ES256', 'RS256')
    const signed = `${Buffer.from(clear).toString('base64url')}.${claims}`
    const signature = sign('sha256', Buffer.from(signed), weak.privateKey).toString('base64url')
    assert.equal(errorOf(await self(service, `${signed}.${signature}`)), 40102)
    assert.equal((await self(service, await issuer.sign())).status, 200)
    assert.equal(issuer.asked.keys, 1)
  })

  test('are tried one by one, at most four, for a token that names none of several that fit', async (t) => {
    const issuer = await Issuer.start(t)
    const pairs = await Promise.all(Array.from({ length: 5 }, () => generateKeyPair('ES256', { extractable: true })))
    const jwkOf = async ({ publicKey }: (typeof pairs)[number]) => ({ ...(await exportJWK(publicKey)), alg: 'ES256' })
    const keys = await Promise.all(pairs.map(jwkOf))
    answerInstead(issuer, '/jwks', (response) => response.end(JSON.stringify({ keys })))
    const service = await withService(t, { ...issuer.settings, authFailureLimit: undefined })
    const statusOf = async (pair: { readonly privateKey: CryptoKey } | undefined, claims = {}) =>
      (await self(service, await issuer.sign(claims, { kid: undefined }, pair?.privateKey))).status
    for (const i of [0, 1, 3]) assert.equal(await statusOf(pairs[i]), 200, `key ${i}`)
    assert.equal(await statusOf(pairs[4]), 401, 'a fifth is not tried')
    assert.equal(await statusOf(await generateKeyPair('ES256')), 401)
    assert.equal(await statusOf(pairs[1], { aud: 'strange' }), 401, 'a fault of a claim ends the search')
  })

  test('are fetched once for 10 minutes, and then in the background', async (t) => {
    const scene = await withKeys(t)
    for (let i = 0; i < 20; i++) assert.equal(await statusOf(scene), 200)
    scene.later(9 * MINUTE)
    assert.equal(await statusOf(scene), 200)
    assert.equal(requests(scene), 2)
    scene.later(2 * MINUTE)
    const hanging = Promise.withResolvers<void>()
    scene.issuer.instead = () => {
      hanging.resolve()
      return true
    }
    assert.equal(await statusOf(scene), 200, 'nobody waits for the answer')
    await hanging.promise
  })

  test('may change while tokens are in use: no good token is refused', async (t) => {
    const scene = await withKeys(t)
    for (let round = 0; round < 3; round++) {
      await scene.issuer.rotate()
      const answers = await Promise.all(Array.from({ length: 50 }, () => statusOf(scene)))
      assert.deepEqual(new Set(answers), new Set([200]), `round ${round}`)
      assert.equal(scene.issuer.asked.keys, round + 2)
      scene.later(31_000)
    }
  })

  test('that are younger than 30 s refuse an invented key with 40102, and for that time a new one, too', async (t) => {
    const scene = await withKeys(t)
    for (const time of [0, 10_000, 19_000, 31_000, 10_000]) {
      scene.later(time)
      assertRefused(await self(scene.service, await invented(scene.issuer, time)), 40102)
    }
    await scene.issuer.rotate()
    assert.equal(errorOf(await self(scene.service, await scene.issuer.sign())), 40102)
    scene.later(20_000)
    assert.equal(await statusOf(scene), 200)
  })

  test('that are older give 50301 for a new one while the provider is away', async (t) => {
    const scene = await withKeys(t)
    scene.later(MINUTE)
    await scene.issuer.leave()
    const answer = await self(scene.service, await invented(scene.issuer, 0))
    assert.deepEqual([errorOf(answer), answer.headers['retry-after']], [50301, '30'])
    scene.later(10_000)
    const later = await self(scene.service, await invented(scene.issuer, 1))
    assert.deepEqual([errorOf(later), later.headers['retry-after']], [50301, '20'])
  })

  for (const state of ['there', 'away'] as const) {
    test(`that 1,000 tokens invent within 10 s cause one request if the provider is ${state}`, async (t) => {
      const scene = await withKeys(t)
      const { issuer, service } = scene
      const before = requests(scene)
      let failed = 0
      issuer.instead = (request, response) => {
        if (state === 'there' || request.method !== 'GET') return false
        failed++
        response.writeHead(500).end()
        return true
      }
      const [head, claims, signature] = (await invented(issuer, 0)).split('.')
      const header = Buffer.from(head ?? '', 'base64url').toString()
      for (let i = 0; i < 10; i++) {
        const send = async (_: unknown, k: number) => {
          const named = Buffer.from(header.replace('invented-0', `invented-${i * 100 + k}`)).toString('base64url')
          assertRefused(await self(service, `${named}.${claims}.${signature}`), 40102)
        }
        await Promise.all(Array.from({ length: 100 }, send))
        scene.later(1000)
      }
      assert.equal(requests(scene) - before, 1)
      assert.equal(failed, state === 'away' ? 1 : 0)
      assert.equal(outages(scene), failed)
      const old = await invented(issuer, 0, Math.floor(Date.now() / 1000) - 600)
      assert.equal(errorOf(await self(service, old)), 40102, 'a token from before the keys is refused for good')
      assert.equal(await statusOf(scene), 200)
    })
  }

  test('are used while the provider is away, up to 24 h, with one line in the log', async (t) => {
    const scene = await withKeys(t)
    await scene.issuer.leave()
    assert.equal(await statusOf(scene), 200)
    scene.later(20 * MINUTE)
    for (let i = 0; i < 100; i++) assert.equal(await statusOf(scene), 200)
    await until(() => outages(scene) === 1, 'the log has no line')
    for (let hour = 1; hour < 24; hour++) {
      scene.later(HOUR)
      assert.equal(await statusOf(scene), 200, `after ${hour} h`)
    }
    scene.later(HOUR + 10 * MINUTE)
    const answer = await self(scene.service, await scene.issuer.sign())
    assert.deepEqual([errorOf(answer), answer.headers['retry-after']], [50301, '5'])
    assert.equal((await self(scene.service, SECRET)).status, 200, 'its own tokens do not notice')
    assert.equal(outages(scene), 1)
    await scene.issuer.comeBack()
    assert.equal(await statusOf(scene), 503, 'asked a moment ago')
    scene.later(5000)
    assert.equal(await statusOf(scene), 200)
    await scene.issuer.leave()
    scene.later(11 * MINUTE)
    assert.equal(await statusOf(scene), 200)
    await until(() => outages(scene) === 2, 'the log has no line about the second time')
  })

  test('are fetched again after a night without requests, and nobody is refused', async (t) => {
    const scene = await withKeys(t)
    scene.later(25 * HOUR)
    assert.equal(await statusOf(scene), 200)
    scene.later(-50 * HOUR)
    assert.equal(await statusOf(scene), 200, 'also if the clock is set back')
  })

  test('may come after the start: until then a JWT gets 50301, and other tokens work', async (t) => {
    const { issuer, service } = await withoutKeys(t)
    const jwt = await issuer.sign()
    const answer = await self(service, jwt)
    assert.equal(errorOf(answer), 50301)
    assert.ok(Number(answer.headers['retry-after']) <= 5)
    assert.equal((await self(service, SECRET)).status, 200)
    await issuer.comeBack()
    t.mock.timers.enable({ apis: ['Date'], now: Date.now() + 5000 })
    await until(async () => (await self(service, jwt)).status === 200, 'the service does not find the provider again')
    assert.equal(service.log.split('the issuer is away').length, 2)
  })

  test('are not taken by a discovery document that has a fault, and are by the next one without', async (t) => {
    const { issuer, service } = await withoutKeys(t)
    const jwt = await issuer.sign()
    await issuer.comeBack()
    let now = Date.now()
    t.mock.timers.enable({ apis: ['Date'], now })
    for (const [fault, write] of [
      ['names another issuer', '{"issuer":"http://127.0.0.1","jwks_uri":"URL/jwks"}'],
      ['names keys at an address that is not safe', '{"issuer":"URL","jwks_uri":"http://keys.example/"}'],
      ['names no keys', '{"issuer":"URL"}'],
      ['is no JSON', '<html>'],
      ['is null', 'null'],
      ['is longer than 256 KiB', `{"issuer":"URL","jwks_uri":"URL/jwks","x":"${'x'.repeat(256 * 1024)}"}`],
    ] as const) {
      const before = issuer.asked.discovery
      const document = write.replaceAll('URL', issuer.url)
      answerInstead(issuer, '/.well-known/openid-configuration', (response) => response.end(document))
      now += 5000
      t.mock.timers.setTime(now)
      assert.equal(errorOf(await self(service, jwt)), 50301, fault)
      assert.deepEqual([issuer.asked.discovery - before, issuer.asked.keys], [1, 0], fault)
    }
    issuer.instead = () => false
    t.mock.timers.setTime(now + 5000)
    assert.equal((await self(service, jwt)).status, 200)
  })

  test('are not taken by a redirect, nor from an answer that does not end', async (t) => {
    const issuer = await Issuer.start(t)
    answerInstead(issuer, '/jwks', (response) => response.writeHead(302, { Location: '/elsewhere' }).end())
    const service = await withService(t, issuer.settings)
    assert.equal(errorOf(await self(service, await issuer.sign())), 50301)
    answerInstead(issuer, '/jwks', (response) => response.write('{"keys":['))
    const other = await withService(t, issuer.settings)
    const before = performance.now()
    assert.equal(errorOf(await self(other, await issuer.sign())), 50301)
    assert.ok(performance.now() - before > 4000, 'the service waits for 5 s')
  })
})
