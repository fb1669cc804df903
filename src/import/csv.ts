import { shown } from '../base/printable.ts'
import { AppError } from '../domain/errors.ts'
import { deletedPlant, type ImportedPlant, type ImportMode, type NewPlant, validatePlant } from '../domain/plant.ts'
import { type Batch, batchesOf, ROW_LIMIT } from './batch.ts'
import {
  type Cells,
  type CsvRow,
  CsvRows,
  candidateOf,
  cellOf,
  isBlank,
  type Mapping,
  SEPARATORS,
  type Separator,
  separatorRow,
} from './csv-rows.ts'
import { textOf } from './encoding.ts'

/**
 * Reads a plant from each row below a header of `id`, `name` and optionally `tag`, in any order; of `id` alone in a file
 * of plants to delete. The header decides whether commas, semicolons, tabs or vertical bars separate the cells. Ignores rows of blank
 * cells. Each other row below the header has a plant or is refused.
 */
export function readCsv(text: AsyncIterable<Buffer>, mode?: ImportMode): AsyncGenerator<Batch, void> {
  const rows = new CsvRows(ROW_LIMIT)
  let columns: Columns | undefined
  const takeHeader = (row: CsvRow): void => {
    const isFirst = rows.separator === undefined
    rows.separator ??= separatorRow(row, rows.used)
    if (isFirst && rows.separator !== undefined) return
    columns = columnsOf(row, rows.used, mode)
    rows.separator ??= [...rows.used][0]
  }
  const belowHeader = function* (divided: Generator<CsvRow, void>): Generator<CsvRow & { columns: Columns }, void> {
    for (const row of divided) {
      if (isBlank(row)) continue
      if (columns === undefined) takeHeader(row)
      else yield { ...row, columns }
    }
  }
  const divider = {
    divide: (chunk: Buffer) => belowHeader(rows.divide(chunk.toString('latin1'))),
    *end() {
      yield* belowHeader(rows.end())
      if (columns === undefined) throw new AppError(40001, `the file has no header; ${HEADER_RULE}`)
    },
  }
  return batchesOf(text, divider, (row) => plantOf(row, row.columns, mode))
}

function plantOf(row: CsvRow, columns: Columns, mode: ImportMode | undefined): ImportedPlant {
  const candidate = candidateOf(row, columns, columns.count, isComplete(row, columns), textOf)
  if (mode === 'delete' && columns.name.length === 0) return deletedPlant(candidate, shown)
  if (mode === 'delete') return deletedPlant({ ...candidate, name: candidate.name ?? '' }, shown)
  return validatePlant({ ...candidate, name: candidate.name ?? '' }, shown)
}

/**
 * Whether a row has all cells of the header. It may lack an empty tag at its end, which spreadsheets leave out. Without
 * a line end the row is the last one, and may be truncated.
 */
const isComplete = ({ cells, isEnded }: CsvRow, { id, name, count }: Columns): boolean =>
  cells.length >= count || (isEnded && cells.length > Math.max(id, ...name))

export const CSV_HEADER = 'id,name,tag\r\n'

/** Writes a row by RFC 4180, with CRLF. An absent tag is an empty cell, an empty text is `""`. */
export const csvRow = ({ id, name, tag }: NewPlant): string =>
  `${id},${cellOf(name)},${tag === undefined ? '' : cellOf(tag)}\r\n`

const COLUMNS = ['id', 'name', 'tag'] as const

export interface Columns extends Mapping {
  readonly id: number
  /** Columns with a name. The header may have further cells without one. */
  readonly count: number
}

/** The end of every message about a header. */
const HEADER_RULE = 'the first row must name the columns id, name and optionally tag'

const MAX_COLUMNS = 1000
const MAX_NAMED = 5

/**
 * Finds the columns in the header. Ignores case and surrounding blanks of their names. Cells without a name may follow.
 *
 * @param used the separators between its cells
 * @throws AppError 40001 that names the columns of the header, or 41301
 */
export function columnsOf({ cells, fault }: CsvRow, used: ReadonlySet<Separator>, mode?: ImportMode): Columns {
  if (fault?.error === 41301) throw new AppError(41301, `the header is not valid: ${fault.message}`)
  const names = namesIn(cells)
  const keys = names.map((name) => name.toLowerCase())
  const isIdAlone = mode === 'delete' && keys.length === 1 && keys[0] === 'id'
  const faults = isIdAlone ? [] : faultsOf(names, keys)
  if (fault !== undefined) faults.push('a quotation mark is misplaced')
  if (used.size > 1)
    faults.push(`it separates columns by ${[...used].map((each) => SEPARATORS[each]).join(' and by ')}`)
  if (faults.length > 0) {
    throw new AppError(40001, `the header is not valid: ${faults.join('; ')}; ${HEADER_RULE}`)
  }
  const [id = 0, name = 0, tag = -1] = COLUMNS.map((column) => keys.indexOf(column))
  return { id, name: isIdAlone ? [] : [name], tag: tag === -1 ? undefined : tag, count: names.length }
}

function namesIn(cells: Cells): string[] {
  const count = cells.findLastIndex((cell) => cell !== undefined && cell.trim() !== '') + 1
  if (count > MAX_COLUMNS) {
    throw new AppError(40001, `the header is not valid: it has ${count} columns; ${HEADER_RULE}`)
  }
  return cells.slice(0, count).map((cell) => textOf(cell ?? '').trim())
}

function faultsOf(names: readonly string[], keys: readonly string[]): string[] {
  if (names[0]?.includes('\\n')) return ['the file is one JSON text; send it raw']
  if (names.some((name) => name.includes('\r'))) return ['its lines end by CR alone; save the file as CSV UTF-8']
  const isKnown = (key: string) => COLUMNS.some((column) => column === key)
  if (!keys.some(isKnown)) return [`its first row has ${list(names)}${hintOf(names)}`]
  const unknown = names.filter((name) => !isKnown(name.toLowerCase()))
  const repeated = COLUMNS.filter((column) => keys.indexOf(column) !== keys.lastIndexOf(column))
  const missing = ['id', 'name'].filter((column) => !keys.includes(column))
  return [
    ...(unknown.length > 0
      ? [`it has the unknown ${unknown.length === 1 ? 'column' : 'columns'} ${list(unknown)}`]
      : []),
    ...repeated.map((column) => `the column ${column} occurs twice`),
    ...missing.map((column) => `the column ${column} is missing`),
  ]
}

function list(names: readonly string[]): string {
  const named = names.slice(0, MAX_NAMED).map(shown).join(', ')
  return names.length > MAX_NAMED ? `${named} and ${names.length - MAX_NAMED} more` : named
}

function hintOf([first = '']: readonly string[]): string {
  if (first.startsWith('{')) return ', which looks like NDJSON'
  return /^-?\d/.test(first) ? ', so there is no header' : ''
}
