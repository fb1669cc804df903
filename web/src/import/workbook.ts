import readWorkbook from 'read-excel-file/universal'
import { csvLine } from '../../../src/import/csv-rows.ts'

/** A sheet of a workbook, as a file of CSV with commas, whose rows have the numbers of the sheet. */
export interface WorkbookSheet {
  readonly name: string
  readonly csv: File
}

/**
 * Reads the sheets of a workbook (.xlsx) that have cells. Long numbers keep the digits that the file has: a JavaScript
 * number would round long ids. The page loads this module only for a workbook.
 *
 * @throws Error when the file is no workbook
 */
export async function sheetsIn(file: File): Promise<readonly WorkbookSheet[]> {
  const sheets = await readWorkbook(await file.arrayBuffer(), { trim: false, parseNumber })
  return sheets
    .filter(({ data }) => data.length > 0)
    .map(({ sheet: name, data }) => {
      const lines = data.map((cells) => csvLine(cells.map((cell) => (cell === null ? undefined : textOf(cell)))))
      return { name, csv: new File(lines, file.name) }
    })
}

/** Java programs write each number as a double, such as 1.0 or 1.2345678E7. */
function parseNumber(digits: string): string {
  const number = Number(digits)
  return Number.isSafeInteger(number) ? String(number) : digits
}

function textOf(cell: unknown): string {
  if (!(cell instanceof Date)) return String(cell)
  const text = cell.toISOString()
  return text.endsWith('T00:00:00.000Z') ? text.slice(0, 10) : text
}
