import { isUtf8 } from 'node:buffer'
import { AppError } from '../errors.ts'
import { shown } from '../printable.ts'
import { GrowingBuffer } from './growing-buffer.ts'

/** The cells of one row, their bytes as Latin-1; undefined for a cell without bytes. */
export type Cells = readonly (string | undefined)[]

/** A row of CSV. */
export interface CsvRow {
  /** The line in which the row begins, counted from 1. */
  readonly line: number
  readonly cells: Cells
  /** Whether the quotation marks follow RFC 4180. Otherwise the texts of the cells may not be the intended ones. */
  readonly isWellFormed: boolean
  /** Whether a line end follows. The last row of a truncated file has none. */
  readonly isEnded: boolean
}

export const SEPARATORS = [',', ';', '\t'] as const
export type Separator = (typeof SEPARATORS)[number]

/** The position of the next byte: before a cell, in plain text, in quotes, after a quotation mark, or after its CR. */
type State = 'start' | 'plain' | 'quoted' | 'quote' | 'return'

/**
 * Divides CSV (RFC 4180, with CRLF or LF) into rows. It tells an empty cell from an empty text in quotes. A row takes
 * 0.5 µs and at most `limit` bytes. CsvRows does not decode bytes, as that would silently repair invalid UTF-8.
 */
export class CsvRows {
  /** Undefined: each of SEPARATORS ends a cell. A change applies from the next row on. */
  separator: Separator | undefined
  /** The separators in the last row, while `separator` is not set. */
  readonly used = new Set<Separator>()
  readonly #limit: number
  #state: State = 'start'
  #cells: (string | undefined)[] = []
  /** The start of an unfinished cell. */
  readonly #rest = new GrowingBuffer()
  #hasDoubledQuote = false
  #isWellFormed = true
  #line = 1
  #lineFeeds = 0
  /** Bytes of the row in earlier chunks. */
  #length = 0

  /** @param limit the most bytes of a row */
  constructor(limit: number) {
    this.#limit = limit
  }

  /**
   * Yields the rows that a chunk completes.
   *
   * @throws AppError 41301 after a row that exceeds the limit
   */
  *divide(chunk: Buffer): Generator<CsvRow, void> {
    const before = this.#rest.length
    const bytes = before === 0 ? chunk : this.#rest.append(chunk)
    let cell = 0
    let row = -(this.#length - before)
    let state = this.#state
    let separator = byteOf(this.separator)
    for (let i = before; i < bytes.length; i++) {
      const c = bytes[i] as number
      if (state === 'quoted') {
        if (c === QUOTE) state = 'quote'
        else if (c === LF) this.#lineFeeds++
        continue
      }
      if (c === LF || c === separator || (separator === undefined && isSeparator(c))) {
        this.#endCell(bytes, cell, i, state, c === LF)
        cell = i + 1
        state = 'start'
        if (c !== LF) {
          if (separator === undefined) this.used.add(String.fromCharCode(c) as Separator)
          continue
        }
        if (i - row > this.#limit) throw this.#tooLarge()
        yield this.#takeRow(true)
        row = i + 1
        separator = byteOf(this.separator)
        this.used.clear()
      } else if (c === QUOTE) {
        if (state === 'start') state = 'quoted'
        else if (state === 'quote') {
          this.#hasDoubledQuote = true
          state = 'quoted'
        } else {
          this.#isWellFormed = false
          state = 'plain'
        }
      } else if (c === CR && state === 'quote') {
        state = 'return'
      } else {
        if (state === 'quote' || state === 'return') this.#isWellFormed = false
        state = 'plain'
      }
    }
    this.#state = state
    this.#length = bytes.length - row
    if (this.#length > this.#limit) throw this.#tooLarge()
    this.#rest.keep(bytes.subarray(cell))
  }

  /**
   * Yields the last row, if no line end follows it.
   *
   * @throws AppError 40001 when a quotation mark is not closed
   */
  *end(): Generator<CsvRow, void> {
    if (this.#state === 'quoted') {
      throw new AppError(40001, `${this.#row()} has an unclosed quotation mark; the rows after it cannot be read`)
    }
    if (this.#state === 'start' && this.#cells.length === 0) return
    const bytes = this.#rest.append(NOTHING)
    if (this.#state === 'return') this.#isWellFormed = false
    this.#endCell(bytes, 0, bytes.length, this.#state, false)
    yield this.#takeRow(false)
  }

  #endCell(bytes: Buffer, start: number, end: number, state: State, isLast: boolean): void {
    if (state === 'start') {
      this.#cells.push(undefined)
    } else if (state === 'plain' || !this.#isWellFormed) {
      const textEnd = isLast && bytes[end - 1] === CR ? end - 1 : end
      this.#cells.push(textEnd === start ? undefined : bytes.toString('latin1', start, textEnd))
    } else {
      if (state === 'return' && !isLast) this.#isWellFormed = false
      const text = bytes.toString('latin1', start + 1, state === 'return' ? end - 2 : end - 1)
      this.#cells.push(this.#hasDoubledQuote ? text.split('""').join('"') : text)
    }
    this.#hasDoubledQuote = false
  }

  #takeRow(isEnded: boolean): CsvRow {
    const row = { line: this.#line, cells: this.#cells, isWellFormed: this.#isWellFormed, isEnded }
    this.#line += 1 + this.#lineFeeds
    this.#cells = []
    this.#lineFeeds = 0
    this.#isWellFormed = true
    return row
  }

  #row(): string {
    return `the row at line ${this.#line}`
  }

  #tooLarge(): AppError {
    const reason = `is larger than ${this.#limit} bytes, or has an unclosed quotation mark`
    return new AppError(41301, `${this.#row()} ${reason}; the rows after it cannot be read`)
  }
}

const QUOTE = 0x22
const LF = 0x0a
const CR = 0x0d
const NOTHING = Buffer.alloc(0)

const byteOf = (separator: Separator | undefined): number | undefined => separator?.charCodeAt(0)
const isSeparator = (c: number): boolean => c === 0x2c || c === 0x3b || c === 0x09

const BEYOND_ASCII = /[\x80-\xff]/

/**
 * The text of a cell.
 *
 * @param cell bytes as Latin-1
 * @throws AppError 40001 when the bytes are not UTF-8
 */
export function textOf(cell: string): string {
  if (!BEYOND_ASCII.test(cell)) return cell
  const bytes = Buffer.from(cell, 'latin1')
  if (isUtf8(bytes)) return bytes.toString('utf8')
  const guess = new TextDecoder('windows-1252').decode(bytes)
  throw new AppError(
    40001,
    `the row is not valid UTF-8; as Windows-1252 it has ${shown(guess)}. Save the file as CSV UTF-8`,
  )
}
