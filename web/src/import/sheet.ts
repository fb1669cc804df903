import { CsvRows, isBlank, type Row, type Separator, separatorOf } from './csv-rows.ts'
import { type Encoding, encodingOf, textsOf } from './encoding.ts'

/** Bytes that the page reads for a preview, and rows that the preview shows. */
const LOOK = 65_536
const SHOWN = 5

/** A spreadsheet saved as CSV. */
export interface Sheet {
  readonly file: File
  readonly encoding: Encoding
  readonly separator: Separator
  /** The names of the columns, from the first row that is not blank. */
  readonly columns: readonly string[]
  readonly preview: readonly Row[]
}

/** @throws Error that tells the person why the file is not readable as CSV */
export async function openSheet(
  file: File,
  chosen: Partial<Pick<Sheet, 'encoding' | 'separator'>> = {},
): Promise<Sheet> {
  const start = new Uint8Array(await file.slice(0, 4).arrayBuffer())
  if (start[0] === 0x50 && start[1] === 0x4b)
    throw new Error('This is a workbook. Save the sheet as CSV, then drop that file.')
  const encoding = chosen.encoding ?? (await encodingOf(file))
  const text = await beginning(file, encoding)
  const separator = chosen.separator ?? separatorOf(text)
  const rows = firstRows(text, separator)
  const [head, ...preview] = rows
  if (head === undefined) throw new Error('The file has no rows.')
  const last = head.cells.findLastIndex((cell) => cell !== undefined && cell.trim() !== '')
  const columns = head.cells.slice(0, last + 1).map((cell, i) => cell?.trim() || `Column ${i + 1}`)
  return { file, encoding, separator, columns, preview }
}

/** Yields the rows below the head, without blank ones. */
export async function* rowsOf({ file, encoding, separator }: Sheet): AsyncGenerator<Row, void> {
  const rows = new CsvRows(separator)
  let isHeadSeen = false
  const wanted = (row: Row): boolean => {
    if (isBlank(row) || isSeparatorRow(row)) return false
    if (isHeadSeen) return true
    isHeadSeen = true
    return false
  }
  const reader = textsOf(file, encoding).getReader()
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) break
      for (const row of rows.divide(value)) if (wanted(row)) yield row
    }
    for (const row of rows.end()) if (wanted(row)) yield row
  } finally {
    await reader.cancel()
  }
}

async function beginning(file: File, encoding: Encoding): Promise<string> {
  const bytes = await file.slice(0, LOOK).arrayBuffer()
  // The last character may be incomplete; `stream` leaves it out.
  return new TextDecoder(encoding).decode(bytes, { stream: true })
}

function firstRows(text: string, separator: Separator): Row[] {
  const found: Row[] = []
  const rows = new CsvRows(separator)
  const take = (divided: Generator<Row, void>) => {
    for (const row of divided) {
      if (!isBlank(row) && !isSeparatorRow(row)) found.push(row)
      if (found.length > SHOWN) break
    }
  }
  take(rows.divide(text))
  // A text this short is the whole file, as a character has at most four bytes. Its last row may lack a line end.
  if (found.length <= SHOWN && text.length < LOOK / 4) take(rows.end())
  return found
}

const isSeparatorRow = ({ number, cells }: Row): boolean =>
  number === 1 && /^sep=[,;\t]?$/i.test(cells[0] ?? '') && cells.slice(1).every((cell) => cell === undefined)
