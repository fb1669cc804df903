import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import type { Format } from '../../src/import/format.ts'
import { errorOf, type Service, withService } from '../support/service.ts'
import { onEmpty } from '../support/service-tests.ts'

const ROWS =
  '{"id":-1,"name":"Fern","tag":"shade"}\n{"id":2,"name":"Moss"}\n{"id":9007199254740993,"name":"a\\"b","tag":""}\n'
const TABLE = 'id,name,tag\r\n-1,Fern,shade\r\n2,Moss,\r\n9007199254740993,"a""b",""\r\n'

/** Adds a test of an export of these plants. */
const onPlants = (title: string, run: (service: Service) => Promise<void>) =>
  onEmpty(title, async (service) => {
    await service.importFile(ROWS)
    await run(service)
  })

suite('an export', () => {
  onPlants('is NDJSON by default, as an attachment without a length', async (service) => {
    for (const query of ['', '?format=ndjson']) {
      const { status, headers, body } = await service.send('GET', `/plants/export${query}`)
      assert.deepEqual([status, body], [200, ROWS])
      assert.equal(headers['content-type'], 'application/x-ndjson')
      assert.equal(headers['content-disposition'], 'attachment; filename="plants.ndjson"')
      assert.deepEqual([headers['content-length'], headers['transfer-encoding']], [undefined, 'chunked'])
    }
  })

  onPlants('is CSV if the client asks for it', async (service) => {
    const { body, headers } = await service.send('GET', '/plants/export?format=csv')
    assert.equal(body, TABLE)
    assert.equal(headers['content-type'], 'text/csv; charset=utf-8; header=present')
    assert.equal(headers['content-disposition'], 'attachment; filename="plants.csv"')
  })

  onEmpty('of an empty store is empty as NDJSON, and a header as CSV', async (service) => {
    assert.equal((await service.send('GET', '/plants/export')).body, '')
    assert.equal((await service.send('GET', '/plants/export?format=csv')).body, 'id,name,tag\r\n')
  })

  onPlants('takes the filters and orders of a list', async (service) => {
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

  onPlants('is refused like any request if it has not begun', async (service) => {
    for (const query of ['format=xml', 'format=', 'limit=5', 'sort=tag', 'tag=%00', 'format=csv&format=csv']) {
      assert.equal(errorOf(await service.send('GET', `/plants/export?${query}`)), 40003, query)
    }
    assert.equal(errorOf(await service.send('GET', '/plants/export', { authorization: null })), 40101)
    const { secret } = await service.issueToken(['plants:write'])
    assert.equal(errorOf(await service.send('GET', '/plants/export', { authorization: `Bearer ${secret}` })), 40301)
    assert.equal(errorOf(await service.send('POST', '/plants/export')), 40501)
  })

  onPlants('answers HEAD with the head only', async (service) => {
    const { status, headers, body } = await service.send('HEAD', '/plants/export?format=csv')
    assert.deepEqual([status, body], [200, ''])
    assert.equal(headers['content-type'], 'text/csv; charset=utf-8; header=present')
    assert.equal(errorOf(await service.send('GET', '/plants/export?x=')), 40003)
  })
})

async function exported(service: Service, format: Format): Promise<string> {
  const { status, body } = await service.send('GET', `/plants/export?format=${format}`)
  assert.equal(status, 200)
  return body
}

suite('exporting, importing into an empty store and exporting again', () => {
  test('has one row in each line, however a client splits lines, and takes files by their other media types', async (t) => {
    const service = await withService(t)
    const name = 'a\u0085b\u2028c\u2029d'
    await service.create({ id: 1, name, tag: name })
    const file = await exported(service, 'ndjson')
    assert.equal(file.split(/\r\n|[\n\v\f\r\u0085\u2028\u2029]/).length, 2, 'as str.splitlines of Python does')
    for (const type of ['application/x-ndjson', 'application/ndjson', 'application/jsonl', 'application/x-jsonlines']) {
      const report = await service.importFile(file, { type })
      assert.deepEqual([report.status, (report.json as { unchanged: number }).unchanged], [200, 1], type)
      const { headers, body } = await service.send('GET', '/plants/export', { headers: { Accept: type } })
      assert.deepEqual([headers['content-type'], body], ['application/x-ndjson', file], type)
    }
    const sheet = await exported(service, 'csv')
    for (const type of ['text/csv', 'application/csv', 'Application/CSV; charset=utf-8']) {
      const report = await service.importFile(sheet, { type })
      assert.deepEqual([report.status, (report.json as { unchanged: number }).unchanged], [200, 1], type)
    }
    assert.equal((await service.send('GET', '/plants/export', { headers: { Accept: 'application/csv' } })).body, sheet)
    assert.deepEqual(await service.plants(), [{ id: 1n, name, tag: name }])
  })
})
