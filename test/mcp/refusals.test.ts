import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import {
  checkResourceAllowed,
  discoverOAuthProtectedResourceMetadata,
  extractWWWAuthenticateParams,
  ProtocolError,
} from '@modelcontextprotocol/client'
import {
  agentOf,
  callMessage,
  callTool,
  MESSAGE_HEADERS,
  META,
  MODES,
  postMessage,
  refusedAs,
} from '../support/agents.ts'
import { standingTime } from '../support/clock.ts'
import { Issuer } from '../support/issuer.ts'
import { pluck } from '../support/pluck.ts'
import { RawConnection } from '../support/raw.ts'
import { type Answer, emptyService, errorOf, messageOf, SECRET } from '../support/service.ts'
import { onEmpty } from '../support/service-tests.ts'
import { words } from '../support/words.ts'

const NAMED = { 'Mcp-Method': 'tools/call', 'Mcp-Name': 'list_tags' }

const codeOf = ({ json }: Answer): number => (json as { error: { code: number } }).error.code

suite('/mcp', () => {
  onEmpty('takes POST alone', { mcp: 'on' }, async (service) => {
    for (const method of ['GET', 'DELETE', 'PUT']) {
      const answer = await service.send(method, '/mcp')
      assert.deepEqual([errorOf(answer), answer.headers.allow], [40501, 'POST, OPTIONS'], method)
    }
  })

  test('leads the official client to the identity provider (RFC 9728)', async (t) => {
    const issuer = await Issuer.start(t)
    const service = await emptyService({ ...issuer.settings, mcp: 'on' })
    const url = `http://127.0.0.1:${service.port}/mcp`
    const refused = await fetch(url, { method: 'POST', headers: MESSAGE_HEADERS, body: '{}' })
    const { resourceMetadataUrl } = extractWWWAuthenticateParams(refused)
    assert.ok(resourceMetadataUrl !== undefined)
    const metadata = await discoverOAuthProtectedResourceMetadata(url, { resourceMetadataUrl })
    assert.deepEqual(metadata.authorization_servers, [issuer.settings.oidcIssuer])
    assert.ok(checkResourceAllowed({ requestedResource: url, configuredResource: metadata.resource }))
  })

  test('refuses pages of other origins, as DNS rebinding would send them', async () => {
    const service = await emptyService({ mcp: 'on', corsOrigins: 'https://garden.example' })
    const from = (Origin: string) => postMessage(service, callMessage('list_tags'), { headers: { Origin, ...NAMED } })
    for (const origin of ['http://evil.example', `http://evil.example:${service.port}`, 'null', 'http://localhost:1']) {
      assert.equal(refusedAs(await from(origin)), 40303, origin)
    }
    for (const origin of ['https://garden.example', `http://127.0.0.1:${service.port}`]) {
      assert.equal((await from(origin)).status, 200, origin)
    }
  })

  test('takes pages of its own origin, also where its address has a path', async () => {
    const service = await emptyService({ mcp: 'on', publicUrl: 'https://plants.example/store' })
    const headers = { Origin: 'https://plants.example', ...NAMED }
    assert.equal((await postMessage(service, callMessage('list_tags'), { headers })).status, 200)
  })
})

