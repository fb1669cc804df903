import { Turns } from '../base/time-slice.ts'
import { AppError, type ErrorNumber } from '../domain/errors.ts'
import { type ImportedPlant, textLength } from '../domain/plant.ts'

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
  /** The most bytes of a name, and of a tag, as JSON. A row may have twice as many and its id. */
  readonly textLimit: number
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
  textLimit: number,
): AsyncGenerator<Batch, void> {
  const turns = new Turns()
  let batch = emptyBatch()
  const take = (row: Row): void => {
    try {
      const plant = plantIn(row)
      if (plant === undefined) return
      batch.plants.push(requireFits(plant, textLimit))
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

/** The most bytes of a row besides its texts: an id of 20 characters, the names of members, quotation marks. */
const ROW_OVERHEAD = 64

/**
 * Bytes of the largest row. Every plant whose texts are within the limit can be exported and imported in both formats,
 * because no text is longer as CSV than as JSON.
 */
export const rowLimitOf = (textLimit: number): number => 2 * textLimit + ROW_OVERHEAD

/**
 * Applies the limit of bodies to a plant of a file: its name, and its tag, has at most as many bytes as JSON as a body.
 * A PATCH of one of them then always fits into a body.
 *
 * @throws AppError 41301 that names the members beyond the limit
 */
function requireFits(plant: ImportedPlant, textLimit: number): ImportedPlant {
  if (MAX_UNIT_BYTES * textLength(plant) + ROW_OVERHEAD <= textLimit) return plant
  const large = (['name', 'tag'] as const).filter((member) => isTooLarge(plant[member] ?? '', textLimit))
  if (large.length === 0) return plant
  throw new AppError(41301, `${large.join(' and ')} must have at most ${textLimit} bytes as JSON`)
}

/** The most bytes of JSON for one UTF-16 code unit: `\u0001`. */
const MAX_UNIT_BYTES = 6

const isTooLarge = (text: string, limit: number): boolean =>
  MAX_UNIT_BYTES * text.length + 2 > limit && Buffer.byteLength(JSON.stringify(text)) > limit
