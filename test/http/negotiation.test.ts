import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { preferredCoding, preferredType } from '../../src/http/request/head.ts'
import { contract } from '../support/conforms.ts'
import { errorOf, messageOf } from '../support/service.ts'
import { onEmpty, onService } from '../support/service-tests.ts'

const FREE = { authorization: null }
const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'

suite('Accept', () => {
  const OFFERED = ['application/x-ndjson', 'text/csv'] as const

  test('selects the type with the highest weight by its most specific range', () => {
    const cases: readonly [string | undefined, string | undefined][] = [
      [undefined, 'application/x-ndjson'],
      ['*/*', 'application/x-ndjson'],
      ['text/csv', 'text/csv'],
      ['Text/CSV', 'text/csv'],
      ['text/*', 'text/csv'],
      ['text/csv;charset=utf-8;header=present', 'text/csv'],
      ['text/csv, application/x-ndjson', 'application/x-ndjson'],
      ['text/csv, application/x-ndjson;q=0.9', 'text/csv'],
      ['*/*;q=0.5, text/csv;q=0.6', 'text/csv'],
      ['*/*, application/x-ndjson;q=0', 'text/csv'],
      ['text/*;q=0, text/csv', 'text/csv'],
      ['text/csv;q=0.2, text/csv;header=present, application/x-ndjson;q=0.5', 'text/csv'],
      ['text/csv;header=present, text/csv;q=0.2, application/x-ndjson;q=0.5', 'text/csv'],
      ['text/csv;q=0', undefined],
      ['text/csv;q=0.000, application/json', undefined],
      ['application/json', undefined],
      ['image/*', undefined],
      ['a/b;x="text/csv,*/*"', undefined],
    ]
    for (const [accept, type] of cases) assert.equal(preferredType(accept, OFFERED), type, String(accept))
  })

  test('counts as absent if it is empty or malformed', () => {
    const malformed = ['', ' , ', 'text', 'text/csv;q=2', 'text/html, image/gif, *; q=.2, */*; q=.2', 'text/csv;q="1']
    for (const accept of malformed) {
      assert.equal(preferredType(accept, OFFERED), 'application/x-ndjson', accept)
    }
  })

  onEmpty('is 40601 if it excludes every type of the answer, and the operation does not run', async (service) => {
    for (const { id, method, path, produces } of contract.operations) {
      if (produces.length === 0) continue
      const example = path.startsWith('/tokens')
        ? 'tok_4bXm09TzQ1r'
        : path.startsWith('/webhooks')
          ? 'whk_4bXm09TzQ1r'
          : '1'
      const target = path.replace('{id}', example).replace('{file}', 'page.js')
      const headers = { Accept: 'image/png, text/html;q=0, text/*;level=1;q=0', 'Content-Type': 'application/json' }
      const body = method === 'GET' ? undefined : '{"id":1,"name":"x"}'
      const answer = await service.send(method, target, { headers, body })
      assert.equal(errorOf(answer), 40601, id)
      for (const type of path.endsWith('/{file}') ? ['text/javascript'] : produces) {
        assert.ok(messageOf(answer).includes(type), messageOf(answer))
      }
    }
    assert.deepEqual(await service.plants(), [])
  })

  onEmpty('does not affect a refusal, or an answer without a body', async (service) => {
    const headers = { Accept: 'image/png' }
    assert.equal(errorOf(await service.send('GET', '/nowhere', { headers })), 40401)
    assert.equal(errorOf(await service.send('DELETE', '/plants/1', { headers })), 40402)
    await service.create({ id: 1, name: 'x' })
    assert.equal((await service.send('DELETE', '/plants/1', { headers })).status, 204)
    assert.equal(errorOf(await service.send('GET', '/plants', { headers, authorization: null })), 40101)
  })

  onEmpty('selects the format of an export without the parameter', async (service) => {
    const cases: readonly [string, string, string | number][] = [
      ['', '*/*', 'application/x-ndjson'],
      ['', 'text/csv', 'text/csv; charset=utf-8; header=present'],
      ['?format=ndjson', '*/*', 'application/x-ndjson'],
      ['?format=csv', 'text/csv;q=0.1, application/x-ndjson', 'text/csv; charset=utf-8; header=present'],
      ['?format=ndjson', 'text/csv', 'application/x-ndjson'],
      ['?format=csv', 'image/png', 'text/csv; charset=utf-8; header=present'],
      ['', 'application/json', 'application/x-ndjson'],
      ['', 'application/json, text/csv;q=0.9', 'application/x-ndjson'],
      ['', 'application/json;q=0.9, text/csv', 'text/csv; charset=utf-8; header=present'],
      ['', 'text/html', 40601],
    ]
    for (const [query, Accept, expected] of cases) {
      const answer = await service.send('GET', `/plants/export${query}`, { headers: { Accept } })
      assert.equal(typeof expected === 'number' ? errorOf(answer) : answer.headers['content-type'], expected, Accept)
      assert.equal(answer.headers.vary, 'Accept, Accept-Encoding')
    }
  })
})

suite('GET /', () => {
  onEmpty('answers a browser with the page, and redirects a program to the contract', async (service) => {
    for (const Accept of ['*/*', 'application/json', 'image/png']) {
      const { status, headers, body } = await service.send('GET', '/', { ...FREE, headers: { Accept } })
      assert.deepEqual([status, headers.location, body], [303, '/openapi.json', ''], Accept)
      assert.equal(headers.vary, 'Accept, Accept-Encoding')
    }
    assert.equal((await service.send('GET', '/openapi.json', FREE)).status, 200)
    const page = await service.send('GET', '/', { ...FREE, headers: { Accept: BROWSER } })
    assert.deepEqual([page.status, page.headers['content-type']], [200, 'text/html; charset=utf-8'])
    assert.equal(errorOf(await service.send('GET', '/?x=1', FREE)), 40003)
  })

  onService('redirects each client to the contract if the pages are switched off', { page: 'off' }, async (service) => {
    const { status, headers } = await service.send('GET', '/', { ...FREE, headers: { Accept: BROWSER } })
    assert.deepEqual([status, headers.location], [303, '/openapi.json'])
    for (const path of ['/page/page.js', '/docs', '/docs/page.js']) {
      assert.equal(errorOf(await service.send('GET', path, FREE)), 40401, path)
    }
    assert.equal((await service.send('GET', '/openapi.json', FREE)).status, 200)
  })
})

test('Accept-Encoding selects the supported coding with the highest weight', () => {
  const cases: readonly [string | undefined, string | undefined][] = [
    [undefined, undefined],
    ['', undefined],
    ['identity', undefined],
    ['deflate', undefined],
    ['gzip', 'gzip'],
    ['GZIP', 'gzip'],
    ['gzip, deflate, br, zstd', 'zstd'],
    ['gzip, br', 'br'],
    ['gzip;q=1.0, br;q=0.5', 'gzip'],
    ['zstd;q=0, br;q=0, *', 'gzip'],
    ['*', 'zstd'],
    ['*;q=0', undefined],
    ['gzip;q=0', undefined],
    ['gzip;q=0.2, identity', undefined],
    ['gzip;q=0.2, identity;q=0.1', 'gzip'],
    ['identity;q=0', undefined],
    ['gzip;q=x', undefined],
    ['gzip;;q=1, br', 'br'],
    [' gzip ; q=0.5 ', 'gzip'],
  ]
  for (const [field, coding] of cases) assert.equal(preferredCoding(field), coding, String(field))
})
