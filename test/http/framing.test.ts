import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { suite, test } from 'node:test'
import { assertConforms, type Seen } from '../support/conforms.ts'
import { pluck } from '../support/pluck.ts'
import { answersIn, RawConnection, raw, rawStatuses } from '../support/raw.ts'
import { emptyService, SECRET, type Service } from '../support/service.ts'
import { onEmpty } from '../support/service-tests.ts'

/** A request on a persistent connection. */
function request(method: string, target: string, fields: readonly string[] = [], body?: string): string {
  const length = body === undefined ? [] : [`Content-Length: ${Buffer.byteLength(body)}`]
  const head = [`${method} ${target} HTTP/1.1`, 'Host: a', `Authorization: Bearer ${SECRET}`, ...fields, ...length]
  return `${head.join('\r\n')}\r\n\r\n${body ?? ''}`
}

const LAST = request('GET', '/health/live', ['Connection: close'])

async function withPlant(): Promise<{ service: Service; etag: string }> {
  const service = await emptyService()
  const { headers } = await service.create({ id: 1, name: 'Monstera' })
  return { service, etag: headers.etag ?? '' }
}

const bodyless = ({ headers, body }: Seen): unknown[] => [body, headers['content-length'], headers['transfer-encoding']]

suite('after an answer without a body the connection takes the next request:', () => {
  test('304, 204 and an answer to HEAD, one after the other', async () => {
    const { service, etag } = await withPlant()
    const requests = [
      request('GET', '/plants/1', [`If-None-Match: ${etag}`]),
      request('HEAD', '/plants/1', [`If-None-Match: ${etag}`]),
      request('OPTIONS', '/plants/1'),
      request('GET', '/plants/1'),
      request('DELETE', '/plants/1'),
      request('DELETE', '/plants/1'),
      LAST,
    ]
    const answers = await raw(service.port, requests.join(''))
    assert.deepEqual(pluck(answers, 'status'), [304, 304, 204, 200, 204, 404, 200])
    for (const i of [0, 1, 2, 4]) {
      assert.deepEqual(bodyless(answers[i] ?? assert.fail()), ['', undefined, undefined])
      assert.equal(answers[i]?.headers['content-type'], undefined)
    }
    for (const i of [0, 3]) assertConforms('getPlant', answers[i] ?? assert.fail())
    for (const i of [4, 5]) assertConforms('deletePlant', answers[i] ?? assert.fail())
  })

  test('an answer to HEAD', async () => {
    const { service } = await withPlant()
    for (const target of ['/plants/1', '/plants', '/tags', '/plants/2', '/plants/x', '/nowhere']) {
      const answers = await raw(service.port, request('HEAD', target) + LAST, ['HEAD', 'GET'])
      assert.deepEqual(pluck(answers, 'body'), ['', '{"status":"live"}'], target)
    }
  })
})

