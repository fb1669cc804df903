import { type CsvRow, csvLine } from '../../../src/import/csv-rows.ts'
import type { Outcome } from './run.ts'
import type { Sheet } from './sheet.ts'

/** Writes a report for people as CSV: the figures, then the refused rows with their reasons. */
export function reportOf(sheet: Sheet, { added, updated, unchanged, refused, refusedRows }: Outcome): Blob {
  const rows: string[][] = [
    ['File', sheet.file.name],
    ['Added', String(added)],
    ['Updated', String(updated)],
    ['Unchanged', String(unchanged)],
    ['Refused', String(refused)],
    [],
    ['Row', 'Reason'],
    ...refusedRows.map(({ row, reason }) => [String(row), reason]),
  ]
  if (refused > refusedRows.length) rows.push(['', `and ${refused - refusedRows.length} more`])
  return csvOf(rows.map((row) => csvLine(row)))
}

/** Writes the sheet with a column of the ids that the page assigned. */
export async function sheetWithIds(
  sheet: Sheet,
  rows: AsyncIterable<{ readonly row: CsvRow; readonly id: bigint }>,
): Promise<Blob> {
  const lines = [csvLine(['id', ...sheet.columns])]
  for await (const { row, id } of rows) {
    lines.push(csvLine([String(id), ...row.cells.slice(0, sheet.columns.length)]))
  }
  return csvOf(lines)
}

/** Adds a byte order mark: without one, Excel reads a file as Windows-1252. */
const csvOf = (lines: readonly string[]): Blob => new Blob(['\ufeff', lines.join('')], { type: 'text/csv' })
