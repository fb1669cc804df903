import { shown } from '../base/printable.ts'
import { AppError } from '../domain/errors.ts'
import { ID_RANGE, isInt64, type PlantCandidate } from '../domain/plant.ts'

/** The cells of one row; undefined for a cell without characters. */
export type Cells = readonly (string | undefined)[]

export interface CsvRow {
  readonly line: number
  /** Counted from 1 as a spreadsheet does: a cell of several lines belongs to one row. */
  readonly number: number
  readonly cells: Cells
  /** Whether the quotation marks follow RFC 4180. Otherwise the texts of the cells may not be the intended ones. */
  readonly isWellFormed: boolean
  /** Whether a line end follows. The last row of a truncated file has none. */
  readonly isEnded: boolean
}

/** The separators of cells, with their names in the plural. */
export const SEPARATORS = { ',': 'commas', ';': 'semicolons', '\t': 'tabs' } as const
export type Separator = keyof typeof SEPARATORS

export const isSeparator = (c: string): c is Separator => Object.hasOwn(SEPARATORS, c)

/** The position of the next character: before a cell, in plain text, in quotes, after a closing quote, after its CR. */
type State = 'start' | 'plain' | 'quoted' | 'quote' | 'return'

/** Pieces of an unfinished cell after which CsvRows joins them. Each one takes memory of its own. */
const MAX_PIECES = 1024

/**
 * Divides CSV (RFC 4180, with CRLF or LF) into rows. It tells an empty cell from an empty text in quotes. The service
 * passes bytes as Latin-1, because decoding would silently repair invalid UTF-8; the page passes text.
 */
export class CsvRows {
  /** Undefined: each of SEPARATORS ends a cell. A change applies from the next row on. */
  separator: Separator | undefined
  /** The separators in the last row, while `separator` is not set. */
  readonly used = new Set<Separator>()
  readonly #limit: number
  readonly #place: 'line' | 'number'
  #state: State = 'start'
  #cells: (string | undefined)[] = []
  #rest: string[] = []
  #isWellFormed = true
  #line = 1
  #number = 1
  #lineFeeds = 0
  /** Characters of the row in earlier chunks. */
  #length = 0

  /**
   * @param limit the most characters of a row
   * @param place how errors name a row: by its line, or by its number
   */
  constructor(limit: number, place: 'line' | 'number' = 'line') {
    this.#limit = limit
    this.#place = place
  }

