import {
  type CsvRow,
  CsvRows,
  isBlank,
  isNothing,
  isSeparator,
  SEPARATORS,
  type Separator,
  separatorRow,
} from '../../../src/import/csv-rows.ts'
import { say } from '../language/language.ts'
import { PageError } from '../said.ts'
import { encodingOf, textsOf } from './encoding.ts'
import { headerIn } from './guess.ts'
import type { Encoding } from './guess-encoding.ts'

/** Bytes that the page reads for a preview. */
const LOOK = 65_536
/** Rows in which the page looks for the names of the columns, and plants that the preview shows. */
const FIRST = 20
const SHOWN = 5
/** The most characters of a row, as in the service. */
const LARGEST = 2 ** 21 + 64

/** A spreadsheet saved as CSV. */
export interface Sheet {
  readonly file: File
  readonly encoding: Encoding
  readonly separator: Separator
  /** Whether texts may be in quotation marks, as RFC 4180 says. */
  readonly isQuoted: boolean
  /** The number of the row that names the columns. The rows above it are titles. 0: no row names them. */
  readonly header: number
  /** The names of the columns; `Column C` or the like for one without a name. */
  readonly columns: readonly string[]
  /** The first rows that are not blank, in the whole sheet. */
  readonly first: readonly CsvRow[]
  /** Those of them below the header. */
  readonly below: readonly CsvRow[]
  /** Those that the page shows. */
  readonly preview: readonly CsvRow[]
}

/** How to read a sheet, as far as the person has said it. */
export type Reading = Partial<Pick<Sheet, 'encoding' | 'separator' | 'isQuoted' | 'header'>>

/** The first bytes of a ZIP archive, and of the container in which Excel puts a workbook with a password. */
const ARCHIVE = 'PK\x03\x04'
const CONTAINER = '\xd0\xcf\x11\xe0'

/** Whether a file is a workbook as Excel saves it today, whatever its name. One with a password needs the name. */
export async function isWorkbook(file: File): Promise<boolean> {
  const start = String.fromCharCode(...new Uint8Array(await file.slice(0, 4).arrayBuffer()))
  return start === ARCHIVE || (start === CONTAINER && /\.xls[xm]$/i.test(file.name))
}

/** @throws Error that tells the person why the file is not readable as CSV */
export async function openSheet(file: File, chosen: Reading = {}): Promise<Sheet> {
  const encoding = chosen.encoding ?? (await encodingOf(file))
  const text = await beginning(file, encoding)
  const separator = chosen.separator ?? separatorOf(text)
  const isQuoted = chosen.isQuoted ?? (separator !== '\t' || !(await hasStrayMark(file, encoding)))
  const first = firstRows(text, separator, isQuoted)
  if (first.length === 0) throw new PageError(say('import.noRows'))
  const header = chosen.header ?? headerIn(first)
  const names = first.find(({ number }) => number === header)?.cells ?? []
  const below = first.filter(({ number }) => number > header)
  const width = Math.max(lastFilled(names) + 1, widthOf(below, header === 0 ? 1 : below.length / 2))
  const columns = Array.from(
    { length: width },
    (_, i) => names[i]?.trim() || say('import.column', { letters: letters(i) }),
  )
  return { file, encoding, separator, isQuoted, header, columns, first, below, preview: below.slice(0, SHOWN) }
}

/** The number of columns that so many rows fill. A few cells beyond the header are probably faults of their rows. */
function widthOf(rows: readonly CsvRow[], least: number): number {
  const widths = rows.map(({ cells }) => lastFilled(cells) + 1).toSorted((a, b) => b - a)
  return widths[Math.ceil(least) - 1] ?? 0
}

const lastFilled = (cells: CsvRow['cells']): number => cells.findLastIndex((cell) => !isNothing(cell))

/** The name that spreadsheet programs give a column: A to Z, AA, AB and so on. */
function letters(i: number): string {
  const last = String.fromCharCode(65 + (i % 26))
  return i < 26 ? last : letters(Math.floor(i / 26) - 1) + last
}

/** Yields the rows below the header, without blank ones. */
export async function* rowsOf({ file, encoding, separator, isQuoted, header }: Sheet): AsyncGenerator<CsvRow, void> {
  const rows = rowsBy(separator, isQuoted)
  const isWanted = (row: CsvRow): boolean => row.number > header && !isBlank(row) && !isSeparatorRow(row)
  try {
    for await (const text of textsOf(file, encoding)) {
      for (const row of rows.divide(text)) if (isWanted(row)) yield row
    }
  } catch (error) {
    // So browsers report a file that was changed or deleted since it was chosen.
    throw error instanceof TypeError ? new PageError(say('fault.fileChanged')) : error
  }
  for (const row of rows.end()) if (isWanted(row)) yield row
}

async function beginning(file: File, encoding: Encoding): Promise<string> {
  let text = ''
  for await (const piece of textsOf(file.slice(0, LOOK), encoding)) text += piece
  // The last character may be incomplete, and then decodes to this one.
  return text.replace(/\ufffd$/, '')
}

function rowsBy(separator: Separator, isQuoted: boolean): CsvRows {
  const rows = new CsvRows(LARGEST, 'number')
  rows.separator = separator
  rows.isQuoted = isQuoted
  return rows
}

function firstRows(text: string, separator: Separator, isQuoted = true): CsvRow[] {
  const found: CsvRow[] = []
  const rows = rowsBy(separator, isQuoted)
  const take = (divided: Generator<CsvRow, void>) => {
    for (const row of divided) {
      if (!isBlank(row) && !isSeparatorRow(row)) found.push(row)
      if (found.length === FIRST) break
    }
  }
  take(rows.divide(text))
  if (found.length < FIRST) take(rows.end())
  return found
}

/**
 * Whether a file with tabs has a quotation mark that is a part of its text, as those of GBIF: one that is misplaced, or
 * from which a text reaches over line ends and tabs.
 */
async function hasStrayMark(file: File, encoding: Encoding): Promise<boolean> {
  const rows = rowsBy('\t', true)
  const isStray = ({ cells, fault }: CsvRow): boolean =>
    fault !== undefined || cells.some((cell) => cell?.includes('\n') === true && cell.includes('\t'))
  for await (const text of textsOf(file, encoding)) {
    for (const row of rows.divide(text)) if (isStray(row)) return true
  }
  return [...rows.end()].some(isStray)
}

const isSeparatorRow = (row: CsvRow): boolean => row.number === 1 && separatorRow(row, ANY) !== undefined
const ANY: ReadonlySet<Separator> = new Set([','])

/**
 * Returns the separator that a first row such as `sep=;` names, or else the one by which most rows have the same number
 * of cells.
 */
function separatorOf(text: string): Separator {
  const said = /^"?sep=([,;\t])/i.exec(text)?.[1] ?? ''
  if (isSeparator(said)) return said
  const scores = Object.keys(SEPARATORS)
    .filter(isSeparator)
    .map((separator) => {
      const counts = Map.groupBy(firstRows(text, separator), ({ cells }) => cells.length)
      counts.delete(1)
      const [most = 0, cells = 0] = [...counts]
        .map(([count, rows]) => [rows.length, count] as const)
        .reduce((best, each) => (each[0] > best[0] ? each : best), [0, 0] as const)
      return { separator, most, cells }
    })
  const [best] = scores.toSorted((a, b) => b.most - a.most || b.cells - a.cells)
  return best?.separator ?? ','
}
