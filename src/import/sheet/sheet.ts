import {
  type CsvRow,
  CsvRows,
  isBlank,
  isNothing,
  isSeparator,
  letters,
  SEPARATORS,
  type Separator,
  separatorRow,
} from '../csv-rows.ts'
import type { WorkbookSheet } from '../workbook/workbook.ts'
import { meaningOf } from './column-names.ts'
import { unnamed } from './columns.ts'
import { encodingOf, textsOf } from './encoding.ts'
import { guess } from './guess.ts'
import type { Encoding } from './guess-encoding.ts'
import { headerIn } from './header.ts'
import { SEVERAL } from './looks.ts'

/** Bytes of the beginning of a file that show how to read it. */
export const LOOK = 65_536
/** Rows in which the names of the columns are looked for. */
const HEAD_ROWS = 20
/** Rows by which the columns are guessed, as far as they are in the beginning. */
const MOST_ROWS = 500
const MOST_CHARACTERS = 2 ** 21 + 64

export interface Sheet {
  readonly file: Blob
  readonly encoding: Encoding
  readonly separator: Separator
  /** Whether texts may be in quotation marks, as RFC 4180 says. */
  readonly isQuoted: boolean
  /** Whether texts are in typographic quotation marks, as word processors write them. */
  readonly hasCurlyMarks: boolean
  /** The number of the row that names the columns. The rows above it are titles. 0: no row names them. */
  readonly header: number
  /** The names of the columns; for one without a name, what `unnamed` of `openSheet` returns. */
  readonly columns: readonly string[]
  /** The first rows that are not blank, in the whole sheet. None for a file without cells. */
  readonly first: readonly CsvRow[]
  readonly below: readonly CsvRow[]
}

/** How to read a sheet, as far as it is known. */
export type Reading = Partial<Pick<Sheet, 'encoding' | 'separator' | 'isQuoted' | 'header'>>

/** How the reader of workbooks writes a sheet. */
export const AS_WRITTEN = { encoding: 'utf-8', separator: ',', isQuoted: true } as const

/** Sheets of a workbook that are opened to find the one of the plants. */
const MOST_OPENED = 20

/**
 * The sheet of a workbook that has names of plants, with most rows of several columns: the first one may say who made
 * the workbook, and a longer one list what cells may have.
 */
export async function plantSheetOf(sheets: readonly WorkbookSheet[]): Promise<WorkbookSheet | undefined> {
  const fullest = sheets.toSorted((a, b) => b.tableRows - a.tableRows)
  for (const sheet of fullest.slice(0, MOST_OPENED)) {
    const { columns, below, header } = await openSheet(sheet.csv, AS_WRITTEN)
    if (guess(columns, below, header !== 0, true).name.length > 0) return sheet
  }
  return fullest[0]
}

/** The first bytes of a ZIP archive, and of the container of old workbooks and of those with a password. */
const WORKBOOKS = ['PK\x03\x04', '\xd0\xcf\x11\xe0']

/** Whether a file is a workbook or has the form of one, whatever its name. */
export async function isWorkbook(file: Blob): Promise<boolean> {
  const start = String.fromCharCode(...new Uint8Array(await file.slice(0, 4).arrayBuffer()))
  return WORKBOOKS.includes(start)
}

interface Opening {
  /** Names a column without a name, by the letters that spreadsheet programs give it. */
  readonly unnamed?: (letters: string) => string
  /** Returns the number of the row that names the columns, or 0. @param rows the first rows that are not blank */
  readonly findHeader?: (rows: readonly CsvRow[]) => number
  /** Whether the file is only the beginning of one. */
  readonly isBeginning?: boolean
}

/**
 * Decides how to read a sheet: by what the caller knows, else as the file looks.
 *
 * @throws AppError 40001 that names the kind of a file that is no text; what `findHeader` throws
 */
