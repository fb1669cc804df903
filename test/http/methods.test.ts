import assert from 'node:assert/strict'
import type { IncomingHttpHeaders } from 'node:http'
import { suite, test } from 'node:test'
import type { Scope } from '../../src/domain/token.ts'
import { WEBHOOK_SCOPES } from '../../src/domain/webhook.ts'
import { contract } from '../support/conforms.ts'
import { raw } from '../support/raw.ts'
import { errorOf, type Service } from '../support/service.ts'
import { onEmpty, onService } from '../support/service-tests.ts'

const FREE = { authorization: null }
const ALLOW: Readonly<Record<string, string>> = {
  '/plants': 'GET, HEAD, POST, OPTIONS',
  '/plants/1': 'GET, HEAD, PUT, PATCH, DELETE, OPTIONS',
  '/plants/nonsense': 'GET, HEAD, PUT, PATCH, DELETE, OPTIONS',
  '/plants/import': 'POST, OPTIONS',
  '/plants/imp%6frt': 'POST, OPTIONS',
  '/%70lants': 'GET, HEAD, POST, OPTIONS',
  '/': 'GET, HEAD, OPTIONS',
  '/docs': 'GET, HEAD, OPTIONS',
  '/docs/': 'GET, HEAD, OPTIONS',
  '/plants/export': 'GET, HEAD, OPTIONS',
  '/plants/deleted': 'GET, HEAD, OPTIONS',
  '/plants/1/history': 'GET, HEAD, OPTIONS',
  '/changes': 'GET, HEAD, OPTIONS',
  '/actions': 'GET, HEAD, OPTIONS',
  '/actions/a-1': 'GET, HEAD, OPTIONS',
  '/actions/a-1/undo': 'POST, OPTIONS',
  '/tags': 'GET, HEAD, OPTIONS',
  '/tokens': 'GET, HEAD, POST, OPTIONS',
  '/ids': 'GET, HEAD, POST, OPTIONS',
  '/tokens/self': 'GET, HEAD, OPTIONS',
  '/tokens/tok_4bXm09TzQ1r': 'DELETE, OPTIONS',
  '/health/live': 'GET, HEAD, OPTIONS',
  '/docs/page.js': 'GET, HEAD, OPTIONS',
  '/page/page.js': 'GET, HEAD, OPTIONS',
  '/.well-known/oauth-protected-resource': 'GET, HEAD, OPTIONS',
}

suite('OPTIONS', () => {
  onEmpty('is 204 with the methods of the path, and needs no token', async (service) => {
    for (const [path, allow] of Object.entries(ALLOW)) {
      for (const target of [path, `${path}?x=1`]) {
        const { status, headers, body } = await service.send('OPTIONS', target, FREE)
        assert.deepEqual([status, headers.allow, body], [204, allow, ''], target)
        assert.deepEqual([headers['content-length'], headers['content-type']], [undefined, undefined])
      }
    }
  })

  onEmpty('names the media types of POST and PATCH', async (service) => {
    const { headers: list } = await service.send('OPTIONS', '/plants', FREE)
    const { headers: one } = await service.send('OPTIONS', '/plants/1', FREE)
    assert.deepEqual([list['accept-post'], list['accept-patch']], ['application/json', undefined])
    assert.deepEqual(
      [one['accept-post'], one['accept-patch']],
      [undefined, 'application/merge-patch+json, application/json'],
    )
  })

  onEmpty('of * is 204 with the methods of the whole service', async (service) => {
    const [answer] = await raw(service.port, 'OPTIONS * HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')
    assert.equal(answer?.status, 204)
    assert.equal(answer.headers['allow'], 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS')
  })

  onEmpty('is 40401 on an unknown path', async (service) => {
    for (const path of ['//', '/plants/', '/plants/1/x', '/nowhere']) {
      const answer = await service.send('OPTIONS', path, FREE)
      assert.deepEqual([answer.status, errorOf(answer)], [404, 40401], path)
    }
  })
})

suite('a method that a path does not have', () => {
  onEmpty('is 40501 with the methods of the path in Allow, and needs no token', async (service) => {
    for (const [path, allow] of Object.entries(ALLOW)) {
      for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'TRACE', 'QUERY']) {
        if (allow.split(', ').includes(method)) continue
        const answer = await service.send(method, path, FREE)
        assert.deepEqual([answer.status, errorOf(answer), answer.headers.allow], [405, 40501, allow], path)
      }
    }
  })

  onEmpty('is refused for HEAD in the same way, without a body', async (service) => {
    const { status, headers, body } = await service.send('HEAD', '/plants/import', FREE)
    assert.deepEqual([status, headers.allow, body], [405, 'POST, OPTIONS', ''])
  })

  onEmpty('cannot be simulated by a header or a parameter', async (service) => {
    await service.create({ id: 1, name: 'x' })
    const headers = { 'X-HTTP-Method-Override': 'DELETE', 'X-HTTP-Method': 'DELETE', 'X-Method-Override': 'DELETE' }
    assert.equal((await service.send('GET', '/plants/1', { headers })).status, 200)
    assert.equal(errorOf(await service.send('GET', '/plants/1?_method=DELETE')), 40003)
    assert.equal((await service.plants()).length, 1)
  })
})

