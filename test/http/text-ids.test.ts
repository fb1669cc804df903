import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import type { ImportReport } from '../../client/src/index.ts'
import { MAX_ID, MIN_ID } from '../../src/domain/plant.ts'
import { asksForTextIds, contractWithTextIds, WITH_TEXT_IDS, withTextIds } from '../../src/http/request/text-ids.ts'
import { contract } from '../support/conforms.ts'
import { openStream } from '../support/event-stream.ts'
import { pluck } from '../support/pluck.ts'
import { assertRefused, emptyService, errorOf, type Service, withService } from '../support/service.ts'
import { onEmpty, onService } from '../support/service-tests.ts'

const JSON_TEXT = `application/json${WITH_TEXT_IDS}`
const SENT = { headers: { 'Content-Type': JSON_TEXT } }
const NDJSON_TEXT = `application/x-ndjson${WITH_TEXT_IDS}`
const IDS = [MIN_ID, 9007199254740993n, MAX_ID].map(String)
/** Texts that look like ids, inside of a JSON string. */
const NAME = '{"id":7,"first":8} \\"id\\":9,"next":1'

async function withPlants(service: Service): Promise<void> {
  for (const id of IDS) {
    const answer = await service.create(JSON.stringify({ id, name: NAME, tag: `"id":${id}` }), {
      headers: { 'Content-Type': JSON_TEXT, Accept: JSON_TEXT },
    })
    assert.deepEqual([answer.status, answer.headers['content-type']], [200, JSON_TEXT], answer.body)
    assert.equal(answer.headers['content-location'], `/plants/${id}`)
  }
}

suite('Accept with IEEE754Compatible=true', () => {
  onService('has ids of plants, pages, entries, ranges and reports as decimal texts, and says so', async (service) => {
    await withPlants(service)
    const read = async (path: string) => {
      const answer = await service.send('GET', path, { headers: { Accept: JSON_TEXT } })
      assert.deepEqual([answer.status, answer.headers['content-type']], [200, JSON_TEXT], path)
      assert.match(answer.headers.vary ?? '', /^Accept, Accept-Encoding/)
      return answer.json
    }
    const plants = IDS.map((id) => ({ id, name: NAME, tag: `"id":${id}` }))
    assert.deepEqual(await read('/plants'), plants)
    assert.deepEqual(await read('/plants'), plants, 'also the page that the service has kept')
    assert.deepEqual(await read(`/plants/${MIN_ID}`), plants[0])
    assert.deepEqual(pluck((await read('/changes')) as { plant: object }[], 'plant'), plants)
    await service.sendJson('PUT', `/plants/${MAX_ID}`, { id: String(MAX_ID), name: 'y' }, SENT)
    const [entry] = (await read(`/plants/${MAX_ID}/history`)) as { plant: object; before: object }[]
    assert.deepEqual([entry?.plant, entry?.before], [{ id: String(MAX_ID), name: 'y' }, plants[2]])
    assert.deepEqual(await read('/ids'), { next: '1' })
  })

  test('counts at the type of the answer, and at JSON for the others', () => {
    const cases: readonly [string | undefined, string, boolean][] = [
      [undefined, 'application/json', false],
      ['*/*', 'application/json', false],
      ['application/json', 'application/json', false],
      [JSON_TEXT, 'application/json', true],
      ['Application/JSON; ieee754compatible="TRUE"', 'application/json', true],
      ['application/json;IEEE754Compatible=false', 'application/json', false],
      [`${JSON_TEXT}, application/json`, 'application/json', true],
      [`${JSON_TEXT};q=0.5, application/json`, 'application/json', false],
      [`${JSON_TEXT};q=0, application/json;q=0`, 'application/json', false],
      [`${JSON_TEXT}, */*`, 'application/json', true],
      [`*/*${WITH_TEXT_IDS}`, 'application/json', false],
      [JSON_TEXT, 'application/x-ndjson', true],
      [NDJSON_TEXT, 'application/x-ndjson', true],
      [`${JSON_TEXT}, application/x-ndjson`, 'application/x-ndjson', false],
      [`text/event-stream, ${JSON_TEXT};q=0.5`, 'text/event-stream', false],
    ]
    for (const [accept, type, expected] of cases) assert.equal(asksForTextIds(accept, type), expected, String(accept))
  })

  onEmpty('is 40601 with another value, before anything changes; Content-Type is 41501', async (service) => {
    for (const value of ['yes', '1', '""']) {
      const type = `application/json;IEEE754Compatible=${value}`
      const wrong = await service.create({ id: 1, name: 'x' }, { headers: { Accept: type } })
      assertRefused(wrong, 40601, /IEEE754Compatible must be true or false/)
      assert.equal(errorOf(await service.send('GET', '/plants/export', { headers: { Accept: type } })), 40601)
      const sent = await service.create({ id: 1, name: 'x' }, { headers: { 'Content-Type': type } })
      assertRefused(sent, 41501, /IEEE754Compatible must be true or false/)
    }
    assert.deepEqual(await service.plants(), [])
  })

  onEmpty('gives each form an entity tag of its own, and preconditions take both', async (service) => {
    await service.create({ id: 1, name: 'x'.repeat(1000), tag: '"'.repeat(200) })
    const read = (headers: Record<string, string>) => service.send('GET', '/plants/1', { headers })
    const [plain, text] = [await read({}), await read({ Accept: JSON_TEXT })]
    const version = String(plain.headers.etag).slice(1, -1)
    assert.equal(text.headers.etag, `"${version}-text"`)
    const compressed = await read({ Accept: JSON_TEXT, 'Accept-Encoding': 'gzip' })
    assert.equal(compressed.headers.etag, `"${version}-text-gzip"`)
    for (const etag of [text.headers.etag, compressed.headers.etag].map(String)) {
      const fresh = await read({ Accept: JSON_TEXT, 'If-None-Match': etag })
      assert.deepEqual([fresh.status, fresh.headers.etag], [304, text.headers.etag])
      assert.equal((await read({ 'If-None-Match': etag })).headers.etag, plain.headers.etag)
      const headers = { ...SENT.headers, 'If-Match': etag }
      assert.equal((await service.sendJson('PATCH', '/plants/1', {}, { headers })).status, 200)
    }
  })

  onEmpty('has no effect on a refusal, or an answer without ids', async (service) => {
    const headers = { Accept: JSON_TEXT }
    const missing = await service.send('GET', '/plants/1', { headers })
    assert.deepEqual([errorOf(missing), missing.headers['content-type']], [40402, 'application/json'])
    assert.deepEqual((await service.send('GET', '/tags', { headers })).json, [])
    const document = await service.send('GET', '/openapi.json', { headers })
    assert.equal(document.headers['content-type'], 'application/json')
  })
})

