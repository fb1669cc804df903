import { AppError, type ErrorNumber } from '../domain/errors.ts'
import { type ImportedPlant, type NewPlant, textLength } from '../domain/plant.ts'

/** A row of a file that the import refused. */
export interface RefusedRow {
  /** The line in which the row begins, counted from 1. */
  readonly line: number
  readonly error: ErrorNumber
  readonly message: string
}

/** The rows that one piece of a file completes. Lines count from 1, by the line feeds of the file. */
export interface Batch {
  readonly plants: readonly ImportedPlant[]
  /** The line in which each plant begins. */
  readonly lines: readonly number[]
  /** The rows without a valid plant. */
  readonly refused: readonly RefusedRow[]
}

export interface ReadOptions {
  /** The most bytes of a name, and of a tag, as JSON. A row may have twice as many and its id. */
  readonly textLimit: number
  /** The most levels of arrays and objects in a row of NDJSON. */
  readonly nestingLimit: number
  /** Whether the sender says that the file is UTF-16. It must then begin with a byte order mark. */
  readonly isUtf16?: boolean
}

/** The most rows of a batch. */
const MAX_ROWS = 1000

/** Gathers rows until the caller takes them as a batch. */
export class Batcher {
  #plants: ImportedPlant[] = []
  #lines: number[] = []
  #refused: RefusedRow[] = []

  add(line: number, plant: ImportedPlant): void {
    this.#plants.push(plant)
    this.#lines.push(line)
  }

  refuse(line: number, { number, message }: AppError): void {
    // An AppError with its stack takes far more memory than a row.
    this.#refused.push({ line, error: number, message })
  }

  get isFull(): boolean {
    return this.#plants.length + this.#refused.length >= MAX_ROWS
  }

  /** Yields the gathered rows as a batch; nothing without rows. */
  *take(): Generator<Batch, void> {
    if (this.#plants.length === 0 && this.#refused.length === 0) return
    const batch = { plants: this.#plants, lines: this.#lines, refused: this.#refused }
    this.#plants = []
    this.#lines = []
    this.#refused = []
    yield batch
  }
}

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
export function requireFits(plant: NewPlant, textLimit: number): NewPlant {
  if (MAX_UNIT_BYTES * textLength(plant) + ROW_OVERHEAD <= textLimit) return plant
  const { name, tag = '' } = plant
  const large = [isTooLarge(name, textLimit) && 'name', isTooLarge(tag, textLimit) && 'tag'].filter(
    (is) => is !== false,
  )
  if (large.length === 0) return plant
  throw new AppError(41301, `${large.join(' and ')} must have at most ${textLimit} bytes as JSON`)
}

/** The most bytes of JSON for one UTF-16 code unit: `\u0001`. */
const MAX_UNIT_BYTES = 6

const isTooLarge = (text: string, limit: number): boolean =>
  MAX_UNIT_BYTES * text.length + 2 > limit && Buffer.byteLength(JSON.stringify(text)) > limit