  /**
   * Yields the rows that a chunk completes.
   *
   * @throws AppError 41301 after a row that exceeds the limit
   */
  *divide(chunk: string): Generator<CsvRow, void> {
    let cell = 0
    let row = -this.#length
    let state = this.#state
    let separator = codeOf(this.separator)
    for (let i = 0; i < chunk.length; i++) {
      const c = chunk.charCodeAt(i)
      if (state === 'quoted') {
        if (c === QUOTE) state = 'quote'
        else if (c === LF) this.#lineFeeds++
        continue
      }
      if (c === LF || c === separator || (separator === undefined && isAnySeparator(c))) {
        this.#endCell(chunk.slice(cell, i), state, c === LF)
        cell = i + 1
        state = 'start'
        if (c !== LF) {
          if (separator === undefined) this.used.add(String.fromCharCode(c) as Separator)
          continue
        }
        if (i - row > this.#limit) throw this.#tooLarge()
        yield this.#takeRow(true)
        row = i + 1
        separator = codeOf(this.separator)
        this.used.clear()
      } else if (c === QUOTE) {
        if (state === 'start' || state === 'quote') {
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
    this.#length = chunk.length - row
    if (this.#length > this.#limit) throw this.#tooLarge()
    if (cell < chunk.length) this.#rest.push(chunk.slice(cell))
    if (this.#rest.length > MAX_PIECES) this.#rest = [this.#rest.join('')]
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
    if (this.#state === 'return') this.#isWellFormed = false
    this.#endCell('', this.#state, false)
    yield this.#takeRow(false)
  }

  #endCell(end: string, state: State, isLast: boolean): void {
    let raw = end
    if (this.#rest.length > 0) {
      raw = this.#rest.join('') + end
      this.#rest = []
    }
    if (state === 'start') {
      this.#cells.push(undefined)
    } else if (state === 'plain' || !this.#isWellFormed) {
      const text = isLast && raw.charCodeAt(raw.length - 1) === CR ? raw.slice(0, -1) : raw
      this.#cells.push(text === '' ? undefined : text)
    } else {
      if (state === 'return' && !isLast) this.#isWellFormed = false
      this.#cells.push(raw.slice(1, state === 'return' ? -2 : -1).replaceAll('""', '"'))
    }
  }

  #takeRow(isEnded: boolean): CsvRow {
    const row = {
      line: this.#line,
      number: this.#number,
      cells: this.#cells,
      isWellFormed: this.#isWellFormed,
      isEnded,
    }
    this.#line += 1 + this.#lineFeeds
    this.#number += 1
    this.#cells = []
    this.#lineFeeds = 0
    this.#isWellFormed = true
    return row
  }

  #row(): string {
    return this.#place === 'line' ? `the row at line ${this.#line}` : `row ${this.#number}`
  }

  #tooLarge(): AppError {
    const unit = this.#place === 'line' ? 'bytes' : 'characters'
    const reason = `is larger than ${this.#limit} ${unit}, or has an unclosed quotation mark`
    return new AppError(41301, `${this.#row()} ${reason}; the rows after it cannot be read`)
  }
}

const QUOTE = 0x22
const LF = 0x0a
const CR = 0x0d

const codeOf = (separator: Separator | undefined): number | undefined => separator?.charCodeAt(0)
const isAnySeparator = (c: number): boolean => c === 0x2c || c === 0x3b || c === 0x09

export const isBlank = ({ cells, isWellFormed }: CsvRow): boolean => isWellFormed && cells.every(isNothing)

export const isNothing = (cell: string | undefined): boolean => cell === undefined || /^[ \t]*$/.test(cell)

/** The separator in a first row like `sep=;`, which Excel reads as a setting; undefined for any other row. */
export function separatorRow({ cells }: CsvRow, used: ReadonlySet<Separator>): Separator | undefined {
  const [first = '', ...others] = cells
  const match = /^sep=([,;\t]?)$/i.exec(first)
  if (match === null || others.some((cell) => cell !== undefined)) return undefined
  const [, named = ''] = match
  return isSeparator(named) ? named : [...used][0]
}

/** Writes a row by RFC 4180, with CRLF. An absent cell is empty, an empty text is `""`. */
export const csvLine = (cells: Cells, separator: Separator = ','): string =>
  `${cells.map((cell) => (cell === undefined ? '' : cellOf(cell, separator))).join(separator)}\r\n`

export const cellOf = (text: string, separator: Separator = ','): string =>
  text === '' || text.includes(separator) || /["\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text

/** The columns of a table, from 0, that hold the members of a plant. */
export interface Mapping {
  /** Undefined: the caller assigns ids. */
  readonly id: number | undefined
  /** The texts of several columns form one name, with a blank between two of them. */
  readonly name: readonly number[]
  /** Undefined: no plant gets a tag. */
  readonly tag: number | undefined
}

/**
 * The parts of a plant in a row, before validation. The name is undefined if its cells are empty.
 *
 * @param columns the number of columns. Further cells must be blank
 * @param isComplete whether the row has all cells that it needs
 * @param textOf decodes a cell. It throws AppError 40001 for an invalid one
 * @throws AppError 40001 or 40002
 */
export function candidateOf(
  row: CsvRow,
  { id, name, tag }: Mapping,
  columns: number,
  isComplete = true,
  textOf: (cell: string) => string = asItIs,
): PlantCandidate {
  const { cells, isWellFormed } = row
  if (!isWellFormed) throw new AppError(40001, STRAY_QUOTE)
  const surplus = cells.length > columns ? cells.slice(columns).find((cell) => !isNothing(cell)) : undefined
  if (!isComplete || surplus !== undefined) throw wrongCount(cells.length, columns, surplus && textOf(surplus))
  const text = (at: number | undefined): string | undefined => {
    const cell = at === undefined ? undefined : cells[at]
    return cell === undefined ? undefined : textOf(cell)
  }
  const [first, ...others] = name
  return {
    id: integerOf(text(id)),
    name: others.length === 0 ? text(first) : joined(name.map(text)),
    tag: text(tag),
  }
}

const asItIs = (cell: string): string => cell

const STRAY_QUOTE =
  'a quotation mark is misplaced: put a text that contains one between quotation marks, and double those inside'

function wrongCount(count: number, columns: number, surplus: string | undefined): AppError {
  const found = surplus === undefined ? `${count}` : `${count}, and ${shown(surplus)} has no column`
  return new AppError(40002, `the row must have ${columns} cells, like the header; it has ${found}`)
}

function joined(parts: readonly (string | undefined)[]): string | undefined {
  const texts = parts.map((part) => part?.trim() ?? '').filter((part) => part !== '')
  return texts.length === 0 ? undefined : texts.join(' ')
}

/** A number as spreadsheets show a long one. They have lost its last digits. */
const ROUNDED = /^-?[0-9]+([.,][0-9]+)?E\+?[0-9]+$/i

/**
 * The id in a cell, as validatePlant takes it: a text says what an invalid one must be. Ignores blanks around it, and
 * leading zeros.
 */
export function integerOf(cell: string | undefined): PlantCandidate['id'] {
  const text = cell?.trim() ?? ''
  if (text === '') return undefined
  const [, sign, digits] = /^(-?)0*([0-9]+)$/.exec(text) ?? []
  if (digits === undefined) {
    const cause = ROUNDED.test(text) ? ', to which a spreadsheet program has rounded it' : ''
    return `must be an integer in plain digits, such as 7 or -7, not ${shown(text)}${cause}`
  }
  const id = digits.length <= MAX_DIGITS ? BigInt(`${sign}${digits}`) : undefined
  return isInt64(id) ? id : `${ID_RANGE}, and not ${shown(text)}`
}

const MAX_DIGITS = 19
