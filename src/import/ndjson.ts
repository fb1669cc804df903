import { AppError } from '../domain/errors.ts'
import { type ImportedPlant, newPlantJson, plantJson } from '../domain/plant.ts'
import { parseRow } from '../json/body.ts'
import { type Batch, batchesOf, ROW_LIMIT } from './batch.ts'

const LF = 0x0a
/** A line of JSON white space alone, including the CR before an LF. */
const BLANK = /^[ \t\r]*$/

/**
 * Reads a plant from each line (https://github.com/ndjson/ndjson-spec), as from the body of a create. Ignores blank
 * lines. The last line needs no end.
 */
export function readNdjson(text: AsyncIterable<Buffer>): AsyncGenerator<Batch, void> {
  const plantIn = ({ bytes }: Line): ImportedPlant | undefined => {
    if (bytes === undefined) throw new AppError(41301, `the row is larger than ${ROW_LIMIT} bytes`)
    return isBlank(bytes) ? undefined : parseRow(bytes)
  }
  return batchesOf(text, new Lines(), plantIn)
}

const isBlank = (row: Buffer): boolean => (row[0] ?? 0) <= 0x20 && BLANK.test(row.toString('latin1'))

interface Line {
  readonly line: number
  /** Undefined for a line beyond the limit. */
  readonly bytes: Buffer | undefined
}

/** Divides a text into lines. Holds at most ROW_LIMIT of an unfinished one. */
class Lines {
  #line = 1
  #rest: Buffer[] = []
  #length = 0;

  *divide(chunk: Buffer): Generator<Line, void> {
    let from = 0
    for (let end = chunk.indexOf(LF); end !== -1; end = chunk.indexOf(LF, from)) {
      yield this.#completedBy(chunk.subarray(from, end))
      from = end + 1
    }
    this.#keep(chunk.subarray(from))
  }

  *end(): Generator<Line, void> {
    yield this.#completedBy(NOTHING)
  }

  #completedBy(end: Buffer): Line {
    if (this.#length > 0) this.#keep(end)
    const isTooLarge = Math.max(this.#length, end.length) > ROW_LIMIT
    const bytes = this.#length === 0 ? end : Buffer.concat(this.#rest)
    this.#rest = []
    this.#length = 0
    return { line: this.#line++, bytes: isTooLarge ? undefined : bytes }
  }

  #keep(piece: Buffer): void {
    this.#length += piece.length
    if (this.#length > ROW_LIMIT) this.#rest = []
    // A copy, because a small piece would keep its whole chunk.
    else this.#rest.push(Buffer.from(piece))
  }
}

const NOTHING = Buffer.alloc(0)

export function ndjsonRow(plant: ImportedPlant): string {
  const json = newPlantJson(plant)
  return plant.before === undefined ? `${json}\n` : `${json.slice(0, -1)},"before":${plantJson(plant.before)}}\n`
}
