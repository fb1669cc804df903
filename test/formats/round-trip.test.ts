import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import fc from 'fast-check'
import { FORMATS, formatOf, headerOf, writePlants } from '../../src/formats/format.ts'
import { anyPlant } from '../support/plants.ts'
import { readAll } from './support.ts'

suite('what is written', () => {
  for (const format of FORMATS) {
    test(`as ${format} is read again as it was, in pieces of any size`, async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(anyPlant), fc.integer({ min: 1, max: 200 }), async (plants, pieces) => {
          const file = headerOf(format) + writePlants(format, plants)
          const { plants: read, refused, fault } = await readAll(format, file, { pieces })
          assert.deepEqual([read.map(([, plant]) => plant), refused, fault], [plants, [], undefined])
        }),
        { numRuns: 300 },
      )
    })
  }

  test('is quoted only where it has to be', () => {
    const rows: [name: string, tag: string | undefined, row: string][] = [
      ['Fern', 'shade', '1,Fern,shade'],
      ['Fern', undefined, '1,Fern,'],
      ['', '', '1,"",""'],
      ['a,b', 'a"b', '1,"a,b","a""b"'],
      ['a\nb', 'a\rb', '1,"a\nb","a\rb"'],
      [' a ', "=1+1|'", "1, a ,=1+1|'"],
    ]
    for (const [name, tag, row] of rows) assert.equal(writePlants('csv', [{ id: 1n, name, tag }]), `${row}\r\n`)
  })
})

test('the format of a file is told by its name', () => {
  assert.deepEqual(['a.csv', 'A.CSV', 'a.b.csv.gz', '/x.csv/a.csv'].map(formatOf), ['csv', 'csv', 'csv', 'csv'])
  assert.deepEqual(['a.ndjson', 'a.jsonl', 'a.jsonl.gz'].map(formatOf), ['ndjson', 'ndjson', 'ndjson'])
  assert.deepEqual(
    ['a', 'csv', 'a.json', 'a.gz', 'a.csv.zip', 'a.constructor', '-'].map(formatOf),
    Array(7).fill(undefined),
  )
})
