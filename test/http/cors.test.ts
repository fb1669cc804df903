import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { raw } from '../support/raw.ts'
import { withService } from '../support/service.ts'
import { onEmpty } from '../support/service-tests.ts'

const VARY = 'Accept, Accept-Encoding, Authorization'
const GARDEN = 'https://garden.example'
const preflight = (Origin: string) => ({
  authorization: null,
  headers: { Origin, 'Access-Control-Request-Method': 'PATCH', 'Access-Control-Request-Headers': 'authorization' },
})
const ofCors = (headers: object) => Object.keys(headers).filter((name) => name.startsWith('access-control-'))

suite('scripts of other origins', () => {
  onEmpty('may use nothing by default', async (service) => {
    const read = await service.send('GET', '/plants', { headers: { Origin: GARDEN } })
    assert.deepEqual([read.status, ofCors(read.headers), read.headers.vary], [200, [], VARY])
    assert.deepEqual(ofCors((await service.send('OPTIONS', '/plants/1', preflight(GARDEN))).headers), [])
  })

  test('may use everything if their origin is configured', async (t) => {
    const service = await withService(t, { corsOrigins: `http://localhost:5173,${GARDEN}` })
    const { status, headers } = await service.send('OPTIONS', '/plants/1', preflight(GARDEN))
    assert.equal(status, 204)
    assert.equal(headers['access-control-allow-origin'], GARDEN)
    assert.equal(headers['access-control-allow-methods'], 'GET, HEAD, PUT, PATCH, DELETE, OPTIONS')
    const pattern = /^Authorization, Content-Type, .*If-Match, .*Idempotency-Key/
    assert.match(String(headers['access-control-allow-headers']), pattern)
    assert.equal(headers['access-control-max-age'], '600')
    assert.equal(headers['access-control-allow-credentials'], undefined)
    const sending = { headers: { Origin: GARDEN } }
    const answers = [
      await service.create({ id: 1, name: 'x' }, sending),
      await service.send('GET', '/plants/1', sending),
      await service.send('GET', '/plants/2', sending),
      await service.send('GET', '/plants', { ...sending, authorization: null }),
      await service.send('GET', '/plants/export', sending),
      await service.send('GET', '/nowhere', sending),
    ]
    for (const answer of answers) {
      assert.equal(answer.headers['access-control-allow-origin'], GARDEN, answer.body)
      assert.match(String(answer.headers['access-control-expose-headers']), /ETag, Link, .*X-Request-Id/)
      assert.match(String(answer.headers.vary), /(?:^|, )Origin$/)
    }
  })

  test('may use nothing if another origin is configured, and caches store answers per origin', async (t) => {
    const service = await withService(t, { corsOrigins: GARDEN })
    for (const origin of ['https://evil.example', 'http://garden.example', `${GARDEN}:444`, 'null', `${GARDEN}.evil`]) {
      const read = await service.send('GET', '/plants', { headers: { Origin: origin } })
      assert.deepEqual([ofCors(read.headers), read.headers.vary], [[], `${VARY}, Origin`], origin)
      assert.deepEqual(ofCors((await service.send('OPTIONS', '/plants/1', preflight(origin))).headers), [], origin)
    }
    const none = await service.send('GET', '/plants')
    assert.deepEqual([ofCors(none.headers), none.headers.vary], [[], `${VARY}, Origin`])
    // No preflight.
    const plain = await service.send('OPTIONS', '/plants', { headers: { Origin: GARDEN }, authorization: null })
    const fields = ['access-control-allow-origin', 'access-control-expose-headers']
    assert.deepEqual(ofCors(plain.headers).toSorted(), fields)
  })

  test('may read the refusal of bytes that are no request, with the time of the service', async (t) => {
    const service = await withService(t, { corsOrigins: GARDEN, headerLimit: 2 * 2 ** 10 })
    const fields = (origin: string) => `Host: a\r\nOrigin: ${origin}\r\n\r\n`
    const lines: readonly (readonly [number, string])[] = [
      [431, `GET /plants?q=${'x'.repeat(2048)} HTTP/1.1`],
      [400, 'GET /plants?q=a b HTTP/1.1'],
      [405, 'BREW /plants HTTP/1.1'],
      [405, 'CONNECT a:80 HTTP/1.1'],
    ]
    for (const [expected, line] of lines) {
      for (const origin of [GARDEN, 'https://evil.example']) {
        const [{ status, headers } = assert.fail(line)] = await raw(service.port, `${line}\r\n${fields(origin)}`)
        assert.equal(status, expected, line)
        assert.equal(headers['access-control-allow-origin'], origin === GARDEN ? GARDEN : undefined, line)
        assert.equal(headers.vary, 'Origin', line)
        assert.ok(Math.abs(Date.parse(headers.date ?? '') - Date.now()) < 600_000, line)
      }
    }
  })
})
