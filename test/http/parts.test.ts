import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { makeSecret } from '../../src/domain/token.ts'
import { callTool } from '../support/agents.ts'
import { openStream } from '../support/event-stream.ts'
import { pluck } from '../support/pluck.ts'
import { raw } from '../support/raw.ts'
import { startReceiver } from '../support/receiver.ts'
import { type Answer, assertRefused, emptyService, errorOf, messageOf, type Service } from '../support/service.ts'
import { onEmpty } from '../support/service-tests.ts'
import { as, createdToken } from '../support/tokens.ts'
import { createdWebhook, LOCAL, untilReceived } from '../support/webhooks.ts'

const ALL = ['plants:read', 'plants:write', 'webhooks', 'tokens']
const OUTSIDE = { id: 3, name: 'Rosa', tag: 'bed' }
const PLANTS = [{ id: 1, name: 'Aloe', tag: 'house 1/a' }, { id: 2, name: 'Aloe vera', tag: 'house 1/b' }, OUTSIDE]

/** A service with three plants, and a token for two of them. */
async function open(service: Service): Promise<string> {
  const body = PLANTS.map((plant) => JSON.stringify(plant)).join('\n')
  const { status } = await service.importFile(body)
  assert.equal(status, 200)
  return (await createdToken(service, { name: 'volunteer', scopes: ALL, part: ['house 1/'] })).secret
}

