import type { ImportRun, Outcome } from './run.ts'
import type { Sheet } from './sheet.ts'

/** A report for people: what became of the rows, then the refused ones with their reasons. */
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
  return csvOf(rows.map(lineOf))
}

/** The sheet again, with the ids that the page has given: to keep, and to print labels by. */
export async function sheetWithIds(sheet: Sheet, run: ImportRun): Promise<Blob> {
  const lines = [lineOf(['id', ...sheet.columns])]
  for await (const { row, id } of run.rowsWithIds()) {
    lines.push(lineOf([String(id), ...row.cells.slice(0, sheet.columns.length)]))
  }
  return csvOf(lines)
}

/** Excel takes a file without a byte order mark for Windows-1252. */
const csvOf = (lines: readonly string[]): Blob => new Blob(['\ufeff', lines.join('')], { type: 'text/csv' })

const lineOf = (cells: readonly (string | undefined)[]): string => `${cells.map(quoted).join(',')}\r\n`

const quoted = (cell = ''): string => (/[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)
