import { isTurnOver, nextTurn } from '../base/time-slice.ts'
import { AppError } from '../domain/errors.ts'
import type { ImportedPlant } from '../domain/plant.ts'
import type { RowOptions } from '../json/body.ts'
import type { NamedColumns } from './csv-rows.ts'

export interface RefusedRow {
  /** The line in which the row begins, counted from 1. */
  readonly line: number
  /** A number of the catalog, maybe of a later version: commands read reports of other services too. */
  readonly error: number
  readonly message: string
}

/** The rows that one piece of a file completes. Lines count from 1, by the line feeds of the file. */
export interface Batch {
  readonly plants: readonly ImportedPlant[]
  readonly lines: readonly number[]
  readonly refused: readonly RefusedRow[]
  /** The lines of rows without an id whose plant is stored already. */
  readonly stored?: readonly number[]
}

/** The id of each plant of a file without ids, until `withIds` assigns one. */
export const UNNUMBERED = 0n

export interface ReadOptions extends RowOptions {
  /** The charset that the sender names, in lower case. A file of `utf-16` must begin with a byte order mark. */
  readonly charset?: string | undefined
  /** The columns of a sheet. Without them, CSV has a header of `id`, `name` and `tag`. */
  readonly columns?: NamedColumns | undefined
}

export const BATCH_ROWS = 1000

/** Divides a file into rows. Its methods throw if the file is not readable. */
interface Divider<Row> {
  /** Yields the rows that a chunk completes. */
  divide(chunk: Buffer): Iterable<Row>
  /** Yields the rows that the end of the file completes. */
  end(): Iterable<Row>
}

/**
 * Reads a plant from each row. A batch has the rows that a chunk has completed, at most BATCH_ROWS.
 *
 * @param plantIn returns undefined for a row to ignore, and throws an AppError for one to refuse
 * @throws what the divider and the source throw, after the last batch
 */
export async function* batchesOf<Row extends { readonly line: number }>(
  text: AsyncIterable<Buffer>,
  rows: Divider<Row>,
  plantIn: (row: Row) => ImportedPlant | undefined,
): AsyncGenerator<Batch, void> {
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
        if (sizeOf(batch) >= BATCH_ROWS) yield* taken()
        if (isTurnOver()) await nextTurn()
      }
    } catch (error) {
      yield* taken()
      throw error
    }
    yield* taken()
  }
  for await (const chunk of text) {
    yield* takeAll(rows.divide(chunk))
    if (isTurnOver()) await nextTurn()
  }
  yield* takeAll(rows.end())
}

const emptyBatch = () => ({ plants: [] as ImportedPlant[], lines: [] as number[], refused: [] as RefusedRow[] })

const sizeOf = ({ plants, refused }: Batch): number => plants.length + refused.length

/** Bytes of a row. One with a plant and its `before`, with every character as two escapes, takes 28.5 KiB. */
export const ROW_LIMIT = 64 * 2 ** 10
