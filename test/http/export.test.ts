import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { errorOf, withService } from '../support/service.ts'
import { onService } from '../support/service-tests.ts'

const ROWS =
  '{"id":-1,"name":"Fern","tag":"shade"}\n{"id":2,"name":"Moss"}\n{"id":9007199254740993,"name":"a\\"b","tag":""}\n'
const TABLE = 'id,name,tag\r\n-1,Fern,shade\r\n2,Moss,\r\n9007199254740993,"a""b",""\r\n'

async function withPlants(scene: Parameters<typeof withService>[0]) {
  const service = await withService(scene)
  await service.importFile(ROWS)
  return service
}

suite('an export', () => {
  test('is NDJSON by default, as an attachment without a length', async (t) => {
    const service = await withPlants(t)
    for (const query of ['', '?format=ndjson']) {
      const { status, headers, body } = await service.send('GET', `/plants/export${query}`)
      assert.deepEqual([status, body], [200, ROWS])
      assert.equal(headers['content-type'], 'application/x-ndjson')
      assert.equal(headers['content-disposition'], 'attachment; filename="plants.ndjson"')
      assert.deepEqual([headers['content-length'], headers['transfer-encoding']], [undefined, 'chunked'])
    }
  })

  test('is CSV if the client asks for it', async (t) => {
    const service = await withPlants(t)
    const { body, headers } = await service.send('GET', '/plants/export?format=csv')
    assert.equal(body, TABLE)
    assert.equal(headers['content-type'], 'text/csv; charset=utf-8; header=present')
    assert.equal(headers['content-disposition'], 'attachment; filename="plants.csv"')
  })

  onService('of an empty store is empty as NDJSON, and a header as CSV', async (service) => {
    assert.equal((await service.send('GET', '/plants/export')).body, '')
    assert.equal((await service.send('GET', '/plants/export?format=csv')).body, 'id,name,tag\r\n')
  })

  test('takes the filters and orders of a list', async (t) => {
    const service = await withPlants(t)
    const names = async (query: string) => {
      const { body } = await service.send('GET', `/plants/export?${query}`)
      return [...body.matchAll(/"name":"(\w+)/g)].map(([, name]) => name)
    }
    assert.deepEqual(await names('tag=shade&tag='), ['Fern', 'a'])
    assert.deepEqual(await names('q=mo'), ['Moss'])
    assert.deepEqual(await names('q=+'), ['Fern', 'Moss', 'a'])
    for (const text of ['€', '!!!', '🇩🇪']) assert.deepEqual(await names(`q=${encodeURIComponent(text)}`), [], text)
    assert.equal((await service.send('GET', '/plants/export?format=csv&q=-')).body, 'id,name,tag\r\n')
    assert.deepEqual(await names('sort=-id'), ['a', 'Moss', 'Fern'])
    assert.deepEqual(await names('sort=name'), ['a', 'Fern', 'Moss'])
  })

  test('is refused like any request if it has not begun', async (t) => {
    const service = await withPlants(t)
    for (const query of ['format=xml', 'format=', 'limit=5', 'sort=tag', 'tag=%00', 'format=csv&format=csv']) {
      assert.equal(errorOf(await service.send('GET', `/plants/export?${query}`)), 40003, query)
    }
    assert.equal(errorOf(await service.send('GET', '/plants/export', { authorization: null })), 40101)
    const { secret } = await service.issueToken(['plants:write'])
    assert.equal(errorOf(await service.send('GET', '/plants/export', { authorization: `Bearer ${secret}` })), 40301)
    assert.equal(errorOf(await service.send('POST', '/plants/export')), 40501)
  })

  test('answers HEAD with the head only', async (t) => {
    const service = await withPlants(t)
    const { status, headers, body } = await service.send('HEAD', '/plants/export?format=csv')
    assert.deepEqual([status, body], [200, ''])
    assert.equal(headers['content-type'], 'text/csv; charset=utf-8; header=present')
    assert.equal(errorOf({ ...(await service.send('GET', '/plants/export?x=')) }), 40003)
  })
})