suite('HEAD', () => {
  const REQUESTS: readonly [string, Record<string, string>?][] = [
    ['/plants/1'],
    ['/plants/2'],
    ['/plants/x'],
    ['/plants/1', { 'If-None-Match': '*' }],
    ['/plants/1', { 'If-Match': '"x"' }],
    ['/plants'],
    ['/plants?limit=1&sort=-name&q=x'],
    ['/plants?limit=0'],
    ['/plants?cursor=x'],
    ['/tags'],
    ['/tags?limit=1'],
    ['/nowhere'],
  ]

  onEmpty('has the answer of GET with every header and without the body', async (service) => {
    for (const tag of ['a', 'b']) await service.create({ id: tag === 'a' ? 1 : 3, name: 'x', tag })
    for (const [path, headers = {}] of REQUESTS) {
      const [get, head] = await both(service, path, headers)
      assert.equal(head.body, '')
      assert.deepEqual(withoutNames(head.headers), withoutNames(get.headers), path)
      assert.equal(head.status, get.status, path)
      if (get.status !== 304) assert.equal(head.headers['content-length'], String(Buffer.byteLength(get.body)), path)
    }
  })

  onService('exists wherever GET does, needs the same scope, and counts as the same operation', async (service) => {
    const { secret } = await service.issueToken(['plants:write'])
    for (const { id, method, path, scopes } of contract.operations) {
      if (method !== 'GET') continue
      const target = path.replace('{id}', '1').replace('{file}', 'page.js')
      const answer = await service.send('HEAD', target, { authorization: `Bearer ${secret}` })
      const isRefused = scopes !== undefined && scopes.length > 0
      const open = { getStart: 303, getResourceMetadata: 404 }[id] ?? 200
      assert.equal(answer.status, isRefused ? 403 : open, path)
    }
    await service.send('HEAD', '/plants')
    const { body } = await service.send('GET', '/metrics')
    assert.ok(body.includes('plantstore_http_requests_total{operation="listPlants",status="200"} 1'), body)
  })
})

suite('scopes', () => {
  test('are plants:read for reads, plants:write for writes, those of tokens and webhooks, none for the own token', () => {
    const needed = (method: string, path: string): readonly Scope[] => {
      if (path === '/tokens/self') return []
      if (path.startsWith('/tokens')) return ['tokens']
      if (path.startsWith('/webhooks')) return CHANGES.includes(`${method} ${path}`) ? WEBHOOK_SCOPES : ['webhooks']
      return [method === 'GET' ? 'plants:read' : 'plants:write']
    }
    for (const { id, method, path, scopes } of contract.operations) {
      if (scopes !== undefined) assert.deepEqual(scopes, needed(method, path), id)
    }
  })
})

/** The operations that create or change a webhook. */
const CHANGES = [
  'POST /webhooks',
  'PATCH /webhooks/{id}',
  'POST /webhooks/{id}/secret',
  'POST /webhooks/{id}/redeliver',
]

/** Leaves out headers that differ in each answer. */
const withoutNames = ({ date: _, 'x-request-id': __, ...headers }: IncomingHttpHeaders) => headers

const both = async (service: Service, path: string, headers: Record<string, string>) =>
  [await service.send('GET', path, { headers }), await service.send('HEAD', path, { headers })] as const
