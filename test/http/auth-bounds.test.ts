import assert from 'node:assert/strict'
import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { suite, type TestContext, test } from 'node:test'
import { BoundedMap } from '../../src/base/counts.ts'
import { ClientAddresses, readNetworks } from '../../src/base/network.ts'
import { AppError } from '../../src/domain/errors.ts'
import { makeSecret } from '../../src/domain/token.ts'
import { AuditLog, AuditTrail } from '../../src/http/answer/audit-log.ts'
import { Auth } from '../../src/http/auth/bearer.ts'
import { AddressLimit, RateLimiter } from '../../src/http/auth/limits.ts'
import { Exchange } from '../../src/http/request/exchange.ts'
import { TESTER } from '../support/actor.ts'
import { movableTime } from '../support/clock.ts'
import {
  type Answer,
  assertRefused,
  errorOf,
  messageOf,
  SECRET,
  type Sending,
  type Service,
  withService,
} from '../support/service.ts'
import { onService } from '../support/service-tests.ts'
import { words } from '../support/words.ts'

/** The clock of the test, in milliseconds. */
function clock(t: TestContext): { now: number } {
  const time = { now: 1000 }
  t.mock.method(performance, 'now', () => time.now)
  return time
}

/** Counts look-ups of tokens in the store of a service. */
function countLookUps(t: TestContext, service: Service): { readonly count: () => number } {
  const spy = t.mock.method(service.store.tokens, 'findToken')
  return { count: () => spy.mock.callCount() }
}

/** An audit trail, and its lines about uses of one revoked token. */
function revokedUses(t: TestContext) {
  const lines: string[] = []
  const addresses = new ClientAddresses([])
  const trail = new AuditTrail(new AuditLog({ write: (line) => lines.push(line) }), addresses, () => 'a request')
  const request = new IncomingMessage(new Socket())
  const exchange = new Exchange(request, new ServerResponse(request))
  exchange.revoked = TESTER
  const refusal = new AppError(40102, 'the access token was revoked')
  let address = ''
  t.mock.method(addresses, 'of', () => address)
  return {
    use(from: string): void {
      address = from
      trail.refused(exchange, refusal)
    },
    count: () => lines.length,
    last: () => lines.at(-1) ?? '',
  }
}

const list = (service: Service, secret: string, scheme = 'Bearer') =>
  service.send('GET', '/plants', { authorization: `${scheme} ${secret}` })

suite('the memory of tokens and addresses', () => {
  test('is bounded: the oldest entry makes room, and updating an entry makes it the newest', () => {
    const map = new BoundedMap<string, number>(2)
    for (const [i, key] of ['a', 'b', 'a', 'c', 'c'].entries()) map.set(key, i)
    assert.deepEqual([map.size, map.get('a'), map.get('b'), map.get('c')], [2, 2, undefined, 4])
    map.delete('a')
    assert.equal(map.size, 1)
  })

  test('has at most 10,000 addresses with bad tokens', (t) => {
    clock(t)
    const limit = new AddressLimit(1)
    assert.equal(limit.note('192.0.2.1'), 0)
    assert.equal(limit.note('192.0.2.1'), 60)
    const others = (count: number) => {
      for (let i = 0; i < count; i++) limit.note(`10.${i >> 16}.${(i >> 8) & 255}.${i & 255}`)
    }
    others(9_999)
    assert.equal(limit.note('192.0.2.1'), 60, 'with 9,999 others the address is still known')
    others(10_001)
    assert.equal(limit.note('192.0.2.1'), 0, 'with 10,000 others the address is forgotten')
  })

  test('has at most 10,000 addresses that have used a revoked token', (t) => {
    clock(t)
    const { use, count } = revokedUses(t)
    const others = (from: number, to: number) => {
      for (let i = from; i < to; i++) use(`10.0.${i >> 8}.${i & 255}`)
    }
    use('192.0.2.1')
    others(0, 9_999)
    assert.equal(count(), 10_000)
    use('192.0.2.1')
    assert.equal(count(), 10_000, 'with 9,999 others the address is still known')
    others(9_999, 10_000)
    use('192.0.2.1')
    assert.equal(count(), 10_002, 'with 10,000 other addresses it is forgotten')
  })

  test('forgets the use of a revoked token after a minute', (t) => {
    const time = clock(t)
    const { use, count, last } = revokedUses(t)
    for (let i = 0; i < 3; i++) use('192.0.2.1')
    time.now += 59_999
    use('192.0.2.1')
    assert.equal(count(), 1)
    time.now += 1
    use('192.0.2.1')
    assert.equal(count(), 2)
    assert.match(last(), /"omitted":3,/)
  })

  test('forgets the bad tokens of an address after a minute', (t) => {
    const time = clock(t)
    const limit = new AddressLimit(1)
    limit.note('192.0.2.1')
    time.now += 59_000
    assert.equal(limit.note('192.0.2.1'), 1)
    time.now += 1000
    assert.equal(limit.note('192.0.2.1'), 0)
  })

  test('has at most so many verified tokens, and one place for all spellings of the header with a token', async (t) => {
    const service = await withService(t)
    clock(t)
    const { tokens } = service.store
    const onTouchFailure = (error: unknown) => assert.fail(String(error))
    const options = { tokens, issuer: undefined, addresses: new ClientAddresses([]), onTouchFailure }
    const auth = new Auth(
      { ...options, config: { token: undefined, authFailureLimit: undefined, public: undefined, publicLimit: 1 } },
      3,
    )
    const issued = await Promise.all([1, 2, 3, 4].map(() => service.issueToken(['plants:read'])))
    const [first = '', second = '', third = '', fourth = ''] = issued.map(({ secret }) => secret)
    const lookUps = countLookUps(t, service)
    const identify = (authorization: string) =>
      auth.identify({
        request: { headers: { authorization }, socket: new Socket() },
        startedAt: performance.now(),
        signal: AbortSignal.abort(),
      })
    for (let i = 0; i < 3; i++) await identify(`Bearer ${first}`)
    assert.equal(lookUps.count(), 1, 'the service looks the token up once within half a second')
    for (let bits = 0; bits < 64; bits++) {
      const scheme = Array.from('bearer', (letter, i) => ((bits >> i) & 1 ? letter.toUpperCase() : letter)).join('')
      assert.equal((await identify(`${scheme} ${second}`)).actor.id, issued[1]?.token.id)
    }
    await identify(`Bearer ${third}`)
    await identify(`Bearer ${first}`)
    assert.equal(lookUps.count(), 3, 'with two others the token is still known')
    await identify(`Bearer ${fourth}`)
    await identify(`Bearer ${first}`)
    assert.equal(lookUps.count(), 5, 'with three others it is looked up again')
  })
})

