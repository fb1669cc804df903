import { AppError } from '../errors.ts'
import { ID_RANGE, isInt64, type NewPlant, type PlantCandidate, validatePlant } from '../plant.ts'
import { shown } from '../printable.ts'
import { Turns } from '../turns.ts'
import { type Batch, Batcher } from './batch.ts'
import { type Columns, columnsOf, HEADER_RULE, separatorRow } from './csv-header.ts'
import { type CsvRow, CsvRows, textOf } from './csv-rows.ts'
import { asUtf8 } from './encoding.ts'
import { requireFits, rowLimitOf } from './text-limit.ts'

/** A plain decimal integer. Other spellings are invalid, because spreadsheets round such numbers (`9.22E+18`). */
const INTEGER = /^-?(?:0|[1-9][0-9]*)$/
/** The most characters of an int64. */
const MAX_ID_LENGTH = 20

/**
 * Reads a plant from each row below a header of `id`, `name` and optionally `tag`, in any order. The header decides
 * whether commas, semicolons or tabs separate the cells. Ignores rows of blank cells.
 */
export async function* readCsv(source: AsyncIterable<Buffer>, textLimit: number): AsyncGenerator<Batch, void> {
  const rows = new CsvRows(rowLimitOf(textLimit))
  const batcher = new Batcher()
  const turns = new Turns()
  let columns: Columns | undefined
  const take = (row: CsvRow) => {
    if (isBlank(row)) return
    if (columns === undefined) {
      const isFirst = rows.separator === undefined
      rows.separator ??= separatorRow(row, rows.used)
      if (isFirst && rows.separator !== undefined) return
      columns = columnsOf(row, rows.used)
      rows.separator ??= [...rows.used][0]
      return
    }
    try {
      batcher.add(row.line, requireFits(plantOf(row, columns), textLimit))
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      batcher.refuse(row.line, error)
    }
  }
  const takeAll = async function* (divided: Generator<CsvRow, void>): AsyncGenerator<Batch, void> {
    try {
      for (const row of divided) {
        take(row)
        if (batcher.isFull) yield* batcher.take()
        if (turns.isOver) await turns.next()
      }
    } catch (error) {
      yield* batcher.take()
      throw error
    }
    yield* batcher.take()
  }
  for await (const chunk of asUtf8(source)) {
    yield* takeAll(rows.divide(chunk))
    if (turns.isOver) await turns.next()
  }
  yield* takeAll(rows.end())
  if (columns === undefined) throw new AppError(40001, `the file has no header; ${HEADER_RULE}`)
}

const STRAY_QUOTE =
  'a quotation mark is misplaced: put a text that contains one between quotation marks, and double those inside'

const isBlank = ({ cells, isWellFormed }: CsvRow): boolean => isWellFormed && cells.every(isNothing)

const isNothing = (cell: string | undefined): boolean => cell === undefined || /^[ \t]*$/.test(cell)

/** @throws AppError 40001 or 40002 that names every fault */
function plantOf(row: CsvRow, columns: Columns): NewPlant {
  const { cells, isWellFormed } = row
  if (!isWellFormed) throw new AppError(40001, STRAY_QUOTE)
  checkCount(row, columns)
  const tag = columns.tag === undefined ? undefined : cells[columns.tag]
  return validatePlant(
    {
      id: integerOf(cells[columns.id]),
      name: textOf(cells[columns.name] ?? ''),
      tag: tag === undefined ? undefined : textOf(tag),
    },
    shown,
  )
}

/**
 * Checks the number of cells. Further empty cells may follow, and a row may lack an empty tag at its end, which
 * spreadsheets leave out. Without a line end the row is the last one, and may be truncated.
 *
 * @throws AppError 40002
 */
function checkCount({ cells, isEnded }: CsvRow, { id, name, count }: Columns): void {
  const surplus = cells.slice(count).find((cell) => !isNothing(cell))
  const isComplete = cells.length >= count || (isEnded && cells.length > Math.max(id, name))
  if (isComplete && surplus === undefined) return
  const found = surplus === undefined ? `${cells.length}` : `${cells.length}, and ${shown(surplus)} has no column`
  throw new AppError(40002, `the row must have ${count} cells, like the header; it has ${found}`)
}

/** The id, as validatePlant takes it: a text says what an invalid one must be. */
function integerOf(cell: string | undefined): PlantCandidate['id'] {
  if (cell === undefined || cell === '') return undefined
  if (!INTEGER.test(cell)) return `must be an integer in plain digits, such as 7 or -7, not ${shown(textOf(cell))}`
  const id = cell.length <= MAX_ID_LENGTH ? BigInt(cell) : undefined
  return isInt64(id) ? id : `${ID_RANGE}, and not ${shown(cell)}`
}

export const CSV_HEADER = 'id,name,tag\r\n'

/** Writes a row by RFC 4180, with CRLF. An absent tag is an empty cell, an empty text is `""`. */
export const csvRow = ({ id, name, tag }: NewPlant): string =>
  `${id},${cellOf(name)},${tag === undefined ? '' : cellOf(tag)}\r\n`

const cellOf = (text: string): string =>
  text === '' || /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
