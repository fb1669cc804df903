import { Turns } from '../base/time-slice.ts'
import { AppError } from '../domain/errors.ts'
import { type ImportedPlant, newPlantJson, plantJson } from '../domain/plant.ts'
import { parseRow } from '../json/body.ts'
import { type Batch, Batcher, type ReadOptions, requireFits, rowLimitOf } from './batch.ts'

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

/** Holds the start of an unfinished row, at most up to the limit. A list of tiny pieces would take 100 bytes for each. */
class RowStart {
  readonly #limit: number
  #bytes = Buffer.alloc(0)
  #length = 0
  #isTooLarge = false

  constructor(limit: number) {
    this.#limit = limit
  }

  get isEmpty(): boolean {
    return this.#length === 0 && !this.#isTooLarge
  }

  append(piece: Buffer): void {
    const length = this.#length + piece.length
    if (length > this.#limit) this.#isTooLarge = true
    if (this.#isTooLarge) return
    if (length > this.#bytes.length) {
      const larger = Buffer.allocUnsafe(2 * length)
      this.#bytes.copy(larger, 0, 0, this.#length)
      this.#bytes = larger
    }
    piece.copy(this.#bytes, this.#length)
    this.#length = length
  }

  /** Ends a row with this piece, and begins the next one. Returns undefined for a row that exceeds the limit. */
  completedBy(end: Buffer): Buffer | undefined {
    if (this.isEmpty && end.length <= this.#limit) return end
    this.append(end)
    // Copies the row, because the next row overwrites the buffer.
    const row = this.#isTooLarge ? undefined : Buffer.from(this.#bytes.subarray(0, this.#length))
    this.#length = 0
    this.#isTooLarge = false
    return row
  }
}

/** @returns a line as readNdjson reads it */
export function ndjsonRow(plant: ImportedPlant): string {
  const json = newPlantJson(plant)
  return plant.before === undefined ? `${json}\n` : `${json.slice(0, -1)},"before":${plantJson(plant.before)}}\n`
}