suite('the cost of bad tokens', () => {
  onService('is no look-up for a malformed token', { authFailureLimit: undefined }, async (service, t) => {
    const lookUps = countLookUps(t, service)
    const unknown = makeSecret()
    for (const bad of ['', 'nonsense', 'ps_', unknown.slice(0, -1), `${unknown}0`, 'x'.repeat(5000)]) {
      assert.equal(errorOf(await list(service, bad)), 40102)
    }
    assert.equal(lookUps.count(), 0)
  })
})

suite('the rate of a token', () => {
  const taken = (limiter: RateLimiter, token: string, tries: number): number => {
    let count = 0
    for (let i = 0; i < tries; i++) {
      try {
        limiter.take(token)
        count++
      } catch (error) {
        assert.equal((error as AppError).number, 42901)
      }
    }
    return count
  }

  test('refills at the configured rate, up to the requests of one second', (t) => {
    const time = clock(t)
    const limiter = new RateLimiter(10)
    assert.equal(taken(limiter, 'a', 50), 10)
    for (const [wait, refilled] of [
      [100, 1],
      [50, 0],
      [50, 1],
      [500, 5],
      [60_000, 10],
    ] as const) {
      time.now += wait
      assert.equal(taken(limiter, 'a', 50), refilled, `${wait} ms`)
    }
  })

  test('is counted for the 10,000 most recently used tokens', (t) => {
    clock(t)
    const limiter = new RateLimiter(1)
    assert.equal(taken(limiter, 'used', 2), 1)
    for (let i = 0; i < 20_000; i++) {
      taken(limiter, `token ${i}`, 1)
      if (i % 5000 === 0) assert.equal(taken(limiter, 'used', 1), 0)
    }
    assert.equal(taken(limiter, 'token 0', 1), 1, 'the least recently used token is forgotten')
  })
})

const PLANT = { id: 1, name: 'x' }

