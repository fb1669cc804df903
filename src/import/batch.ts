import { Turns } from '../base/time-slice.ts'
import { AppError, type ErrorNumber } from '../domain/errors.ts'
import type { ImportedPlant } from '../domain/plant.ts'

export interface RefusedRow {
  /** The line in which the row begins, counted from 1. */
  readonly line: number
  readonly error: ErrorNumber
  readonly message: string
}

/** The rows that one piece of a file completes. Lines count from 1, by the line feeds of the file. */
export interface Batch {
  readonly plants: readonly ImportedPlant[]
  readonly lines: readonly number[]
  readonly refused: readonly RefusedRow[]
}

export interface ReadOptions {
  /** Whether the sender says that the file is UTF-16. It must then begin with a byte order mark. */
  readonly isUtf16?: boolean
}

export const MAX_ROWS = 1000

/** Divides a file into rows. Its methods throw if the file is not readable. */
interface Divider<Row> {
  /** Yields the rows that a chunk completes. */
  divide(chunk: Buffer): Iterable<Row>
  /** Yields the rows that the end of the file completes. */
  end(): Iterable<Row>
}

/**
 * Reads a plant from each row. A batch has the rows that a chunk has completed, at most MAX_ROWS.
 *
 * @param plantIn returns undefined for a row to ignore, and throws an AppError for one to refuse
 * @throws what the divider and the source throw, after the last batch
 */
export async function* batchesOf<Row extends { readonly line: number }>(
  text: AsyncIterable<Buffer>,
  rows: Divider<Row>,
  plantIn: (row: Row) => ImportedPlant | undefined,
): AsyncGenerator<Batch, void> {
  const turns = new Turns()
  let batch = emptyBatch()
  const take = (row: Row): void => {
    try {
      const plant = plantIn(row)
      if (plant === undefined) return
      batch.plants.push(plant)
      batch.lines.push(row.line)
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      // An AppError with its stack takes far more memory than a row.
      batch.refused.push({ line: row.line, error: error.number, message: error.message })
    }
  }
  const taken = function* (): Generator<Batch, void> {
    const full = batch
    batch = emptyBatch()
    if (sizeOf(full) > 0) yield full
  }
  const takeAll = async function* (divided: Iterable<Row>): AsyncGenerator<Batch, void> {
    try {
      for (const row of divided) {
        take(row)
        if (sizeOf(batch) >= MAX_ROWS) yield* taken()
        if (turns.isOver) await turns.next()
      }
    } catch (error) {
      yield* taken()
      throw error
    }
    yield* taken()
  }
  for await (const chunk of text) {
    yield* takeAll(rows.divide(chunk))
    if (turns.isOver) await turns.next()
  }
  yield* takeAll(rows.end())
}

interface OpenBatch {
  readonly plants: ImportedPlant[]
  readonly lines: number[]
  readonly refused: RefusedRow[]
}

const emptyBatch = (): OpenBatch => ({ plants: [], lines: [], refused: [] })

const sizeOf = ({ plants, refused }: Batch): number => plants.length + refused.length

/** Bytes of a row. One with a plant and its `before`, with every character as two escapes, takes 28.5 KiB. */
export const ROW_LIMIT = 64 * 2 ** 10