suite('an unexpected body', () => {
  const BODY = '{"name":"smuggled"}GET /nowhere HTTP/1.1\r\nHost: a\r\n\r\n'

  test('of GET, HEAD, OPTIONS and DELETE is skipped, and never read as a request', async () => {
    const { service } = await withPlant()
    const chunked = `${BODY.length.toString(16)}\r\n${BODY}\r\n0\r\n\r\n`
    const cases: readonly [string, number][] = [
      ['GET', 200],
      ['OPTIONS', 204],
      ['DELETE', 204],
      ['DELETE', 404],
      ['GET', 404],
    ]
    for (const [method, status] of cases) {
      const whole = request(method, '/plants/1', ['Content-Type: application/json'], BODY)
      assert.deepEqual(await rawStatuses(service.port, whole + LAST), [status, 200], method)
    }
    await service.create({ id: 1, name: 'Monstera' })
    for (const [method, status] of cases) {
      const whole = request(method, '/plants/1', ['Transfer-Encoding: chunked']) + chunked
      assert.deepEqual(await rawStatuses(service.port, whole + LAST), [status, 200], `${method}, in chunks`)
    }
    const answers = await raw(service.port, request('HEAD', '/plants', [], BODY) + LAST, ['HEAD', 'GET'])
    assert.deepEqual(pluck(answers, 'body'), ['', '{"status":"live"}'])
  })

  test('of a PUT or PATCH that is refused by its head is skipped', async () => {
    const { service } = await withPlant()
    const json = ['Content-Type: application/json']
    const patch = ['Content-Type: application/merge-patch+json']
    const cases: readonly [string, number][] = [
      [request('PUT', '/plants/x', json, BODY), 400],
      [request('PUT', '/plants/1?x', json, BODY), 400],
      [request('PUT', '/plants/1', patch, BODY), 415],
      [request('PATCH', '/plants/1', ['Content-Type: text/plain'], BODY), 415],
      [request('PATCH', '/plants/1', [...patch, 'If-Match: x'], BODY), 400],
      [request('PUT', '/plants/1', json, BODY).replace(SECRET, 'wrong'), 401],
      [request('PUT', '/plants', json, BODY), 405],
      [request('PUT', '/nowhere', json, BODY), 404],
    ]
    for (const [bytes, status] of cases) {
      assert.deepEqual(await rawStatuses(service.port, bytes + LAST), [status, 200], bytes)
    }
    assert.equal((await service.send('GET', '/plants/1')).body, '{"id":1,"name":"Monstera"}')
  })

  test('of a write whose precondition fails is read to its end', async () => {
    const { service } = await withPlant()
    const body = '{"name":"late"}'
    const late = ['If-Match: "late"', 'Content-Type: application/json']
    const answers = await raw(service.port, request('PUT', '/plants/1', late, body) + LAST)
    assert.deepEqual(pluck(answers, 'status'), [412, 200])
    assertConforms('replacePlant', answers[0] ?? assert.fail())
  })
})

suite('a request that announces no body', () => {
  const json = ['Content-Type: application/json']
  const csv = ['Content-Type: text/csv']
  const writes: readonly (readonly [string, string, readonly string[]])[] = [
    ['POST', '/plants', json],
    ['PUT', '/plants/1', json],
    ['PATCH', '/plants/1', ['Content-Type: application/merge-patch+json']],
    ['POST', '/plants/import', csv],
    ['POST', '/plants/import', ['Content-Type: application/x-ndjson']],
    ['POST', '/ids', json],
    ['POST', '/tokens', json],
  ]

  test('gets the same answer as one with an empty body, and the connection takes the next request', async () => {
    const { service } = await withPlant()
    for (const [method, target, fields] of writes) {
      const [absent, next] = await raw(service.port, request(method, target, fields) + LAST)
      const [empty] = await raw(service.port, request(method, target, [...fields, 'Connection: close'], ''))
      const shown = ({ status, body }: Seen) => `${method} ${target}: ${status} ${body}`
      assert.equal(shown(absent ?? assert.fail()), shown(empty ?? assert.fail()))
      assert.equal(next?.status, 200, `${method} ${target}`)
    }
    assert.equal((await service.plants()).length, 1)
  })

  onEmpty('and that is refused for good closes the connection without waiting for a body', async (service) => {
    const responses: ServerResponse[] = []
    service.server.on('request', (_request: unknown, response: ServerResponse) => responses.push(response))
    for (const method of ['GET', 'POST', 'DELETE']) {
      const connection = new RawConnection(service.port, request('GET', '/health/live'))
      await connection.until('"live"')
      connection.write(`${method} /plants HTTP/1.1\r\nHost: a b\r\n\r\n`)
      const answers = answersIn(await connection.untilClosed())
      assert.deepEqual(pluck(answers, 'status'), [200, 400])
    }
    const writableFinisheds = responses.map(({ writableFinished }) => writableFinished)
    const expected = Array.from({ length: 6 }, () => true)
    assert.deepEqual(writableFinisheds, expected)
  })

  onEmpty('gets no 100 that it expects, but its answer, and a closed connection', async (service) => {
    const expecting = request('POST', '/plants', [...json, 'Expect: 100-continue'])
    assert.deepEqual(await rawStatuses(service.port, expecting + LAST), [400])
  })
})
