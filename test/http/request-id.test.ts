import assert from 'node:assert/strict'
import { suite } from 'node:test'
import { raw } from '../support/raw.ts'
import type { Service } from '../support/service.ts'
import { onEmpty, onService } from '../support/service-tests.ts'

const linesWith = (service: Service, id: unknown): string[] =>
  service.log.split('\n').filter((line) => line.includes(`"req":${JSON.stringify(id)}`))

suite('X-Request-Id', () => {
  onService('is in every answer and in the log, anew for each request', { logLevel: 'debug' }, async (service) => {
    const answers = [
      await service.create({ id: 1, name: 'x' }),
      await service.create('nonsense'),
      await service.send('GET', '/plants/1'),
      await service.send('GET', '/plants/export'),
      await service.send('DELETE', '/plants/1'),
      await service.send('GET', '/nowhere'),
      await service.send('TRACE', '/plants'),
      await service.send('OPTIONS', '/plants'),
      await service.send('GET', '/plants', { authorization: null }),
      await service.send('GET', '/%ff'),
      ...(await raw(service.port, 'nonsense\r\n\r\n')),
      ...(await raw(service.port, 'CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n')),
      ...(await raw(service.port, 'GET / HTTP/1.1\r\nConnection: close\r\n\r\n')),
    ]
    const ids = answers.map(({ headers }) => headers['x-request-id'])
    assert.equal(new Set(ids).size, answers.length, String(ids))
    for (const id of ids) assert.equal(linesWith(service, id).length, 1, String(id))
    for (const { headers } of answers) assert.equal(headers['x-content-type-options'], 'nosniff')
  })

  onEmpty('is that of the request if it is well formed', async (service) => {
    for (const id of [
      'a',
      '7b0c2f6e-9d3e-4f0e-8a43-2f1f5c1f0b6e',
      'Root=1-67891233-abc',
      'a.b~c:d@e+f=g',
      'x'.repeat(64),
    ]) {
      const { headers } = await service.send('GET', '/nowhere', { headers: { 'X-Request-Id': id } })
      assert.equal(headers['x-request-id'], id)
      assert.equal(linesWith(service, id).length, 1, id)
    }
  })

  onEmpty('is a new id if that of the request is malformed', async (service) => {
    for (const id of [
      '',
      'x'.repeat(65),
      'a b',
      'a"b',
      'a,b',
      '<b>',
      'a\\b',
      '\xe4',
      "a'b",
      'a;b',
      '{}',
      '\x1b[2J'.slice(1),
    ]) {
      const { headers } = await service.send('GET', '/nowhere', { headers: { 'X-Request-Id': id } })
      assert.match(String(headers['x-request-id']), /^[0-9a-f]{8}-[0-9a-z]+$/, id)
    }
  })
})

onEmpty('a refusal tells caches not to store it', async (service) => {
  const answers = [
    await service.send('GET', '/nowhere'),
    await service.send('GET', '/plants/1'),
    await service.send('GET', '/plants', { authorization: null }),
    ...(await raw(service.port, 'nonsense\r\n\r\n')),
  ]
  for (const { headers, body } of answers) assert.equal(headers['cache-control'], 'no-store', body)
})
