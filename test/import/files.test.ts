import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { Readable } from 'node:stream'
import { suite, test } from 'node:test'
import fc from 'fast-check'
import type { NewPlant } from '../../src/domain/plant.ts'
import type { Batch } from '../../src/import/batch.ts'
import { FORMATS, type Format, formatOf, readPlants, writeFile } from '../../src/import/format.ts'
import { putBatches } from '../../src/import/run-import.ts'
import { manyPlants, textOf } from '../support/plant-files.ts'
import { anyPlant } from '../support/plants.ts'
import { holds } from '../support/property.ts'
import { chunksOf, readAll } from './support.ts'

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
  const expected = Array(7).fill(undefined)
  assert.deepEqual(['a', 'csv', 'a.json', 'a.gz', 'a.csv.zip', 'a.constructor', '-'].map(formatOf), expected)
})

test('a batch has at most a thousand rows, however many a piece of the file contains', async () => {
  for (const format of FORMATS) {
    const file = Buffer.from(textOf(format, manyPlants(2500)))
    const batches = await Array.fromAsync(readPlants(format, chunksOf(file, file.length)))
    const found = batches.map(({ plants }) => plants.length)
    assert.deepEqual(found, [1000, 1000, 500])
  }
})

test('an aborted import begins no further batch, and waits for the one in progress', async () => {
  const ending = new AbortController()
  const put: number[] = []
  const batch: Batch = { plants: manyPlants(1), lines: [1], refused: [] }
  let taken = 0
  const importing = putBatches(
    (async function* () {
      for (let i = 0; i < 5; i++) yield batch
    })(),
    async () => {
      put.push(put.length)
      if (put.length === 2) ending.abort(new Error('ended'))
      return { added: 1, updated: 0, unchanged: 0, refused: 0, refusedRows: [] }
    },
    () => taken++,
    ending.signal,
  )
  await assert.rejects(importing, /^Error: ended$/)
  assert.deepEqual([put.length, taken], [2, 2])
})

/** Files that LibreOffice 7.4 wrote of a sheet with a blank row, and a fourth column without a name. */
const fixture = (name: string): Buffer => readFileSync(new URL(`fixtures/${name}`, import.meta.url))

const plant = (id: bigint, name: string, tag?: string) => ({ id, name, tag })

const PLANTS = [
  plant(101n, 'Monstera deliciosa', 'houseplant'),
  plant(9223372036854775807n, 'Rosa "Peace"; white, double'),
  plant(-7n, 'Café 🌱\nsecond line', 'a\tb'),
  plant(102n, 'Quercus robur', 'tree'),
]

/** The same table as Excel and Google Sheets write it. */
const table = (separator: string, end: string, cell: (text: string) => string): string =>
  [
    ['ID', ' Name ', 'Tag'],
    ...PLANTS.map(({ id, name, tag = '' }) => [String(id), name, tag]),
    ['', '', ''],
    ['', '', ''],
  ]
    .map((row) => row.map(cell).join(separator))
    .join(end)