suite('a path below /text-ids', () => {
  const typed = { headers: { 'Content-Type': 'application/json', Accept: 'application/json' } }

  onService('has ids as texts for a client that writes its own headers, or none', async (service) => {
    const [first = '', second = '', third = ''] = IDS
    for (const id of IDS) {
      const made = await service.sendJson('POST', '/text-ids/plants', { id, name: 'x' }, typed)
      assert.deepEqual([made.status, made.headers['content-location']], [200, `/text-ids/plants/${id}`])
    }
    for (const headers of [{}, { Accept: '*/*' }, typed.headers, { Accept: 'application/*;q=0.5, text/html' }]) {
      const read = await service.send('GET', `/text-ids/plants/${second}`, { headers })
      assert.deepEqual([read.headers['content-type'], read.json], [JSON_TEXT, { id: second, name: 'x' }])
      assert.match(String(read.headers.etag), /-text"$/)
    }
    const page = await service.send('GET', '/text-ids/plants?limit=2', typed)
    const expected = [first, second].map((id) => ({ id, name: 'x' }))
    assert.deepEqual(page.json, expected)
    const next = /<([^>]*)>/.exec(String(page.headers['link']))?.[1] ?? ''
    assert.match(next, /^\/text-ids\/plants\?/)
    assert.deepEqual((await service.send('GET', next, typed)).json, [{ id: third, name: 'x' }])
    const row = `{"id":"${second}","name":"y"}`
    const changed = await service.sendJson('PUT', `/text-ids/plants/${second}`, row, typed)
    assert.deepEqual(changed.json, { id: second, name: 'y' })
    const file = `${row}\n`
    const lines = { 'Content-Type': 'application/x-ndjson' }
    const report = await service.send('POST', '/text-ids/plants/import', { headers: lines, body: file })
    assert.equal((report.json as { unchanged: number }).unchanged, 1)
    for (const Accept of ['*/*', 'application/x-ndjson', 'application/json']) {
      const { body } = await service.send('GET', '/text-ids/plants/export?q=y', { headers: { Accept } })
      assert.equal(body, file)
    }
    const sheet = await service.send('GET', '/text-ids/plants/export?q=y', { headers: { Accept: 'text/csv' } })
    assert.equal(sheet.body, `id,name,tag\r\n${second},y,\r\n`)
    assert.match((await service.send('GET', '/text-ids/openapi.json')).body, /application\/json;IEEE754Compatible=true/)
    assert.equal((await service.send('OPTIONS', '/text-ids/plants')).headers.allow, 'GET, HEAD, POST, OPTIONS')
  })

  test('stands behind the path of --public-url, and in a whole address', async (t) => {
    const service = await withService(t, { publicUrl: 'https://example.org/garden' })
    await service.create({ id: 7, name: 'x' })
    for (const base of ['', '/garden', 'http://example.org', 'HTTP://example.org/garden']) {
      const page = await service.send('GET', `${base}/text-ids/plants?limit=1`)
      assert.deepEqual(page.json, [{ id: '7', name: 'x' }], base)
    }
    await service.create({ id: 8, name: 'x' })
    const page = await service.send('GET', '/garden/text-ids/plants?limit=1')
    assert.match(String(page.headers['link']), /^<\/garden\/text-ids\/plants\?/)
  })

  onService('is one of the contract: pages and the protocol of agents have none', { mcp: 'on' }, async (service) => {
    for (const path of ['/', '', '/page/page.js', '/docs', '/mcp', '/text-ids/plants', 'x/plants', '/plant']) {
      assert.equal(errorOf(await service.send('GET', `/text-ids${path}`)), 40401, path)
    }
  })
})

suite('a body with ids as texts', () => {
  const send = (service: Service, body: string, type = JSON_TEXT) =>
    service.create(body, { headers: { 'Content-Type': type } })

  onEmpty('may have numbers, too; without the parameter a text is refused', async (service) => {
    assert.equal((await send(service, '{"id":"\\u0037","name":"x"}')).status, 200)
    assert.equal((await send(service, '{"id":7,"name":"x"}')).status, 200)
    for (const type of ['application/json', 'application/json;IEEE754Compatible=false']) {
      const refused = await send(service, '{"id":"8","name":"x"}', type)
      const way = 'a text needs IEEE754Compatible=true at the Content-Type, or an address below /text-ids'
      assert.deepEqual(refused.json, { error: 40002, message: `id must be an integer, as a JSON number (${way})` })
    }
    assert.deepEqual(await service.plants(), [{ id: 7n, name: 'x', tag: null }])
  })

  onEmpty('is 40002 with a text that is no int64 in plain decimal', async (service) => {
    const form = 'id must be an integer, as a text in plain decimal or a JSON number'
    for (const text of ['', ' 7', '+7', '07', '-0', '7.0', '7e0', '0x7', '٧', '7\\u0000', 'x']) {
      const refused = await send(service, `{"id":"${text}","name":"x"}`)
      assert.deepEqual(refused.json, { error: 40002, message: form }, text)
    }
    for (const text of ['9223372036854775808', '-9223372036854775809', '9'.repeat(10_000)]) {
      assertRefused(await send(service, `{"id":"${text}","name":"x"}`), 40002, /^id must be from -9223372036854775808/)
    }
    for (const id of ['null', '["7"]', 'true']) {
      assert.equal(errorOf(await send(service, `{"id":${id},"name":"x"}`)), 40002, id)
    }
    const other = await service.sendJson('PUT', '/plants/1', '{"id":"2","name":"x"}', SENT)
    assertRefused(other, 40002, /id must be 1 as in the path/)
    assert.deepEqual(await service.plants(), [])
  })
})

suite('files with ids as texts', () => {
  onEmpty('export as lines by either type, and import again', async (service) => {
    await withPlants(service)
    const plain = (await service.send('GET', '/plants/export')).body
    for (const [path, Accept] of [
      ['/plants/export', NDJSON_TEXT],
      ['/plants/export', JSON_TEXT],
      ['/plants/export?format=ndjson', `${JSON_TEXT}, text/csv;q=0.1`],
    ] as const) {
      const answer = await service.send('GET', path, { headers: { Accept } })
      assert.deepEqual([answer.status, answer.headers['content-type']], [200, NDJSON_TEXT])
      assert.equal(answer.body, withTextIds(plain))
      assert.ok(answer.body.includes('{"id":"-9223372036854775808",'))
    }
    const csv = await service.send('GET', '/plants/export?format=csv', { headers: { Accept: JSON_TEXT } })
    assert.equal(csv.headers['content-type'], 'text/csv; charset=utf-8; header=present')
    const row = `{"id":"${MAX_ID}","name":"new","before":{"id":"${MAX_ID}","name":${JSON.stringify(NAME)},"tag":"\\"id\\":${MAX_ID}"}}`
    const imported = async (type: string) =>
      (await service.importFile(`${withTextIds(plain)}${row}\n`, { type, query: '?mode=update' })).json as ImportReport
    const refused = await imported('application/x-ndjson')
    assert.equal(refused.refused, 4)
    const { unchanged, updated } = await imported(NDJSON_TEXT)
    assert.deepEqual([unchanged, updated], [3, 1])
  })

  onEmpty('name the stored plants of a report', async (service) => {
    await withPlants(service)
    const row = JSON.stringify({ id: '5', name: NAME, tag: `"id":${MAX_ID}` })
    const asking = { type: NDJSON_TEXT, headers: { Accept: JSON_TEXT }, query: '?dryRun=true&duplicates=true' }
    const { json } = await service.importFile(row, asking)
    assert.deepEqual((json as ImportReport).duplicateRows, [{ line: 1, id: String(MAX_ID) }])
  })
})

onService('events have ids as texts for the streams that ask for it, and numbers for others', async (service, t) => {
  const streams = await Promise.all([
    openStream(service, '/changes', { headers: { Accept: `text/event-stream${WITH_TEXT_IDS}` } }),
    openStream(service, '/changes?tag=a', { headers: { Accept: `text/event-stream${WITH_TEXT_IDS}` } }),
    openStream(service, '/changes'),
  ])
  t.after(() => streams.forEach((stream) => void stream.close()))
  const shown = streams.map(({ headers }) => headers['content-type'])
  assert.deepEqual(shown, [...Array(2).fill(`text/event-stream${WITH_TEXT_IDS}`), 'text/event-stream'])
  for (const id of [1, 2]) await service.create({ id, name: 'x', tag: 'a' })
  for (const [i, stream] of streams.entries()) {
    const ids = (await stream.until(2)).map(({ plant }) => plant?.id)
    assert.deepEqual(ids, i === 2 ? [1, 2] : ['1', '2'])
  }
})

suite('/openapi.json?ids=text', () => {
  const texts = contractWithTextIds(contract.document)

  test('is the contract of the form: no int64, and the parameter at each media type but those of refusals', async () => {
    const service = await emptyService()
    const { json } = await service.send('GET', '/openapi.json?ids=text', { authorization: null })
    assert.deepEqual((json as { paths: object }).paths, texts.paths)
    const written = JSON.stringify(texts)
    assert.ok(!written.includes('"int64"') && written.includes('"int32"'))
    const types = new Set(written.match(/"[a-z]+\/[\w.+-]+(?:;[^"]+)?":\{(?="schema")/g))
    assert.ok(types.has(`"${JSON_TEXT}":{`) && types.has(`"${NDJSON_TEXT}":{`))
    assert.equal(errorOf(await service.send('GET', '/openapi.json?ids=double')), 40003)
    const plain = await service.send('GET', '/openapi.json?ids=number')
    assert.equal(plain.body, (await service.send('GET', '/openapi.json')).body)
  })

  test('every member that is an int64 in the contract is one that the writer knows, and no other number is', () => {
    const found: string[] = []
    const walk = (value: unknown): void => {
      if (typeof value !== 'object' || value === null) return
      const { properties = {} } = value as { properties?: Record<string, { type?: unknown; format?: string }> }
      for (const [name, of] of Object.entries(properties)) {
        const schema = JSON.stringify(of)
        const isId = schema.includes('/schemas/Id"') || of.format === 'int64'
        const isKnown = withTextIds(`{"${name}":1}`) !== `{"${name}":1}`
        if (isId) found.push(name)
        if (isId || of.type === 'integer') assert.equal(isKnown, isId, name)
      }
      for (const part of Object.values(value)) walk(part)
    }
    walk(contract.document.components['schemas'])
    assert.deepEqual([...new Set(found)].sort(), ['first', 'id', 'last', 'next'])
  })
})
