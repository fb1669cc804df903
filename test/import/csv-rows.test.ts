import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { parse } from 'csv-parse/sync'
import fc from 'fast-check'
import { type CsvRow, CsvRows } from '../../src/import/csv-rows.ts'
import { pluck } from '../support/pluck.ts'
import { holds } from '../support/property.ts'

const LIMIT = 2 ** 20

function divided(file: Buffer, pieces: number, { limit = LIMIT, isQuoted = true } = {}): CsvRow[] {
  const rows = new CsvRows(limit)
  rows.separator = ','
  rows.isQuoted = isQuoted
  const all: CsvRow[] = []
  for (let at = 0; at < file.length; at += pieces) {
    all.push(...rows.divide(file.toString('latin1', at, at + pieces)))
  }
  all.push(...rows.end())
  return all
}

const RULE = 'put a text that contains one between quotation marks, and double those inside'

/** Parses the file by csv-parse; undefined if csv-parse refuses it. @param relaxed whether a cell may have marks */
function parsed(file: Buffer, relaxed = false): (string | undefined)[][] | undefined {
  try {
    return parse(file, {
      encoding: 'latin1',
      record_delimiter: ['\r\n', '\n'],
      relax_column_count: true,
      relax_quotes: relaxed,
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
  test('equal those of csv-parse, with a refused row or marks as letters wherever csv-parse refuses the file', () => {
    holds(
      fc.property(file, (bytes) => {
        const expected = parsed(bytes)
        let rows: CsvRow[]
        try {
          rows = divided(bytes, bytes.length + 1)
        } catch {
          return assert.equal(expected, undefined)
        }
        const isRefused = rows.some(({ fault }) => fault !== undefined)
        if (expected === undefined && isRefused) return
        assert.deepEqual(pluck(rows, 'cells'), expected ?? parsed(bytes, true))
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
        if (whole.some(({ fault }) => fault !== undefined)) return
        for (const [i, { number }] of whole.entries()) assert.equal(number, i + 1)
        const lines = whole.map(({ line }) => line)
        const feeds = bytes.toString('latin1').split('\n').length
        assert.ok(lines.every((line, i) => line >= 1 && line <= feeds && (i === 0 || line > (lines[i - 1] ?? 0))))
      }),
      { numRuns: 3000 },
    )
  })

  test('have every line of the file that is not blank, each once, whatever its quotation marks and its size', () => {
    holds(
      fc.property(file, fc.constantFrom(3, 9, LIMIT), fc.integer({ min: 1, max: 10 }), (bytes, limit, pieces) => {
        const lines = bytes.toString('latin1').split('\n')
        let next = 1
        const skipTo = (line: number): void => {
          for (; next < line; next++) assert.match(lines[next - 1] ?? '', /^[ \t,\r]*$/)
          assert.equal(next, line)
        }
        for (const { line, cells, fault } of divided(bytes, pieces, { limit })) {
          skipTo(line)
          next += fault === undefined ? cells.join('').split('\n').length : 1
        }
        skipTo(Math.max(next, lines.length + 1))
      }),
      { numRuns: 5000 },
    )
  })

  test('are refused with a line end behind a closing quotation mark, also where a row has blanks alone', () => {
    const [row, ...others] = divided(Buffer.from('"\t"\r,'), 2)
    assert.deepEqual([row?.cells, others], [['"\t"\r', undefined], []])
    assert.match(row?.fault?.message ?? '', /^a quotation mark is misplaced/)
  })

  test('have marks as letters in pairs and behind digits, and the text of a formula that is one', () => {
    const file = '="007",=7,=\nRosa "Peace",6" pot,10" x 12"\n="a"&"b",x,x\n, "a",x\na",x,x\n'
    assert.deepEqual(
      divided(Buffer.from(file), 3).map(({ cells, fault }) => (fault === undefined ? cells : 'refused')),
      [['007', '=7', '='], ['Rosa "Peace"', '6" pot', '10" x 12"'], 'refused', 'refused', 'refused'],
    )
  })

  test('keep their quotation marks where a person says that these are letters', () => {
    const rows = divided(Buffer.from('"Abies" alba,"a\n"b,c"\r\nx,""\n'), 3, { isQuoted: false })
    const expected = [
      ['"Abies" alba', '"a'],
      ['"b', 'c"'],
      ['x', '""'],
    ]
    assert.deepEqual(pluck(rows, 'cells'), expected)
    for (const { fault } of rows) assert.equal(fault, undefined)
  })

  test('show what stands in each line that a fault reaches over', () => {
    const rows = divided(Buffer.from('1,"a ""b"" c",x\n2,"a,"b"\n3,"a, "" b\n\n4,c\n'), 4)
    assert.deepEqual(
      rows.map(({ line, number, cells, fault }) => [line, number, cells, fault?.message]),
      [
        [1, 1, ['1', 'a "b" c', 'x'], undefined],
        [2, 2, ['2', '"a', '"b"'], `a quotation mark is misplaced: ${RULE}`],
        [3, 3, ['3', '"a', ' "" b'], `a quotation mark is not closed: ${RULE}`],
        [5, 5, ['4', 'c'], 'the quotation marks of the row at line 3 reach over this line: one of them is not closed'],
      ],
    )
  })

  test('are parsed in time proportional to their bytes, however small the pieces are', () => {
    const cell = Buffer.from(`"${'""\n'.repeat(100_000)}"\n`)
    const [row] = divided(cell, 1)
    assert.equal(row?.cells[0]?.length, 200_000)
    assert.equal(row?.fault, undefined)
  })
})