const withToken = (service: Service, token: string, from?: string): Promise<Answer> => {
  const sending: Sending = { authorization: `Bearer ${token}` }
  return service.create(PLANT, from === undefined ? sending : { ...sending, headers: { 'X-Forwarded-For': from } })
}

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
      assertRefused(answer, 42901)
      const seconds = Number(answer.headers['retry-after'])
      assert.ok(seconds >= 1 && seconds <= 60)
      assert.match(messageOf(answer), new RegExp(`wait ${seconds} seconds`))
    }
    // A request without a token does not count.
    assertRefused(await service.create(PLANT, { authorization: null }), 40101)
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

  const PROXIED = { authFailureLimit: 2, trustedProxies: '127.0.0.1' }

  onService('is the one that a trusted proxy names, or its /64 network with IPv6', PROXIED, async (service) => {
    await block(service, '203.0.113.9')
    assert.equal(errorOf(await withToken(service, 'nonsense', '203.0.113.10')), 40102)
    assert.equal(errorOf(await withToken(service, 'nonsense', '203.0.113.10, 203.0.113.9')), 42901)
    assert.equal(errorOf(await withToken(service, 'nonsense')), 40102, 'the proxy itself counts separately')
    assert.match(service.log, /"address":"203\.0\.113\.9"/)
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

const PROXY = '10.0.0.1'
const CLIENT = '203.0.113.9'
const addresses = new ClientAddresses(readNetworks('10.0.0.0/8, fd00::/8'))
const forwardedFor = (text: string) => addresses.of(PROXY, { 'x-forwarded-for': text })
const forwarded = (text: string) => addresses.of(PROXY, { forwarded: text })

suite('the address of a client', () => {
  test('is that of the connection, whatever the headers say, unless a trusted proxy connects', () => {
    const headers = { 'x-forwarded-for': CLIENT, forwarded: `for=${CLIENT}` }
    assert.equal(addresses.of('198.51.100.1', headers), '198.51.100.1')
    assert.equal(addresses.of('::ffff:198.51.100.1', headers), '198.51.100.1')
    assert.equal(new ClientAddresses([]).of(PROXY, headers), PROXY)
    assert.equal(addresses.of(undefined, headers), '')
  })

  test('is the address that a trusted proxy names in Forwarded or X-Forwarded-For', () => {
    for (const text of [CLIENT, ` ${CLIENT} `, `${CLIENT}:4711`, `1.2.3.4, ${CLIENT}`, `${CLIENT}, 10.9.9.9`]) {
      assert.equal(forwardedFor(text), CLIENT, text)
    }
    for (const text of [
      `for=${CLIENT}`,
      `For="${CLIENT}:4711";proto=https;by=10.0.0.1`,
      `for=1.2.3.4, for=${CLIENT};host="a,b"`,
      `proto=https; FOR=${CLIENT} , for=10.2.3.4`,
    ]) {
      assert.equal(forwarded(text), CLIENT, text)
    }
    assert.equal(addresses.of('::ffff:10.0.0.1', { 'x-forwarded-for': CLIENT }), CLIENT)
    assert.equal(addresses.of('fd00::7', { 'x-forwarded-for': ['1.2.3.4', CLIENT] }), CLIENT)
    assert.equal(forwarded('for="[2001:db8:cafe::17]:4711"'), '2001:db8:cafe::17')
    assert.equal(forwardedFor('[2001:db8:cafe::17]'), '2001:db8:cafe::17')
    assert.equal(forwardedFor('2001:db8:cafe::17'), '2001:db8:cafe::17')
    assert.equal(forwardedFor('::ffff:203.0.113.9'), CLIENT)
  })

  test('is the last trusted proxy if that proxy names no address', () => {
    for (const text of [
      '',
      '1.2.3.4, unknown',
      `${CLIENT},`,
      ...words`unknown _hidden client.example 1.2.3 999.1.1.1`,
    ]) {
      assert.equal(forwardedFor(text), PROXY, text)
    }
    const unclear = [`for=${CLIENT}, proto=https`, `for="${CLIENT}`, `xfor=${CLIENT}`, `for=a;for=${CLIENT}`]
    for (const text of ['', 'for=unknown', 'for="_x"', 'proto=https', ...unclear]) {
      assert.equal(forwarded(text), PROXY, text)
    }
    assert.equal(addresses.of(PROXY, {}), PROXY)
    assert.equal(forwardedFor('unknown, 10.7.7.7'), '10.7.7.7')
    assert.equal(forwardedFor('10.1.1.1, 10.2.2.2'), '10.1.1.1')
  })

  test('cannot be forged in the header that the proxy does not set', () => {
    assert.equal(addresses.of(PROXY, { 'x-forwarded-for': CLIENT, forwarded: 'for=1.2.3.4' }), PROXY)
    assert.equal(addresses.of(PROXY, { 'x-forwarded-for': CLIENT, forwarded: `for=${CLIENT}` }), CLIENT)
  })

  test('is found fast in the longest headers', () => {
    const before = process.cpuUsage()
    const long = [',', 'for=', '"', '"\\', 'for="\\', ' ', '1,', 'for=1;', ';'].map((text) =>
      text.repeat(Math.floor(16_384 / text.length)),
    )
    for (const text of long) {
      forwardedFor(text)
      forwarded(text)
    }
    const { user } = process.cpuUsage(before)
    assert.ok(user < 2_000_000, `${user / 1e6} s of processor time`)
  })
})
