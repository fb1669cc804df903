import { shown } from '../base/printable.ts'
import { Turns } from '../base/time-slice.ts'
import { AppError } from '../domain/errors.ts'
import { type NewPlant, validatePlant } from '../domain/plant.ts'
import { type Batch, Batcher } from './batch.ts'
import { type Columns, columnsOf, HEADER_RULE } from './csv-header.ts'
import { type CsvRow, CsvRows, cellOf, isBlank, separatorRow } from './csv-rows.ts'
import { textOf } from './encoding.ts'
import { candidateOf } from './mapping.ts'
import { requireFits, rowLimitOf } from './text-limit.ts'

/**
 * Reads a plant from each row below a header of `id`, `name` and optionally `tag`, in any order. The header decides
 * whether commas, semicolons or tabs separate the cells. Ignores rows of blank cells.
 */
export async function* readCsv(text: AsyncIterable<Buffer>, textLimit: number): AsyncGenerator<Batch, void> {
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
  for await (const chunk of text) {
    yield* takeAll(rows.divide(chunk.toString('latin1')))
    if (turns.isOver) await turns.next()
  }
  yield* takeAll(rows.end())
  if (columns === undefined) throw new AppError(40001, `the file has no header; ${HEADER_RULE}`)
}

/** @throws AppError 40001 or 40002 that names every fault */
function plantOf(row: CsvRow, columns: Columns): NewPlant {
  const candidate = candidateOf(row, columns, columns.count, isComplete(row, columns), textOf)
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
