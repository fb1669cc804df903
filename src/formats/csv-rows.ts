import { type CastingContext, type InfoRecord, Parser } from 'csv-parse'
import { AppError } from '../errors.ts'

/** The cells of one row, as bytes in a string (Latin-1); undefined where nothing stands, not even quotation marks. */
export type Cells = readonly (string | undefined)[]

export interface CsvRow {
  /** Where it begins, counted from 1. */
  readonly line: number
  readonly cells: Cells
  /** Its quotation marks are where RFC 4180 has them, so that the cells are what was meant. */
  readonly isWellFormed: boolean
}

/**
 * Divides CSV (RFC 4180, lines ended by CRLF or LF) into rows by the parser of csv-parse, which alone of its kind tells
 * an empty cell from an empty text in quotes. It is asked for bytes, as it would repair wrong UTF-8 unseen.
 */
export class CsvRows {
  readonly #limit: number
  readonly #parser: Parser
  #rows: CsvRow[] = []
  #line = 1
  /** Of the row that is being read: line feeds in its cells, and the bytes that it has if its quotes are right. */
  #lineFeeds = 0
  #length = 0
  #hasStrayQuote = false
  /** Bytes of all rows before. */
  #end = 0

  /** @param limit bytes that the texts of one row may have */
  constructor(limit: number) {
    this.#limit = limit
    this.#parser = new Parser({
      encoding: 'latin1',
      record_delimiter: ['\r\n', '\n'],
      // A row with too many cells or stray quotes is refused by us, and those behind it are still read.
      relax_column_count: true,
      relax_quotes: true,
      max_record_size: limit,
      cast: (cell, context) => this.#cell(cell, context),
      on_record: (cells: Cells, context) => this.#row(cells, context),
    })
    // Whoever writes is told of it.
    this.#parser.on('error', () => {})
  }

  /** @throws AppError 40001 when nothing more can be read; the rows before can still be taken */
  write(chunk: Buffer): Promise<void> {
    return this.#done((done) => this.#parser.write(chunk, done))
  }

  /** @throws as write does */
  end(): Promise<void> {
    return this.#done((done) => this.#parser.end(done))
  }

  /** The rows that were completed since the last call. */
  take(): CsvRow[] {
    const rows = this.#rows
    this.#rows = []
    return rows
  }

  #cell(cell: string, { quoting }: CastingContext): string | undefined {
    this.#length += cell.length
    if (quoting) {
      this.#length += 2 + occurrences(cell, '"')
      this.#lineFeeds += occurrences(cell, '\n')
    } else if (cell === '') {
      return undefined
    } else if (cell.includes('"')) {
      this.#hasStrayQuote = true
    }
    return cell
  }

  /** A quoted text that goes on behind its closing quote comes as it stands, so it is shorter than it ought to be. */
  #row(cells: Cells, { bytes }: InfoRecord): null {
    const length = this.#length + cells.length - 1
    const isWellFormed = !this.#hasStrayQuote && bytes - this.#end >= length
    this.#rows.push({ line: this.#line, cells, isWellFormed })
    this.#line += 1 + this.#lineFeeds
    this.#end = bytes
    this.#length = 0
    this.#lineFeeds = 0
    this.#hasStrayQuote = false
    return null
  }

  #done(start: (done: (error?: Error | null) => void) => void): Promise<void> {
    return new Promise((resolve, reject) => {
      start((error) => (error === undefined || error === null ? resolve() : reject(this.#faultOf(error))))
    })
  }

  #faultOf(error: Error & { code?: string }): Error {
    const row = `the row that begins in line ${this.#line}`
    switch (error.code) {
      case 'CSV_QUOTE_NOT_CLOSED':
        return new AppError(40001, `${row} has a quotation mark that is not closed; nothing behind it can be read`)
      case 'CSV_MAX_RECORD_SIZE':
        return new AppError(
          41301,
          `${row} is larger than ${this.#limit} bytes, or has a quotation mark that is not closed; nothing behind it can be read`,
        )
      default:
        return error
    }
  }
}

function occurrences(text: string, character: string): number {
  let count = 0
  for (let at = text.indexOf(character); at !== -1; at = text.indexOf(character, at + 1)) count++
  return count
}
