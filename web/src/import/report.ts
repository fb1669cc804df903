import type { Cells, CsvRow, Mapping } from '../../../src/import/csv-rows.ts'
import { shownIn } from '../../../src/import/sheet/row-text.ts'
import { say } from '../language/language.ts'
import type { PlainKey } from '../language/texts.ts'
import { plain } from '../page/named.ts'
import { spreadsheet } from '../page/spreadsheet.ts'
import { loadWorkbook } from './load-workbook.ts'
import type { Outcome } from './run.ts'
import type { Sheet } from './sheet.ts'

/** How many rows an import, or its check, has added and so on. Few have rows that are left out. */
export const figuresOf = (outcome: Outcome): readonly (readonly [title: PlainKey, count: number])[] => [
  ['import.added', outcome.added],
  ['import.updated', outcome.updated],
  ['import.unchanged', outcome.unchanged],
  ...(outcome.leftOut > 0 ? [['import.leftOut', outcome.leftOut] as const] : []),
  ['import.refused', outcome.refused],
]

/** Writes a report for people as CSV: the figures, then the refused rows with their reasons. */
export function reportOf(sheet: Sheet, outcome: Outcome): Blob {
  const { refused, refusedRows } = outcome
  const rows: string[][] = [
    [say('import.source'), sheet.file.name],
    ...figuresOf(outcome).map(([title, count]) => [say(title), String(count)]),
    [],
    [say('import.row'), say('import.content'), say('import.reason')],
    ...refusedRows.map(({ row, text, reason }) => [String(row), text, plain(reason)]),
  ]
  if (refused > refusedRows.length) rows.push(['', '', say('page.andMore', { more: refused - refusedRows.length })])
  return spreadsheet(rows)
}

/** Writes the sheet with a column of the ids that the service assigned, as a workbook. */
export async function sheetWithIds(
  sheet: Sheet,
  mapping: Mapping,
  rows: AsyncIterable<{ readonly row: CsvRow; readonly id: bigint }>,
): Promise<Blob> {
  const { workbookOf } = await loadWorkbook()
  const lines: Cells[] = [['id', ...namesIn(sheet, mapping)]]
  for await (const { row, id } of rows)
    lines.push([String(id), ...row.cells.slice(0, sheet.columns.length).map(shownIn)])
  return workbookOf(say('view.plants'), lines)
}

/** Writes the refused rows of a sheet under its columns, with the reasons in a further one. */
export async function refusedSheet(
  sheet: Sheet,
  mapping: Mapping,
  rows: AsyncIterable<{ readonly row: CsvRow; readonly reason: string }>,
): Promise<Blob> {
  const { length } = sheet.columns
  const lines: Cells[] = [[...namesIn(sheet, mapping), say('import.reason')]]
  for await (const { row, reason } of rows) {
    const cells = Array.from({ length }, (_, i) => shownIn(row.cells[i]))
    lines.push([...cells, plain(reason), ...row.cells.slice(length)])
  }
  return spreadsheet(lines)
}

/** The names of the columns. A sheet without names gets those that the page knows, so that the file can be imported. */
function namesIn({ columns, header }: Sheet, { id, name, tag }: Mapping): readonly string[] {
  if (header !== 0) return columns
  const members = new Map([
    [name[0], 'name'],
    [tag, 'tag'],
    [id, 'id'],
  ])
  return columns.map((column, i) => members.get(i) ?? column)
}
