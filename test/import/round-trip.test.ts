import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { suite, test } from 'node:test'
import fc from 'fast-check'
import type { NewPlant } from '../../src/domain/plant.ts'
import { FORMATS, type Format, formatOf, writeFile } from '../../src/import/format.ts'
import { textOf } from '../support/plant-files.ts'
import { anyPlant } from '../support/plants.ts'
import { holds } from '../support/property.ts'
import { readAll } from './support.ts'

async function written(format: Format, pages: readonly (readonly NewPlant[])[]): Promise<string> {
  const pieces = await Array.fromAsync(writeFile(format, Readable.from(pages)))
  return pieces.join('')
}

suite('a written file', () => {
  for (const format of FORMATS) {
    test(`in ${format} reads back unchanged, in pieces of any size`, async () => {
      await holds(
        fc.asyncProperty(fc.array(anyPlant), fc.integer({ min: 1, max: 200 }), async (plants, pieces) => {
          const file = textOf(format, plants)
          assert.equal(await written(format, [plants.slice(0, 1), plants.slice(1)]), file)
          const { plants: read, refused, fault } = await readAll(format, file, { pieces })
          assert.deepEqual([read.map(([, plant]) => plant), refused, fault], [plants, [], undefined])
        }),
        { numRuns: 300 },
      )
    })
  }

  test('quotes cells only if necessary', async () => {
    const rows: [name: string, tag: string | undefined, row: string][] = [
      ['Fern', 'shade', '1,Fern,shade'],
      ['Fern', undefined, '1,Fern,'],
      ['', '', '1,"",""'],
      ['a,b', 'a"b', '1,"a,b","a""b"'],
      ['a\nb', 'a\rb', '1,"a\nb","a\rb"'],
      [' a ', "=1+1|'", "1, a ,=1+1|'"],
    ]
    for (const [name, tag, row] of rows) {
      assert.equal(await written('csv', [[{ id: 1n, name, tag }]]), `id,name,tag\r\n${row}\r\n`)
    }
  })
})

test('the extension of a file determines its format', () => {
  assert.deepEqual(['a.csv', 'A.CSV', 'a.b.csv.gz', '/x.csv/a.csv'].map(formatOf), ['csv', 'csv', 'csv', 'csv'])
  assert.deepEqual(['a.ndjson', 'a.jsonl', 'a.jsonl.gz'].map(formatOf), ['ndjson', 'ndjson', 'ndjson'])
  assert.deepEqual(
    ['a', 'csv', 'a.json', 'a.gz', 'a.csv.zip', 'a.constructor', '-'].map(formatOf),
    Array(7).fill(undefined),
  )
})