suite('a message', () => {
  test('that is no JSON, too deep, too large, a batch or of another type gets the refusal of any body, as an error of JSON-RPC', async () => {
    const service = await emptyService({ mcp: 'on' })
    const bodies: readonly (readonly [unknown, number])[] = [
      ['', 40001],
      ['{', 40001],
      [`${'['.repeat(40)}${']'.repeat(40)}`, 40001],
      ['{"jsonrpc":"2.0","jsonrpc":"2.0"}', 40002],
      [[callMessage('list_tags')], 40002],
      ['7', 40002],
      [callMessage('create_plant', { id: '1', name: 'x'.repeat(17_000) }), 41301],
    ]
    for (const [body, number] of bodies) assert.equal(refusedAs(await postMessage(service, body)), number)
    const typed = (headers: Record<string, string>) => postMessage(service, callMessage('list_tags'), { headers })
    assert.equal(refusedAs(await typed({ 'Content-Type': 'text/plain' })), 41501)
    assert.equal(refusedAs(await typed({ 'Content-Type': 'application/json; charset=latin1' })), 41501)
    assert.equal(refusedAs(await typed({ Accept: 'text/html' })), 40601)
    assert.deepEqual(await service.plants(), [])
  })

  onEmpty('is bounded before anything parses it, also if it comes without an end', { mcp: 'on' }, async (service) => {
    const connection = new RawConnection(service.port)
    const headers = Object.entries({ ...MESSAGE_HEADERS, Authorization: `Bearer ${SECRET}` })
    const fields = headers.map((one) => one.join(': '))
    const head = ['POST /mcp HTTP/1.1', 'Host: a', 'Transfer-Encoding: chunked', ...fields]
    connection.write(`${head.join('\r\n')}\r\n\r\n4001\r\n${'['.repeat(0x4001)}\r\n`)
    const answer = String(await connection.untilClosed())
    assert.match(answer, /^HTTP\/1\.1 413 .*\{"jsonrpc":"2\.0","id":null,"error":\{"code":-32000,.*"error":41301,/s)
  })

  onEmpty('gets its id back as its client wrote it, which finds the answer by it', { mcp: 'on' }, async (service) => {
    const legacy = { 'Content-Type': 'application/json', Accept: '*/*' }
    const call = JSON.stringify({ ...callMessage('list_tags'), id: 'ID' })
    for (const id of ['"\\u00e9$&"', ...words`9007199254740993 -9007199254740993 1.0 7 1e3 "9007199254740993"`]) {
      const message = call.replace('"ID"', () => id)
      const answers = [
        await postMessage(service, message, { headers: NAMED }),
        await postMessage(service, message),
        await service.send('POST', '/mcp', { headers: legacy, body: `{"jsonrpc":"2.0","id":${id},"method":"ping"}` }),
        await postMessage(service, message, { headers: { ...NAMED, Origin: 'http://x.example' } }),
      ]
      for (const { body } of answers) {
        const [, found = ''] = /"id":("[^"]*"|[^,}]*)/.exec(body) ?? []
        assert.ok(found === id || (JSON.parse(found) === JSON.parse(id) && id.startsWith('"')), `${id}: ${body}`)
      }
    }
  })

  onEmpty('is answered by JSON, whatever of it its client accepts', { mcp: 'on' }, async (service) => {
    const ping = { jsonrpc: '2.0', id: 1, method: 'ping' }
    for (const Accept of ['*/*', 'application/json', 'application/*', 'application/json, text/event-stream']) {
      const headers = { 'Content-Type': 'application/json', Accept }
      const old = await service.send('POST', '/mcp', { headers, body: JSON.stringify(ping) })
      const named = { ...headers, 'MCP-Protocol-Version': '2026-07-28', ...NAMED }
      const body = JSON.stringify(callMessage('list_tags'))
      for (const answer of [old, await service.send('POST', '/mcp', { headers: named, body })]) {
        assert.deepEqual([answer.status, answer.headers['content-type']], [200, 'application/json'], Accept)
        assert.equal((answer.json as { id: unknown }).id, 1)
      }
    }
  })

  test('may be sent by the pages that the operator allows, with the headers of the protocol', async () => {
    const service = await emptyService({ mcp: 'on', corsOrigins: 'https://garden.example' })
    const asked = {
      Origin: 'https://garden.example',
      'Access-Control-Request-Method': 'POST',
      'Access-Control-Request-Headers':
        'authorization,content-type,mcp-protocol-version,mcp-session-id,mcp-method,mcp-name',
    }
    const { status, headers } = await service.send('OPTIONS', '/mcp', { headers: asked, authorization: null })
    assert.equal(status, 204)
    const allowed = String(headers['access-control-allow-headers']).toLowerCase().split(', ')
    for (const name of asked['Access-Control-Request-Headers'].split(',')) assert.ok(allowed.includes(name), name)
  })

  onEmpty('that is no message of the protocol gets the error of the protocol', { mcp: 'on' }, async (service) => {
    const { _meta, ...rest } = callMessage('list_tags').params
    assert.equal(codeOf(await postMessage(service, { hello: 1 })), -32600)
    assert.equal(codeOf(await postMessage(service, callMessage('list_tags'))), -32020, 'without Mcp-Method')
    const bare = { ...callMessage('list_tags'), params: rest }
    assert.equal(codeOf(await postMessage(service, bare, { headers: NAMED })), -32602)
    const other = { ...META, 'io.modelcontextprotocol/protocolVersion': '2031-01-01' }
    const unknown = { ...callMessage('list_tags'), params: { ...rest, _meta: other } }
    const later = { ...NAMED, 'MCP-Protocol-Version': '2031-01-01' }
    assert.equal(codeOf(await postMessage(service, unknown, { headers: later })), -32022)
    const method = (name: string, params = {}) => {
      const message = { jsonrpc: '2.0', id: 1, method: name, params: { ...params, _meta: META } }
      return postMessage(service, message, { headers: { 'Mcp-Method': name } })
    }
    assert.equal(codeOf(await method('resources/list')), -32601)
    const listened = await method('subscriptions/listen', { notifications: { toolsListChanged: true } })
    assert.equal(codeOf(listened), -32603, 'no stream is opened')
  })

  onEmpty('of an unknown tool, or one that the token may not call, is refused', { mcp: 'on' }, async (service, t) => {
    const { secret } = await service.issueToken(['plants:read'])
    const agent = await agentOf(t, service, MODES[0], secret)
    for (const name of ['drop_table', 'create_plant', 'delete_plant', '__proto__', 'constructor']) {
      await assert.rejects(agent.client.callTool({ name, arguments: {} }), ProtocolError, name)
    }
  })
})

suite('wrong arguments', () => {
  onEmpty('are a result with every fault and its number, and change nothing', { mcp: 'delete' }, async (service, t) => {
    const agent = await agentOf(t, service)
    const rows: readonly (readonly [string, Record<string, unknown>, number, RegExp])[] = [
      ['get_plant', { id: 7 }, 40003, /id must be a string such as "7", because numbers are rounded/],
      ['get_plant', {}, 40003, /id is required/],
      ...['', 'export', '7.0', '../tags', '\ud800'].map(
        (id) => ['get_plant', { id }, 40003, /id must match pattern/] as const,
      ),
      ['get_plant', { id: '9223372036854775808' }, 40003, /id/],
      ['get_history', { id: '7/history' }, 40003, /id must match pattern/],
      ['update_plant', { id: 'import', etag: 'x', name: 'x' }, 40003, /id must match pattern/],
      ['delete_plant', { id: '7?x', etag: 'x' }, 40003, /id must match pattern/],
      ['search_plants', { q: '\ud800' }, 40003, /lone surrogate/],
      ['search_plants', { cursor: 'x' }, 40003, /cursor/],
      ['search_plants', { tag: ['a'], untagged: true }, 40003, /tag/],
      ['search_plants', { filter: 'x', limit: 0 }, 40003, /filter is unknown; limit must be at least 1/],
      ['create_plant', { id: 7, name: 'x' }, 40003, /id must be a string/],
      ['create_plant', { id: 'x', name: 'x' }, 40003, /id/],
      ['create_plant', { id: '7', name: 'x\u0000' }, 40002, /name/],
      ['create_plant', { id: '7', name: 'x'.repeat(1001) }, 40002, /name/],
      ['create_plant', { id: '7', name: 'x', tag: 7 }, 40003, /tag must be a string/],
      ['create_plant', { id: null, name: 'x' }, 40003, /id must be a string/],
      ['create_plant', { id: '7', name: null }, 40003, /name must be a string/],
      ['search_plants', { limit: '7.5' }, 40003, /limit must be an integer/],
      ['search_plants', { limit: '51' }, 40003, /limit must be at most 50/],
      ['search_plants', { count: 'yes' }, 40003, /count must be a boolean/],
      ['update_plant', { id: '7', name: 'x' }, 40003, /etag is required/],
      ['update_plant', { id: '7', etag: '*', name: 'x' }, 40003, /etag/],
      ['update_plant', { id: '7', etag: 'x", "y', name: 'x' }, 40003, /etag/],
      ['delete_plant', { id: '7', etag: 'abc' }, 40402, /./],
      ['check_import', { format: 'xlsx', content: '' }, 40003, /format/],
    ]
    for (const [name, given, number, words] of rows) {
      const { error, message } = await agent.refusal(name, given)
      assert.equal(error, number, `${name} ${JSON.stringify(given)}: ${message}`)
      assert.match(message, words)
    }
    assert.deepEqual(await service.plants(), [])
    const listed = await callTool(service, 'get_plant', [1])
    assert.equal(codeOf(listed), -32602)
  })

  onEmpty('never return a name that may be a secret', { mcp: 'on' }, async (service, t) => {
    const agent = await agentOf(t, service)
    const { message } = await agent.refusal('list_tags', { 'a secret of forty characters and more, here': 1 })
    assert.match(message, /one of them is unknown/)
  })
})

suite('one token', () => {
  onEmpty('may not take the service from others by 400 connections of messages', { mcp: 'on' }, async (service) => {
    await service.create({ id: 1, name: 'Ginkgo' })
    const { secret } = await service.issueToken(['plants:read'])
    const before = service.server.listenerCount('connection')
    const message = JSON.stringify(callMessage('search_plants', { q: 'gin' }))
    const headers = { ...MESSAGE_HEADERS, 'Mcp-Method': 'tools/call', 'Mcp-Name': 'search_plants' }
    const sending = { authorization: `Bearer ${secret}`, headers, body: message }
    let answered = 0
    const flood = Array.from({ length: 400 }, async () => {
      const answer = await service.send('POST', '/mcp', sending)
      answered++
      return answer
    })
    for (let i = 0; i < 10; i++) assert.equal((await service.send('GET', '/plants/1')).status, 200)
    assert.ok(answered < 200, `ten reads took as long as ${answered} messages`)
    const answers = await Promise.all(flood)
    for (const { status, body } of answers) assert.ok(status === 200 || status === 503, body)
    assert.ok(answers.some(({ status }) => status === 200))
    assert.equal(service.server.listenerCount('connection'), before)
    assert.equal(messageOf(await service.send('GET', '/plants/2')), 'there is no plant with the id 2')
  })

  onEmpty('pays once for a call under a rate limit', { mcp: 'on', rateLimit: '1' }, async (service, t) => {
    standingTime(t)
    const sent = () => callTool(service, 'list_tags', {})
    const answers = [await sent(), await sent()]
    assert.deepEqual(pluck(answers, 'status'), [200, 429])
    assert.match(answers[0]?.body ?? '', /tags/)
  })
})
