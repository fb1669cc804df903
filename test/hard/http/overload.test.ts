import assert from 'node:assert/strict'
import { suite, type TestContext, test } from 'node:test'
import { generateKeyPair } from 'jose'
import { type MemoryUse, Overload } from '../../../src/http/admission/turns.ts'
import { Issuer } from '../../support/issuer.ts'
import { RawConnection } from '../../support/raw.ts'
import { type Answer, errorOf, messageOf, SECRET, type Service, withService } from '../../support/service.ts'
import { onService } from '../../support/service-tests.ts'
import { as } from '../../support/tokens.ts'
import { happens, settled, until } from '../../support/until.ts'

/** Blocks the event loop for this time, in which it has a processor. */
function work(milliseconds: number): void {
  const before = process.threadCpuUsage()
  for (;;) {
    const { user, system } = process.threadCpuUsage(before)
    if (user + system >= milliseconds * 1000) return
  }
}

/** Blocks the event loop for this time, in which it has no processor, as beside other programs that keep all of them busy. */
const starve = (milliseconds: number) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds)

const turn = () => new Promise((resolve) => setImmediate(resolve))

suite('overload', () => {
  const admits = (overload: Overload): boolean => {
    try {
      overload.refuseExcess(performance.now())
      return true
    } catch {
      return false
    }
  }
  const plenty: MemoryUse = { used_heap_size: 1, heap_size_limit: 100, external_memory: 1 }
  const overloadOf = (
    t: TestContext,
    bounds: { maxDelay: number; maxMemory?: number },
    use = () => plenty,
  ): Overload => {
    const overload = new Overload({ maxMemory: undefined, ...bounds }, use)
    t.after(() => overload.close())
    return overload
  }

  test('refuses the requests of a turn of the event loop that has taken too long, and only those', async (t) => {
    const overload = overloadOf(t, { maxDelay: 100 })
    const admitted: boolean[] = []
    for (let i = 0; i < 8; i++) {
      admitted.push(admits(overload))
      work(30)
    }
    assert.deepEqual([admitted[0], admitted.at(-1)], [true, false])
    await turn()
    assert.ok(admits(overload), 'the next turn')
  })

  test('does not refuse the requests of a turn that other programs keep waiting for a processor', async (t) => {
    const overload = overloadOf(t, { maxDelay: 500 })
    starve(500)
    for (let i = 0; i < 8; i++) {
      assert.ok(admits(overload), `after ${i} requests`)
      starve(100)
    }
    assert.equal(overload.refused.delay, 0)
  })

  test('does not refuse the first requests after the process was paused', async (t) => {
    const overload = overloadOf(t, { maxDelay: 100 })
    work(500)
    assert.ok(admits(overload))
    assert.ok(admits(overload))
  })

  test('refuses requests while the heap or the buffers exceed their memory', async (t) => {
    let use = plenty
    const overload = overloadOf(t, { maxDelay: 600_000, maxMemory: 1000 }, () => use)
    const becomes = async (isAdmitted: boolean, next: MemoryUse) => {
      use = next
      await until(() => admits(overload) === isAdmitted, `requests are ${isAdmitted ? 'still' : 'not'} refused`)
    }
    await becomes(false, { used_heap_size: 86, heap_size_limit: 100, external_memory: 0 })
    await becomes(true, { used_heap_size: 84, heap_size_limit: 100, external_memory: 0 })
    await becomes(false, { used_heap_size: 84, heap_size_limit: 100, external_memory: 1000 })
    await becomes(true, plenty)
  })

  test('gives 50302 with Retry-After to requests other than health and metrics, and changes nothing', async (t) => {
    const service = await withService(t, { maxDelay: 500 })
    const { getPlant } = service.store
    const sendAll = () => Promise.all(Array.from({ length: 60 }, (_, id) => service.send('GET', `/plants/${id}`)))
    // On open connections, all requests arrive in one turn of the event loop.
    await sendAll()
    service.store.getPlant = (...asked) => {
      work(40)
      return getPlant.apply(service.store, asked)
    }
    const all = sendAll()
    const monitored = ['/health/live', '/health/ready', '/metrics'].map((path) => service.send('GET', path))
    const answers = await all
    const refused = answers.filter(({ status }) => status === 503)
    assert.ok(refused.length > 0 && refused.length < 60, `${refused.length} of 60`)
    for (const answer of refused) {
      assert.deepEqual([errorOf(answer), answer.headers['retry-after']], [50302, '1'])
      assert.match(messageOf(answer), /^too many requests came at once; nothing was done/)
    }
    for (const { status } of answers) assert.ok(status === 404 || status === 503)
    for (const { status } of await Promise.all(monitored)) assert.equal(status, 200)
    const { body } = await service.send('GET', '/metrics')
    assert.match(body, new RegExp(`^plantstore_shed_total\\{reason="delay"\\} ${refused.length}$`, 'm'))
    service.store.getPlant = getPlant
    assert.equal((await service.send('GET', '/plants/1')).status, 404)
  })

  onService('refuses all but health and metrics while memory is short', { maxMemory: 2 ** 20 }, async (service) => {
    const answer = async () => service.create({ id: 1, name: 'a' })
    let refused = await answer()
    while (refused.status === 200) refused = await answer()
    assert.deepEqual([refused.status, errorOf(refused), refused.headers['retry-after']], [503, 50302, '1'])
    assert.equal((await service.send('GET', '/health/live')).status, 200)
    assert.equal((await service.send('GET', '/metrics')).status, 200)
  })
})