export async function openSheet(file: Blob, chosen: Reading = {}, opening: Opening = {}): Promise<Sheet> {
  const { unnamed: named = unnamed, findHeader = headerIn, isBeginning = false } = opening
  const encoding = chosen.encoding ?? (await encodingOf(file, isBeginning ? MOST_GUESSED : undefined))
  const text = await beginning(file, encoding)
  const separator = chosen.separator ?? separatorOf(text)
  const isQuoted =
    chosen.isQuoted ?? (quotes(text, separator) || !(await hasStrayMark(file, encoding, separator, isBeginning)))
  const found = firstRows(text, separator, isQuoted)
  const hasCurlyMarks = isQuoted && isInCurlyMarks(found[0])
  const rows = [...tidied(found, { separator, hasCurlyMarks })]
  const first = rows.slice(0, HEAD_ROWS)
  const header = first.length === 0 ? 0 : (chosen.header ?? findHeader(first))
  const below = rows.filter(({ number }) => number > header)
  const written = first.find(({ number }) => number === header)?.cells ?? []
  const names = areNumbered(below, written) ? [undefined, ...written] : written
  // A row has a cell without a name by intent where the row of the names has a place for it.
  const own = below.filter(({ cells }) => cells.length <= names.length)
  const width = Math.max(
    lastFilled(names) + 1,
    widthOf(own, 1),
    header === 0 ? widthOf(below, 1) : widthOf(below, below.length / 2),
  )
  const columns = Array.from({ length: width }, (_, i) => names[i]?.trim() || named(letters(i)))
  return { file, encoding, separator, isQuoted, hasCurlyMarks, header, columns, first, below }
}

/** Whether rows begin with their numbers, below no name, as R writes tables: the first name is of something else. */
const areNumbered = (rows: readonly CsvRow[], names: CsvRow['cells']): boolean =>
  (meaningOf(names[0]) ?? 'id') !== 'id' &&
  rows.length >= SEVERAL &&
  rows.every(
    ({ cells }, i) => cells.length === names.length + 1 && Number(cells[0]) > Number(rows[i - 1]?.cells[0] ?? -1),
  )

/** Bytes by which a service guesses an encoding. Each KiB takes it 2 to 4 ms, in which it answers nobody else. */
const MOST_GUESSED = 4096

/** The number of columns that so many rows fill. A few cells beyond the header are probably faults of their rows. */
function widthOf(rows: readonly CsvRow[], least: number): number {
  const widths = rows.map(({ cells }) => lastFilled(cells) + 1).toSorted((a, b) => b - a)
  return widths[Math.ceil(least) - 1] ?? 0
}

const lastFilled = (cells: CsvRow['cells']): number => cells.findLastIndex((cell) => !isNothing(cell))

/**
 * What a sheet has, piece by piece of its file. Read each piece to its end before the next one: an iterator that awaits
 * for each row takes a tenth of the processor time of an import.
 */
export type Pieces<T> = AsyncGenerator<Iterable<T>, void>

/** Yields the rows below the header, without blank ones. */
export async function* rowsOf(sheet: Sheet): Pieces<CsvRow> {
  const rows = rowsBy(sheet.separator, sheet.isQuoted)
  for await (const text of textsOf(sheet.file, sheet.encoding)) yield plantRows(rows.divide(text), sheet)
  yield plantRows(rows.end(), sheet)
}

type Form = Pick<Sheet, 'separator' | 'hasCurlyMarks'>

/**
 * Yields the rows below the header, without blank ones.
 *
 * @param coded writes a text as the rows have it
 */
export function* plantRows(
  rows: Iterable<CsvRow>,
  sheet: Form & Pick<Sheet, 'header'>,
  coded = (text: string): string => text,
): Generator<CsvRow, void> {
  for (const row of tidied(rows, sheet, coded)) {
    if (row.number > sheet.header && !isBlank(row) && !isSeparatorRow(row)) yield row
  }
}

/** Takes away the byte order mark of a file that was joined to another one, and typographic marks around texts. */
function* tidied(
  rows: Iterable<CsvRow>,
  { separator, hasCurlyMarks }: Form,
  coded = (text: string): string => text,
): Generator<CsvRow, void> {
  const [joint, left, right] = ['\ufeff', '“', '”'].map(coded) as [string, string, string]
  for (const row of rows) {
    const first = row.cells[0]
    const cells = first?.startsWith(joint) === true ? row.cells.with(0, first.slice(joint.length)) : row.cells
    if (cells === row.cells && !hasCurlyMarks) yield row
    else yield { ...row, cells: hasCurlyMarks ? withoutMarks(cells, separator, left, right) : cells }
  }
}

const isInCurlyMarks = (row: CsvRow | undefined): boolean =>
  row?.cells.every((cell) => isNothing(cell) || /^\s*“[^“”]*”\s*$/.test(cell ?? '')) === true

