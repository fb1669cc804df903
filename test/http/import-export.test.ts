import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { MIN_ID } from '../../src/domain/plant.ts'
import { FORMATS, type Format, MEDIA_TYPES } from '../../src/import/format.ts'
import { patch, put } from '../support/exchanges.ts'
import { type Service, withService } from '../support/service.ts'
import { onService } from '../support/service-tests.ts'

async function exported(service: Service, format: Format): Promise<string> {
  const { status, body } = await service.send('GET', `/plants/export?format=${format}`)
  assert.equal(status, 200)
  return body
}

async function imported(service: Service, format: Format, body: string): Promise<unknown> {
  return (await service.importFile(body, { type: MEDIA_TYPES[format] })).json
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

  onService('works for the largest plants that a request can create, in each format', async (service, t) => {
    const largest = (member: string, unit: string) => `{"${member}":"${unit.repeat(member === 'name' ? 1000 : 200)}"}`
    const units = [
      'a',
      '\\u0001',
      '\\"',
      '\\\\',
      '\\n',
      ',',
      'é',
      '\\u00e9',
      '\u2028',
      '😀',
      '\\ud83d\\ude00',
      '\u007f',
    ]
    for (const [i, unit] of units.entries()) {
      const id = MIN_ID + BigInt(i)
      assert.equal((await put(service, id, largest('name', unit))).status, 201)
      assert.equal((await patch(service, id, largest('tag', unit))).status, 200)
    }
    for (const format of FORMATS) {
      const file = await exported(service, format)
      const other = await withService(t)
      const report = (await imported(other, format, file)) as { added: number }
      assert.equal(report.added, units.length, JSON.stringify(report))
      assert.deepEqual(await other.plants(), await service.plants())
      assert.equal(await exported(other, format), file)
    }
  })
})
