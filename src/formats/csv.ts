import { isUtf8 } from 'node:buffer'
import { AppError } from '../errors.ts'
import { ID_RANGE, type NewPlant, validatePlant } from '../plant.ts'
import { type Batch, Batcher } from './batch.ts'
import { withoutMark } from './byte-order-mark.ts'
import { type Cells, type CsvRow, CsvRows } from './csv-rows.ts'

const COLUMNS = ['id', 'name', 'tag'] as const
type Column = (typeof COLUMNS)[number]
/** Which cell of a row each column is. */
type Places = Readonly<Record<Exclude<Column, 'tag'>, number>> & {
  readonly tag: number | undefined
  readonly count: number
}

/** A plain decimal integer; no other spelling, as spreadsheets round what they spell otherwise (`9.22E+18`). */
const INTEGER = /^-?(?:0|[1-9][0-9]*)$/
/** As many characters as any int64 has. */
const LONGEST_ID = 20

/** Reads a plant from each row below a header of `id`, `name` and perhaps `tag`, in any order. Blank lines are ignored. */
export async function* readCsv(source: AsyncIterable<Buffer>, rowLimit: number): AsyncGenerator<Batch, void> {
  const rows = new CsvRows(rowLimit)
  const batcher = new Batcher()
  let places: Places | undefined
  const take = ({ line, cells, isWellFormed }: CsvRow) => {
    if (isBlank(cells)) return
    if (places === undefined) {
      places = placesOf(cells)
      return
    }
    try {
      if (!isWellFormed) throw new AppError(40001, STRAY_QUOTE)
      batcher.add(line, plantOf(cells, places))
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      batcher.refuse(line, error)
    }
  }
  const takeAll = function* (): Generator<Batch, void> {
    for (const row of rows.take()) {
      take(row)
      if (batcher.isFull) yield* batcher.take()
    }
    yield* batcher.take()
  }
  try {
    for await (const chunk of withoutMark(source)) {
      await rows.write(chunk)
      yield* takeAll()
    }
    await rows.end()
  } catch (error) {
    yield* takeAll()
    throw error
  }
  yield* takeAll()
  if (places === undefined) throw new AppError(40001, `the file has no header; ${HEADER_RULE}`)
}

const HEADER_RULE = 'its first row must be id,name,tag or id,name, in any order'
const STRAY_QUOTE =
  'a quotation mark is out of place: a text that has any stands in quotation marks, with those inside doubled'

const isBlank = (cells: Cells): boolean => cells.length === 1 && /^[ \t]*$/.test(cells[0] ?? '')

/** @throws AppError 40001 */
function placesOf(cells: Cells): Places {
  const [id, name, tag] = COLUMNS.map((column) => cells.indexOf(column)) as [number, number, number]
  const hasTag = tag !== -1
  if (id === -1 || name === -1 || cells.length !== (hasTag ? 3 : 2)) {
    throw new AppError(40001, `the header is not one of plants; ${HEADER_RULE}`)
  }
  return { id, name, tag: hasTag ? tag : undefined, count: cells.length }
}

/** @throws AppError 40001 or 40002 that names every fault */
function plantOf(cells: Cells, places: Places): NewPlant {
  if (cells.length !== places.count) {
    throw new AppError(40002, `the row must have ${places.count} cells, as the header has; it has ${cells.length}`)
  }
  const tag = places.tag === undefined ? undefined : cells[places.tag]
  return validatePlant({
    id: integerOf(cells[places.id]),
    name: textOf(cells[places.name] ?? ''),
    tag: tag === undefined ? undefined : textOf(tag),
  })
}

/** The integer, or what it must be. */
function integerOf(cell: string | undefined): bigint | string | undefined {
  if (cell === undefined || cell === '') return undefined
  if (!INTEGER.test(cell)) return 'must be an integer in plain digits, such as 7 or -7'
  return cell.length <= LONGEST_ID ? BigInt(cell) : ID_RANGE
}

/** @throws AppError 40001 when the bytes are not UTF-8 */
function textOf(cell: string): string {
  if (!BEYOND_ASCII.test(cell)) return cell
  const bytes = Buffer.from(cell, 'latin1')
  if (!isUtf8(bytes)) throw new AppError(40001, 'the row is not valid UTF-8')
  return bytes.toString('utf8')
}

const BEYOND_ASCII = /[\x80-\xff]/

export const CSV_HEADER = 'id,name,tag\r\n'

/** A row as RFC 4180 has it, with CRLF. An absent tag is an empty cell, an empty text is `""`. */
export const csvRow = ({ id, name, tag }: NewPlant): string =>
  `${id},${cellOf(name)},${tag === undefined ? '' : cellOf(tag)}\r\n`

const cellOf = (text: string): string =>
  text === '' || /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
