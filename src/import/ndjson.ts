import { AppError } from '../domain/errors.ts'
import { type ImportedPlant, type ImportMode, newPlantJson, plantJson } from '../domain/plant.ts'
import { parseRow } from '../json/body.ts'
import { inOneLine } from '../json/lines.ts'
import { type Batch, batchesOf, type ReadOptions, ROW_LIMIT } from './batch.ts'

const LF = 0x0a
/** A line of JSON white space alone, including the CR before an LF. */
const BLANK = /^[ \t\r]*$/

/**
 * Reads a plant from each line (https://github.com/ndjson/ndjson-spec), as from the body of a create. Ignores blank
 * lines. The last line needs no end.
 *
 * @throws AppError 40001 for a file that its sender has written as one JSON text
 */
export function readNdjson(text: AsyncIterable<Buffer>, options: ReadOptions = {}): AsyncGenerator<Batch, void> {
  const plantIn = ({ bytes }: Line): ImportedPlant | undefined => {
    if (bytes === undefined) throw new AppError(41301, `the row is larger than ${ROW_LIMIT} bytes`)
    return isBlank(bytes) ? undefined : parseRow(bytes, options)
  }
  return batchesOf(text, new Lines(), plantIn)
}

/** The begin of a string of JSON with lines of plants, or of an array of plants: generated clients send both. */
const ONE_TEXT = /^\s*(?:"(?:\\[nrt]|\s)*\{\s*\\"|\[\s*(?:\{|$))/

const isBlank = (row: Buffer): boolean => (row[0] ?? 0) <= 0x20 && BLANK.test(row.toString('latin1'))

interface Line {
  readonly line: number
  readonly bytes: Buffer | undefined
}

class Lines {
  #line = 1
  /** The beginning of an unfinished line, up to one byte beyond ROW_LIMIT. */
  #rest: Buffer = NOTHING;

  *divide(chunk: Buffer): Generator<Line, void> {
    if (this.#line === 1 && this.#rest.length === 0 && ONE_TEXT.test(chunk.toString('latin1', 0, 100))) {
      throw new AppError(40001, 'the file is one JSON text; send it raw, with one plant as a JSON object in each line')
    }
    let from = 0
    for (let end = chunk.indexOf(LF); end !== -1; end = chunk.indexOf(LF, from)) {
      yield this.#completedBy(chunk.subarray(from, end))
      from = end + 1
    }
    this.#rest = this.#with(chunk.subarray(from))
  }

  *end(): Generator<Line, void> {
    yield this.#completedBy(NOTHING)
  }

  #completedBy(end: Buffer): Line {
    const bytes = this.#with(end)
    this.#rest = NOTHING
    return { line: this.#line++, bytes: bytes.length > ROW_LIMIT ? undefined : bytes }
  }

  #with(piece: Buffer): Buffer {
    if (this.#rest.length === 0) return piece
    return Buffer.concat([this.#rest, piece], Math.min(this.#rest.length + piece.length, ROW_LIMIT + 1))
  }
}

const NOTHING = Buffer.alloc(0)

export function ndjsonRow(plant: ImportedPlant, mode?: ImportMode): string {
  const json = mode === 'delete' && plant.before === undefined ? `{"id":${plant.id}}` : newPlantJson(plant)
  const row =
    mode === 'delete' || plant.before === undefined ? json : `${json.slice(0, -1)},"before":${plantJson(plant.before)}}`
  return `${inOneLine(row)}\n`
}