/** Joins cells where a separator is between marks. */
function withoutMarks(cells: CsvRow['cells'], separator: Separator, left: string, right: string): CsvRow['cells'] {
  const joined: (string | undefined)[] = []
  let from: number | undefined
  for (const [i, cell] of cells.entries()) {
    const text = cell?.trim() ?? ''
    if (from === undefined && !text.startsWith(left)) {
      joined.push(cell)
      continue
    }
    from ??= i
    if (!text.endsWith(right)) continue
    const whole = cells.slice(from, i + 1).join(separator)
    joined.push(whole.trim().slice(left.length, -right.length))
    from = undefined
  }
  return from === undefined ? joined : joined.concat(cells.slice(from))
}

async function beginning(file: Blob, encoding: Encoding): Promise<string> {
  let text = ''
  for await (const piece of textsOf(file.slice(0, LOOK), encoding)) text += piece
  // The last character may be incomplete, and then decodes to this one.
  return text.replace(/\ufffd$/, '')
}

function rowsBy(separator: Separator, isQuoted: boolean): CsvRows {
  const rows = new CsvRows(MOST_CHARACTERS, 'number')
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
      if (found.length === MOST_ROWS) break
    }
  }
  take(rows.divide(text))
  if (text.length < LOOK / 4 || found.length < HEAD_ROWS) take(rows.end())
  return found
}

/** Whether texts are in quotation marks where one has the separator: not between tabs and bars, nor in a list of names. */
const quotes = (text: string, separator: Separator): boolean =>
  (separator === ',' || separator === ';') && firstRows(text, separator, false).some(({ cells }) => cells.length > 1)

/**
 * Whether a file that may do without has a quotation mark that is a part of its text, as those of GBIF: one that is
 * misplaced, or from which a text reaches over line ends and separators.
 */
async function hasStrayMark(
  file: Blob,
  encoding: Encoding,
  separator: Separator,
  isBeginning: boolean,
): Promise<boolean> {
  const rows = rowsBy(separator, true)
  const isStray = ({ cells, fault }: CsvRow): boolean =>
    fault !== undefined || cells.some((cell) => cell?.includes('\n') === true && cell.includes(separator))
  for await (const text of textsOf(file, encoding)) {
    for (const row of rows.divide(text)) if (isStray(row)) return true
  }
  // The beginning of a file may end within a text.
  return !isBeginning && [...rows.end()].some(isStray)
}

/** Whether a row says `sep=;` or the like. */
export const isSeparatorRow = (row: CsvRow): boolean => row.number === 1 && separatorRow(row, ANY) !== undefined
const ANY: ReadonlySet<Separator> = new Set([','])

/** Whether a separator is in the row of the names of columns, though hardly below it. */
function namesColumns(text: string, separator: Separator): boolean {
  const names = firstRows(text, separator).find(({ cells }) => cells.some((cell) => meaningOf(cell) !== undefined))
  return names !== undefined && names.cells.length > 1
}

/** Rows with one cell for each other one, in a list of names. */
const LIST = 4

/**
 * Returns the separator that a first row such as `sep=;` names, or else the one by which most rows have the same number
 * of cells; in a list of names, of which a few have a comma, the one by which most rows have one cell.
 */
function separatorOf(text: string): Separator {
  const said = /^"?sep=([,;\t|])/i.exec(text)?.[1] ?? ''
  if (isSeparator(said)) return said
  const scores = Object.keys(SEPARATORS)
    .filter(isSeparator)
    .map((separator) => {
      const counts = Map.groupBy(firstRows(text, separator), ({ cells }) => cells.length)
      const whole = counts.get(1)?.length ?? 0
      counts.delete(1)
      const [most = 0, cells = 0] = [...counts]
        .map(([count, rows]) => [rows.length, count] as const)
        .reduce((best, each) => (each[0] > best[0] ? each : best), [0, 0] as const)
      return { separator, most, cells, whole }
    })
  const [best] = scores.toSorted((a, b) => b.most - a.most || b.cells - a.cells)
  const [least] = scores.toSorted((a, b) => b.whole - a.whole)
  if (best === undefined || best.most === 0) return ','
  const isList = best.whole >= LIST * best.most && !namesColumns(text, best.separator)
  return (isList ? least : best)?.separator ?? ','
}
