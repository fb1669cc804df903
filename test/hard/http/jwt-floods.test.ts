import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { generateKeyPair } from 'jose'
import { Issuer } from '../../support/issuer.ts'
import { RawConnection } from '../../support/raw.ts'
import { type Answer, errorOf, SECRET, type Service, withService } from '../../support/service.ts'
import { as } from '../../support/tokens.ts'
import { happens, settled, until } from '../../support/until.ts'

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