const FLOOD = 1000

const self = (service: Service, jwt: string, from?: string): Promise<Answer> =>
  service.send('GET', '/tokens/self', {
    ...as(jwt),
    ...(from === undefined ? {} : { headers: { 'X-Forwarded-For': from } }),
  })

/** Tokens of almost 16 KiB that only their signature betrays, each with another one. */
async function forged(issuer: Issuer, count: number, length = 11_000): Promise<string[]> {
  const { privateKey } = await generateKeyPair('ES384')
  const header = { alg: 'ES384', kid: issuer.kid('ES384') }
  const one = await issuer.sign({ pad: 'x'.repeat(length) }, header, privateKey)
  const unsigned = one.slice(0, one.lastIndexOf('.') + 1)
  return Array.from({ length: count }, (_, i) => unsigned + Buffer.alloc(96, String(i)).toString('base64url'))
}

suite('a client with bad JWTs', () => {
  test('counts as one with bad tokens, and a good JWT of its address still passes', async (t) => {
    const issuer = await Issuer.start(t)
    const service = await withService(t, { ...issuer.settings, authFailureLimit: 2 })
    for (const [i, jwt] of (await forged(issuer, 4)).entries()) {
      const answer = await self(service, jwt)
      assert.equal(errorOf(answer), i < 2 ? 40102 : 42901)
    }
    const past = await issuer.sign({ exp: Math.floor(Date.now() / 1000) - 60 })
    assert.equal(errorOf(await self(service, past)), 42901)
    for (let i = 0; i < 3; i++) assert.equal((await self(service, await issuer.sign())).status, 200)
  })

  for (const length of [11_000, 0]) {
    test(`makes nobody else wait with 1,000 of them at once, of ${length + 350} characters`, async (t) => {
      const issuer = await Issuer.start(t)
      const bounds = { trustedProxies: '127.0.0.1', requestTimeout: '5m' }
      const service = await withService(t, { ...issuer.settings, ...bounds })
      const asked = [
        { who: 'a new JWT of the address', token: await issuer.sign({ sub: 'neighbour' }), from: '192.0.2.1' },
        { who: 'a new JWT', token: await issuer.sign({ sub: 'new' }), from: '192.0.2.2' },
        { who: 'an own token', token: SECRET, from: '192.0.2.1' },
      ]
      // Opens three connections.
      await Promise.all(asked.map(() => self(service, SECRET)))
      const bad = await forged(issuer, FLOOD, length)
      let answered = 0
      const { promise: begun, resolve: begin } = Promise.withResolvers<void>()
      const connections = bad.map((jwt) => {
        const connection = new RawConnection(service.port)
        const fields = `Host: a\r\nX-Forwarded-For: 192.0.2.1\r\nAuthorization: Bearer ${jwt}`
        connection.write(`GET /tokens/self HTTP/1.1\r\n${fields}\r\n\r\n`)
        connection.socket.once('data', () => {
          answered++
          begin()
        })
        return connection
      })
      await settled(begun, 'no bad token is answered')
      const before = await Promise.all(
        asked.map(async ({ who, token, from }) => {
          assert.equal((await self(service, token, from)).status, 200, who)
          return answered
        }),
      )
      const [sameAddress = 0, jwt = 0, own = 0] = before
      assert.ok(Math.max(own, jwt) < FLOOD / 2 && jwt <= sameAddress, `bad ones that went first: ${before}`)
      for (const connection of connections) connection.socket.destroy()
    })
  }

  test('makes nobody else wait while many are parsed that arrive at once', async (t) => {
    const issuer = await Issuer.start(t)
    const service = await withService(t, { ...issuer.settings, requestTimeout: '5m' })
    // Only the end shows that it repeats a claim.
    const claims = JSON.stringify(Object.fromEntries(Array.from({ length: 1300 }, (_, i) => [i.toString(36), 1])))
    const [header = '', , signature = ''] = (await issuer.sign()).split('.')
    const jwt = [header, Buffer.from(claims.replace(/}$/, ',"0":1}')).toString('base64url'), signature].join('.')
    const request = (fields: string) =>
      `GET /tokens/self HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${fields}\r\n\r\n`
    const open = async () => {
      const connection = new RawConnection(service.port)
      t.after(() => void connection.socket.destroy())
      connection.write(request(SECRET))
      await happens(connection.socket, 'data', 'a good token is not answered')
      return connection
    }
    const [other, ...flood] = await Promise.all(Array.from({ length: 301 }, open))
    let answered = 0
    for (const { socket } of flood) socket.once('data', () => answered++)
    for (const connection of flood) connection.write(request(jwt))
    other?.write(request(SECRET))
    await happens(other?.socket ?? assert.fail(), 'data', 'a good token is not answered')
    assert.ok(answered < flood.length / 2, `${answered} bad ones went first`)
    await until(() => answered === flood.length, 'a bad one has no answer')
  })
})
