import assert from 'node:assert/strict'
import type { IncomingHttpHeaders } from 'node:http'
import { suite, test } from 'node:test'
import { type Document, resolve } from '../../scripts/contract-source.ts'
import { MAX_NAME, MAX_TAG } from '../../src/domain/plant.ts'
import type { Scope } from '../../src/domain/token.ts'
import { WEBHOOK_SCOPES } from '../../src/domain/webhook.ts'
import { contract } from '../support/conforms.ts'
import { raw } from '../support/raw.ts'
import { errorOf, type Service, withService } from '../support/service.ts'
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
    const expected = ['application/json', undefined, undefined]
    assert.deepEqual([list['accept-post'], list['accept-patch'], one['accept-post']], expected)
    assert.equal(one['accept-patch'], 'application/merge-patch+json, application/json')
  })

  onEmpty('of * is 204 with the methods of the whole service', async (service) => {
    const [answer] = await raw(service.port, 'OPTIONS * HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')
    assert.equal(answer?.status, 204)
    assert.equal(answer.headers['allow'], 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS')
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
    ['/plants/7'],
    ['/plants/x'],
    ['/plants/5', { 'Accept-Encoding': 'gzip' }],
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
    for (const [id, tag] of ['', 'a', '', 'b'].entries()) await service.create({ id, name: 'x', tag })
    await service.create({ id: 5, name: 'x'.repeat(1000), tag: 'c'.repeat(200) })
    for (const [path, headers = {}] of REQUESTS) {
      const [get, head] = await both(service, path, headers)
      assert.equal(head.body, '')
      assert.deepEqual(withoutNames(head.headers), withoutNames(get.headers), path)
      assert.equal(head.status, get.status, path)
      if (get.status !== 304) assert.equal(head.headers['content-length'], String(get.bytes.length), path)
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

/** Sends one request to each operation and ignores the answers. */
async function sendToAll(service: Service): Promise<void> {
  for (const { method, path } of contract.operations) {
    const target = path.replace('{id}', '1').replace('{file}', 'page.js')
    await service.send(method, `${target}?secret=hunter2`)
  }
}

suite('every operation', () => {
  onService('is counted under its own id', async (service) => {
    await sendToAll(service)
    const { body } = await service.send('GET', '/metrics')
    for (const { id } of contract.operations) {
      assert.ok(body.includes(`plantstore_http_requests_total{operation="${id}",status="400"} 1\n`), id)
    }
  })

  onService('is logged under its own id, without the query', { logLevel: 'debug' }, async (service) => {
    await service.send('GET', '/plants?q=hunter2&tag=hunter2')
    await service.send('HEAD', '/plants/1?hunter2hunter2hunter2hunter2hunter2')
    await sendToAll(service)
    const lines = (service.log.match(/[^\n]+/g) ?? []).map(
      (line) => JSON.parse(line) as { operation: string; path: string },
    )
    const logged = new Set(lines.map(({ operation }) => operation))
    for (const { id } of contract.operations) assert.ok(logged.has(id), id)
    for (const { path } of lines) assert.ok(!path.includes('?'), path)
    assert.ok(!service.log.includes('hunter2'), service.log)
  })

  test('that takes a token counts towards its rate, and says how many requests are left', async (t) => {
    const protectedOnes = contract.operations.filter(({ scopes }) => scopes !== undefined)
    const service = await withService(t, { rateLimit: String(protectedOnes.length) })
    for (const { id, method, path } of protectedOnes) {
      const { headers, status } = await service.send(method, path.replace('{id}', '1'), {
        headers: { 'Content-Type': 'application/json' },
      })
      assert.notEqual(status, 429, id)
      assert.match(String(headers['ratelimit-policy']), /^"default";q=\d+;w=1$/, id)
    }
    // So few a second that a busy machine, too, sends more.
    const slow = await withService(t, { rateLimit: '1' })
    const answers = await Promise.all(Array.from({ length: 100 }, () => slow.send('GET', '/plants/1')))
    const refused = answers.filter(({ status }) => status === 429)
    assert.ok(refused.length > 0)
    for (const answer of refused) assert.deepEqual([errorOf(answer), answer.headers['retry-after']], [42901, '1'])
  })
})

interface Parameter {
  readonly name: string
  readonly in: 'path' | 'query' | 'header'
  readonly example?: string | number | boolean | readonly string[]
}
interface Media {
  readonly examples?: Readonly<Record<string, { readonly value: unknown }>>
}

/** A filled-in import of the contract into a program such as Postman sends all of them, with every parameter at once. */
onService('no request made of the examples of an operation is refused as invalid', async (service) => {
  const plant = { id: 1, name: 'Monstera deliciosa', tag: 'houseplant' }
  let answered = 0
  for (const [path, item] of Object.entries(contract.document.paths)) {
    for (const [method, { operationId = '', parameters = [], requestBody }] of Object.entries(item)) {
      await service.create(plant)
      const found = parameters.map((parameter) => resolve<Parameter>(contract.document, parameter as Parameter))
      const at = (place: Parameter['in']) =>
        found
          .filter((parameter) => parameter.in === place)
          .flatMap(({ name, example }) => [example].flat().map((value) => [name, String(value)] as const))
      for (const { name, example } of found) assert.notEqual(example, undefined, `${operationId}: ${name}`)
      const filled = at('path').reduce((sofar, [name, value]) => sofar.replace(`{${name}}`, value), path)
      const [type, media] = (Object.entries(requestBody?.content ?? {}) as [string, Media][]).at(-1) ?? []
      const [example] = Object.values(media?.examples ?? {})
      const body = typeof example?.value === 'string' ? example.value : JSON.stringify(example?.value)
      const answer = await service.send(
        method.toUpperCase(),
        `${filled}?${new URLSearchParams(at('query').map(([...pair]) => pair))}`,
        {
          headers: { ...Object.fromEntries(at('header')), ...(type === undefined ? {} : { 'Content-Type': type }) },
          body: type === undefined ? undefined : (body ?? ''),
        },
      )
      // What they name need not be there, and an action is made once.
      const isGood = answer.status < 400 || [404, 410, 412].includes(answer.status) || errorOf(answer) === 40907
      assert.ok(isGood, `${operationId}: ${answer.status} ${answer.body.slice(0, 300)}`)
      if (answer.status < 400) answered++
      if (path === '/plants' && method === 'get') assert.deepEqual(answer.json, [plant])
      if (path === '/tags') assert.deepEqual(answer.json, [{ tag: 'houseplant', plants: 1 }])
    }
  }
  assert.ok(answered > 20, `${answered} requests succeed`)
})

const ID = { type: 'integer', format: 'int64' }
/** No portable pattern excludes lone surrogates; the description of Name does. */
const TEXT = { type: 'string', pattern: '^[^\\u0000]*$' }
const TAG = { ...TEXT, maxLength: MAX_TAG }
const PLANT = { id: ID, name: { ...TEXT, maxLength: MAX_NAME }, tag: TAG }

/** The rules of validatePlant and validatePatch as schemas, by the operation that takes such a body. */
const ENFORCED: Readonly<Record<string, object>> = {
  createPlant: { type: 'object', required: ['id', 'name'], properties: PLANT },
  replacePlant: { type: 'object', required: ['name'], properties: PLANT },
  updatePlant: { type: 'object', properties: { ...PLANT, tag: { ...TAG, type: ['string', 'null'] } } },
}

/** Keywords that only annotate (JSON Schema 2020-12, Validation, section 9). */
const ANNOTATION = /^(?:title|description|examples?|deprecated|\$comment|x-.*)$/

suite("the contract's schemas of plants", () => {
  test('agree with the rule in src/domain/plant.ts', () => {
    for (const operation of Object.values(contract.document.paths).flatMap((path) => Object.values(path))) {
      const enforced = ENFORCED[operation.operationId ?? '']
      if (enforced === undefined) continue
      for (const [type, { schema }] of Object.entries(operation.requestBody?.content ?? {})) {
        assert.deepEqual(rulesOf(contract.document, schema), enforced, `the body of ${operation.operationId} (${type})`)
      }
    }
  })
})

/** A schema without references and annotations. */
function rulesOf(document: Document, schema: unknown): unknown {
  if (typeof schema !== 'object' || schema === null) return schema
  if (Array.isArray(schema)) return schema.map((part) => rulesOf(document, part))
  const { properties, ...keywords } = resolve<{ properties?: object }>(document, schema)
  const rules = Object.entries(keywords).filter(([keyword]) => !ANNOTATION.test(keyword))
  const all = rules.map(([keyword, value]) => [keyword, rulesOf(document, value)])
  if (properties === undefined) return Object.fromEntries(all)
  const members = Object.entries(properties).map(([name, member]) => [name, rulesOf(document, member)])
  return Object.fromEntries([...all, ['properties', Object.fromEntries(members)]])
}
