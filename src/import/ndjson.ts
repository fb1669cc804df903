import { Turns } from '../base/time-slice.ts'
import { AppError } from '../domain/errors.ts'
import { type NewPlant, newPlantJson } from '../domain/plant.ts'
import { parseRow } from '../json/parse-plant.ts'
import { type Batch, Batcher } from './batch.ts'
import type { ReadOptions } from './format.ts'
import { GrowingBuffer } from './growing-buffer.ts'
import { requireFits, rowLimitOf } from './text-limit.ts'

const LF = 0x0a
/** A line of JSON white space alone, including the CR before an LF. */
const BLANK = /^[ \t\r]*$/

/**
 * Reads a plant from each line (https://github.com/ndjson/ndjson-spec), as from the body of a create. Ignores blank
 * lines. The last line needs no end.
 */
export async function* readNdjson(
  text: AsyncIterable<Buffer>,
  { textLimit, nestingLimit }: ReadOptions,
): AsyncGenerator<Batch, void> {
  const batcher = new Batcher()
  const rowLimit = rowLimitOf(textLimit)
  const start = new RowStart(rowLimit)
  const turns = new Turns()
  let line = 1
  const take = (row: Buffer | undefined) => {
    try {
      if (row === undefined) throw new AppError(41301, `the row is larger than ${rowLimit} bytes`)
      if (!isBlank(row)) batcher.add(line, requireFits(parseRow(row, nestingLimit, textLimit), textLimit))
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      batcher.refuse(line, error)
    }
  }
  for await (const chunk of text) {
    let from = 0
    for (let end = chunk.indexOf(LF); end !== -1; end = chunk.indexOf(LF, from)) {
      if (end > from || !start.isEmpty) take(start.completedBy(chunk.subarray(from, end)))
      line++
      if (batcher.isFull) yield* batcher.take()
      if (turns.isOver) await turns.next()
      from = end + 1
    }
    start.append(chunk.subarray(from))
    yield* batcher.take()
    if (turns.isOver) await turns.next()
  }
  take(start.completedBy(NOTHING))
  yield* batcher.take()
}

const NOTHING = Buffer.alloc(0)

const isBlank = (row: Buffer): boolean => (row[0] ?? 0) <= 0x20 && BLANK.test(row.toString('latin1'))

/** Holds the start of an unfinished row, at most up to the limit. */
class RowStart {
  readonly #limit: number
  readonly #bytes = new GrowingBuffer()
  #isTooLarge = false

  constructor(limit: number) {
    this.#limit = limit
  }

  get isEmpty(): boolean {
    return this.#bytes.length === 0 && !this.#isTooLarge
  }

  append(piece: Buffer): void {
    if (this.#bytes.length + piece.length > this.#limit) this.#isTooLarge = true
    else if (!this.#isTooLarge) this.#bytes.append(piece)
  }

  /** Ends a row with this piece, and begins the next one. Returns undefined for a row that exceeds the limit. */
  completedBy(end: Buffer): Buffer | undefined {
    if (this.isEmpty && end.length <= this.#limit) return end
    this.append(end)
    // Copies the row, because the next row overwrites the buffer.
    const row = this.#isTooLarge ? undefined : Buffer.from(this.#bytes.append(NOTHING))
    this.#bytes.keep(NOTHING)
    this.#isTooLarge = false
    return row
  }
}

export const ndjsonRow = (plant: NewPlant): string => `${newPlantJson(plant)}\n`