const quotedFor = (separator: string) => (text: string) =>
  text.includes(separator) || /["\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text

const utf16be = (text: string): Buffer => Buffer.from(`\ufeff${text}`, 'utf16le').swap16()

const FILES: Readonly<Record<string, Buffer>> = {
  'LibreOffice, UTF-8 and commas': fixture('libreoffice.csv'),
  'LibreOffice, semicolons, all texts quoted': fixture('libreoffice-semicolon.csv'),
  'LibreOffice, UTF-16 and tabs': fixture('libreoffice-utf16-tab.csv'),
  'Excel, CSV UTF-8, English': Buffer.from(`\ufeff${table(',', '\r\n', quotedFor(','))}\r\n`),
  'Excel, CSV UTF-8, German': Buffer.from(`\ufeff${table(';', '\r\n', quotedFor(';'))}\r\n`),
  'Excel, Unicode text': Buffer.from(`\ufeff${table('\t', '\r\n', quotedFor('\t'))}\r\n`, 'utf16le'),
  'Excel, with sep=': Buffer.from(`\ufeffsep=;\r\n${table(';', '\r\n', quotedFor(';'))}\r\n`),
  'Google Sheets': Buffer.from(table(',', '\r\n', quotedFor(','))),
  'UTF-16, big endian': utf16be(table(',', '\n', quotedFor(','))),
}

suite('a CSV file of a spreadsheet program', () => {
  for (const [program, file] of Object.entries(FILES)) {
    test(`from ${program} is read, in pieces of any size`, async () => {
      for (const pieces of [1, 2, 3, 5, 7, 64, 100_000]) {
        const { plants, refused, fault } = await readAll('csv', file, { pieces })
        assert.deepEqual([plants.map(([, each]) => each), refused, fault], [PLANTS, [], undefined])
      }
    })
  }

  test('in Windows-1252 is refused if it is not ASCII, and the refusal says how to save it', async () => {
    const { plants, refused } = await readAll('csv', fixture('libreoffice-windows-1252.csv'))
    assert.equal(plants.length, PLANTS.length - 1)
    const message =
      'the row is not valid UTF-8; as Windows-1252 it has "Café ? second line". Save the file as CSV UTF-8'
    assert.deepEqual(refused, [[4, 40001, message]])
  })
})

suite('a file that is not text', () => {
  const faultOf = async (file: Buffer, pieces = 100_000) => {
    const { plants, refused, fault } = await readAll('csv', file, { pieces })
    assert.deepEqual([plants, refused], [[], []])
    return fault
  }

  test('is refused with a message that names its kind', async () => {
    for (const pieces of [1, 3, 100_000]) {
      const workbook = 'a workbook (such as .xlsx or .ods) or another ZIP archive; save the sheet as CSV'
      for (const name of ['libreoffice.xlsx', 'libreoffice.ods']) {
        assert.equal(await faultOf(fixture(name), pieces), `40001 the file is not text but ${workbook}`)
      }
      const old = '40001 the file is not text but an old workbook (.xls); save the sheet as CSV'
      assert.equal(await faultOf(fixture('libreoffice.xls'), pieces), old)
      const packed = '40001 the file is not text but compressed with gzip; decompress it first'
      assert.equal(await faultOf(Buffer.from([0x1f, 0x8b, 8, 0]), pieces), packed)
    }
  })

  test('may be a PDF, XML, HTML, a text document or a picture', async () => {
    const kinds: readonly (readonly [start: string, kind: RegExp])[] = [
      ['%PDF-1.7\n', /a PDF; save the sheet/],
      ['<?xml version="1.0"?>', /XML \(as in \.fods, and in some files named \.xls\)/],
      ['<!DOCTYPE html>', /HTML/],
      ['<html xmlns:x="urn:schemas-microsoft-com:office:excel">', /HTML/],
      ['<table border="1"><tr><td>id', /HTML \(as in some files named \.xls\)/],
      ['<meta charset="utf-8">', /HTML/],
      ['{\\rtf1', /\.rtf/],
      ['\x89PNG\r\n\x1a\n', /a picture/],
      ['\xff\xd8\xff\xe0', /a picture/],
    ]
    for (const [start, kind] of kinds) {
      const file = (before: string) => Buffer.from(`${before}${start} and more`, 'latin1')
      for (const pieces of [1, 7]) assert.match((await faultOf(file(''), pieces)) ?? '', kind)
      for (const before of ['\xef\xbb\xbf', '\r\n ']) assert.match((await faultOf(file(before))) ?? '', kind)
    }
  })

  test('may be UTF-16 without a byte order mark, in scripts of one byte or two', async () => {
    const message = '40001 the file is UTF-16 without a byte order mark; save it as CSV UTF-8'
    for (const start of ['id,name\n1,a\n', 'Номер;Название\r\n1;Rose\r\n', '编号,名称\n1,一串红\n2,菊\n']) {
      for (const file of [Buffer.from(start, 'utf16le'), Buffer.from(start, 'utf16le').swap16()]) {
        for (const pieces of [1, 7, 100_000]) assert.equal(await faultOf(file, pieces), message)
      }
    }
  })

  test('counts as UTF-16 only if all of it is', async () => {
    const message = '40001 the file has a UTF-16 byte order mark but is not valid UTF-16; save it as CSV UTF-8'
    for (const text of ['id,name\n1,\ud83d', 'id,name\n1,\ud83d\n', '\udf31,']) {
      for (const pieces of [1, 2, 100]) {
        const file = Buffer.from(`\ufeff${text}`, 'utf16le')
        assert.equal((await readAll('csv', file, { pieces })).fault, message)
        assert.equal((await readAll('csv', utf16be(text), { pieces })).fault, message)
      }
    }
    const odd = Buffer.concat([Buffer.from('\ufeffid,name\n1,a\n2,', 'utf16le'), Buffer.from('a')])
    const { plants, fault } = await readAll('csv', odd)
    assert.deepEqual([plants.length, fault], [1, message])
  })
})