suite('a token with a part', () => {
  onEmpty('reads the plants of the part alone, on every way', { mcp: 'on' }, async (service) => {
    const own = as(await open(service))
    const read = async (path: string) => (await service.send('GET', path, own)).json
    assert.deepEqual(await read('/plants'), PLANTS.slice(0, 2))
    assert.deepEqual(await read('/plants?sort=-name&limit=1'), PLANTS.slice(1, 2))
    assert.deepEqual(await read('/plants?q=rosa'), [])
    assert.deepEqual(await read('/plants?untagged=true'), [])
    assert.deepEqual(await read('/plants?tagPrefix=b'), [])
    assert.deepEqual(await read('/tags'), [
      { tag: 'house 1/a', plants: 1 },
      { tag: 'house 1/b', plants: 1 },
    ])
    const counted = await service.send('GET', '/plants?limit=1&count=true', own)
    assert.equal(counted.headers['plantstore-total'], '2')
    assert.equal(errorOf(await service.send('GET', '/plants/3', own)), 40402)
    const history = (await service.send('GET', '/plants/3/history', own)).json
    assert.deepEqual(history, [])
    const exported = await service.send('GET', '/plants/export?format=csv', own)
    assert.doesNotMatch(exported.body, /Rosa/)
    assert.equal(((await read('/changes')) as object[]).length, 2)
    const [action] = (await read('/actions')) as [{ created: number }]
    assert.equal(action.created, 2)
    const found = await callTool(service, 'search_plants', {}, own)
    assert.doesNotMatch(found.body, /Rosa/)
    assert.match((await callTool(service, 'get_plant', { id: '3' }, own)).body, /40402/)
  })

  onEmpty('writes within the part, and learns nothing of what else has an id', async (service) => {
    const own = as(await open(service))
    const send = async (method: string, path: string, body?: object) => {
      const answer = await service.sendJson(method, path, body, own)
      return answer.status < 300 ? answer.status : [errorOf(answer), /Rosa|\bbed\b/.test(answer.body)]
    }
    assert.equal(await send('POST', '/plants', { id: 9, name: 'Aloe', tag: 'house 1/' }), 200)
    assert.deepEqual(await send('POST', '/plants', { id: 10, name: 'Aloe' }), [40303, false])
    assert.deepEqual(await send('POST', '/plants', { ...OUTSIDE, tag: 'house 1/a' }), [40901, false])
    assert.deepEqual(await send('PUT', '/plants/3', { name: 'Aloe', tag: 'house 1/a' }), [40901, false])
    assert.deepEqual(await send('PUT', '/plants/1', { name: 'Aloe', tag: 'house 2' }), [40303, false])
    assert.deepEqual(await send('PATCH', '/plants/1', { tag: null }), [40303, false])
    assert.deepEqual(await send('PATCH', '/plants/3', { name: 'Aloe' }), [40402, false])
    assert.deepEqual(await send('DELETE', '/plants/3'), [40402, false])
    assert.equal(await send('PATCH', '/plants/1', { tag: 'house 1/c' }), 200)
    const rows = [
      { id: 3, name: 'x', tag: 'house 1/' },
      { id: 11, name: 'x', tag: 'bed' },
      { id: 12, name: 'x', tag: 'house 1/' },
    ]
    for (const query of ['dryRun=true', 'dryRun=false']) {
      const file = rows.map((row) => JSON.stringify(row)).join('\n')
      const answer = await service.importFile(file, { ...own, query: `?${query}` })
      const { added, refusedRows } = answer.json as { added: number; refusedRows: { error: number }[] }
      assert.deepEqual([added, ...refusedRows.map(({ error }) => error)], [1, 40901, 40303])
    }
    assert.deepEqual((await service.send('GET', '/plants/3')).json, OUTSIDE)
  })

  onEmpty('follows the part: what comes in is created, and what leaves is deleted', LOCAL, async (service, t) => {
    const secret = await open(service)
    const receiver = await startReceiver(t)
    const webhook = await createdWebhook(service, { url: receiver.url }, as(secret))
    const stream = await openStream(service, '/changes?after=now', { secret })
    await service.sendJson('PATCH', '/plants/3', { tag: 'house 1/z' })
    await service.sendJson('PATCH', '/plants/1', { name: 'Aloe ferox' })
    await service.sendJson('PATCH', '/plants/1', { name: 'secret', tag: 'elsewhere' })
    await service.sendJson('PATCH', '/plants/1', { name: 'secret 2' })
    await service.sendJson('DELETE', '/plants/2', undefined)
    const types = ['plant.created', 'plant.updated', 'plant.deleted', 'plant.deleted']
    const entries = await stream.until(4)
    assert.deepEqual(pluck(entries, 'type'), types)
    assert.doesNotMatch(JSON.stringify(entries), /secret|elsewhere|\bbed\b/)
    stream.close()
    await untilReceived(receiver, 4)
    const bodies = receiver.received.map(({ body }) => String(body))
    assert.deepEqual(bodies.map((body) => JSON.parse(body).type).sort(), types.toSorted())
    assert.doesNotMatch(bodies.join(), /secret|elsewhere|\bbed\b/)
    const other = as((await createdToken(service, { name: 'other', scopes: ALL, part: ['bed'] })).secret)
    assert.deepEqual((await service.send('GET', '/webhooks', other)).json, [])
    for (const [method, path] of [
      ['GET', ''],
      ['DELETE', ''],
      ['POST', '/test'],
      ['GET', '/deliveries'],
    ] as const) {
      assert.equal(errorOf(await service.send(method, `/webhooks/${webhook.id}${path}`, other)), 40402, path)
    }
  })
})

