import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { parse } from 'csv-parse/sync'
import fc from 'fast-check'
import { type CsvRow, CsvRows } from '../../src/import/csv-rows.ts'
import { holds } from '../support/property.ts'

const LIMIT = 2 ** 20

function divided(file: Buffer, pieces: number): CsvRow[] {
  const rows = new CsvRows(LIMIT)
  rows.separator = ','
  const all: CsvRow[] = []
  for (let at = 0; at < file.length; at += pieces) {
    all.push(...rows.divide(file.toString('latin1', at, at + pieces)))
  }
  all.push(...rows.end())
  return all
}

/** Parses the file by csv-parse; undefined if csv-parse refuses it. */
function parsed(file: Buffer): (string | undefined)[][] | undefined {
  try {
    return parse(file, {
      encoding: 'latin1',
      record_delimiter: ['\r\n', '\n'],
      relax_column_count: true,
      cast: (cell, { quoting }) => (cell === '' && !quoting ? undefined : cell),
    })
  } catch {
    return undefined
  }
}

const file = fc
  .array(fc.constantFrom(',', ',', '\n', '\n', '\r\n', '\r', '"', '"', '""', 'a', ' ', ';', '\t', 'é'), {
    maxLength: 40,
  })
  .map((parts) => Buffer.from(parts.join('')))

suite('the rows of a CSV file', () => {
  test('equal those of csv-parse, with a refused row wherever csv-parse refuses the file', () => {
    holds(
      fc.property(file, (bytes) => {
        const expected = parsed(bytes)
        let rows: CsvRow[]
        try {
          rows = divided(bytes, bytes.length + 1)
        } catch {
          return assert.equal(expected, undefined)
        }
        if (expected === undefined) assert.ok(rows.some(({ isWellFormed }) => !isWellFormed))
        else
          assert.deepEqual(
            rows.map(({ cells }) => cells),
            expected,
          )
      }),
      { numRuns: 5000 },
    )
  })

  test('are the same for pieces of any size, and so are the numbers of their lines', () => {
    holds(
      fc.property(file, fc.integer({ min: 1, max: 10 }), (bytes, pieces) => {
        let whole: CsvRow[] | undefined
        try {
          whole = divided(bytes, bytes.length + 1)
        } catch {
          assert.throws(() => divided(bytes, pieces))
          return
        }
        assert.deepEqual(divided(bytes, pieces), whole)
        if (!whole.every(({ isWellFormed }) => isWellFormed)) return
        assert.deepEqual(
          whole.map(({ number }) => number),
          whole.map((_, i) => i + 1),
        )
        const lines = whole.map(({ line }) => line)
        const feeds = bytes.toString('latin1').split('\n').length
        assert.ok(lines.every((line, i) => line >= 1 && line <= feeds && (i === 0 || line > (lines[i - 1] ?? 0))))
      }),
      { numRuns: 3000 },
    )
  })

  test('are parsed in time proportional to their bytes, however small the pieces are', () => {
    const cell = Buffer.from(`"${'""\n'.repeat(100_000)}"\n`)
    const [row] = divided(cell, 1)
    assert.equal(row?.cells[0]?.length, 200_000)
    assert.equal(row?.isWellFormed, true)
  })
})