suite('a service with a public view', () => {
  const ask = (service: Service, path: string, headers = {}): Promise<Answer> =>
    service.send('GET', path, { authorization: null, headers })

  test('answers reads without a token with the plants of the view, and tells nothing of the others', async () => {
    const service = await emptyService({ public: 'house 1/' })
    await open(service)
    const read = async (path: string) => (await ask(service, path)).json
    assert.deepEqual(await read('/plants'), PLANTS.slice(0, 2))
    assert.deepEqual(await read('/plants?q=aloe&sort=-name&limit=1'), PLANTS.slice(1, 2))
    assert.deepEqual(await read('/plants?q=rosa'), [])
    assert.equal((await ask(service, '/plants?limit=1&count=true')).headers['plantstore-total'], '2')
    assert.deepEqual(pluck((await read('/tags')) as { tag: string }[], 'tag'), ['house 1/a', 'house 1/b'])
    const found = await ask(service, '/plants/1')
    assert.deepEqual(found.json, PLANTS[0])
    assert.equal((await ask(service, '/plants/1', { 'If-None-Match': found.headers.etag })).status, 304)
    assert.equal(errorOf(await ask(service, '/plants/3')), 40402)
    const { store, ...own } = (await read('/tokens/self')) as { store: string }
    assert.deepEqual(own, { id: 'public', name: 'public', part: ['house 1/'], scopes: ['plants:read'] })
    assert.match(store, /^[0-9a-f]{12}$/)
  })

  onEmpty('answers with all plants if it is told so', { public: 'all' }, async (service) => {
    await open(service)
    assert.deepEqual((await ask(service, '/plants')).json, PLANTS)
    assert.deepEqual((await ask(service, '/plants/3')).json, OUTSIDE)
    for (const path of ['/plants?sort=-changed', '/plants/deleted'])
      assert.equal(errorOf(await ask(service, path)), 40101)
  })

  onEmpty('refuses a wrong token, and another scheme, as without the view', { public: 'all' }, async (service) => {
    const [revoked, expired] = [await service.issueToken(['plants:read']), await service.issueToken([], new Date(0))]
    await service.store.tokens.revokeToken(revoked.token.id)
    for (const [authorization, number] of [
      [`Bearer ${revoked.secret}`, 40102],
      [`Bearer ${expired.secret}`, 40103],
      [`Bearer ${makeSecret()}`, 40102],
      ['Bearer public', 40102],
      ['Bearer ', 40102],
      ['Basic dXNlcjpwYXNz', 40101],
      ['', 40101],
    ] as const) {
      assertRefused(await service.send('GET', '/plants', { authorization }), number)
    }
    assert.equal(errorOf(await service.create(OUTSIDE, { authorization: null })), 40101)
  })

  test('lets no shared cache keep an answer, and no search engine list one unless it is told so', async () => {
    for (const [index, robots] of Object.entries({ off: 'noindex', on: undefined })) {
      const service = await emptyService({ public: 'all', publicIndex: index })
      await open(service)
      for (const path of ['/plants', '/plants/1', '/tags', '/tokens/self']) {
        const { headers } = await ask(service, path)
        assert.equal(headers['cache-control'], 'private, no-cache', path)
        assert.equal(headers.vary, 'Accept, Accept-Encoding, Authorization', path)
        assert.equal(headers['x-robots-tag'], robots, path)
      }
      const page = await ask(service, '/', { Accept: 'text/html' })
      assert.deepEqual([page.status, page.headers['x-robots-tag']], [200, robots])
      const [refused] = await raw(service.port, 'no HTTP\r\n\r\n')
      assert.deepEqual([refused?.status, refused?.headers['x-robots-tag']], [400, robots])
    }
    const closed = await emptyService()
    assert.equal((await closed.send('GET', '/plants')).headers['x-robots-tag'], undefined)
  })

  test('bounds the requests of each address, as its trusted proxies name it, and no request with a token', async () => {
    const service = await emptyService({
      public: 'all',
      publicLimit: 2,
      trustedProxies: '127.0.0.1',
      rateLimit: '1000',
    })
    const from = (address: string) => ask(service, '/plants', { 'X-Forwarded-For': address })
    for (const expected of [200, 200, 429, 429]) assert.equal((await from('2001:db8:0:1::1')).status, expected)
    const refused = await from('2001:db8:0:1:ffff::9')
    assert.equal(errorOf(refused), 42901)
    const seconds = Number(refused.headers['retry-after'])
    assert.ok(seconds >= 1 && seconds <= 60)
    assert.match(messageOf(refused), new RegExp(`without a token .* from this address; wait ${seconds} seconds$`))
    const other = await from('203.0.113.10')
    assert.deepEqual([other.status, other.headers['ratelimit']], [200, undefined])
    const named = await service.send('GET', '/plants', { headers: { 'X-Forwarded-For': '2001:db8:0:1::1' } })
    assert.equal(named.status, 200)
  })
})
