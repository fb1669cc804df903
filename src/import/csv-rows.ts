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
  /** Why nobody can tell what the cells are meant to be. They are then those of the line, with its quotation marks. */
  readonly fault?: RowFault | undefined
  /** Whether a line end follows. The last row of a truncated file has none. */
  readonly isEnded: boolean
}

export interface RowFault {
  readonly error: 40001 | 41301
  readonly message: string
}

/**
 * Begins the text that the reader of workbooks writes for a formula without a stored value, before the place of its cell,
 * such as C2. Unicode keeps this character out of texts.
 */
export const WITHOUT_VALUE = '\ufdd0'

/** The name that spreadsheet programs give a column: A to Z, AA, AB and so on. */
export function letters(i: number): string {
  const last = String.fromCharCode(65 + (i % 26))
  return i < 26 ? last : letters(Math.floor(i / 26) - 1) + last
}

/** The separators of cells, with their names in the plural. */
export const SEPARATORS = { ',': 'commas', ';': 'semicolons', '\t': 'tabs', '|': 'vertical bars' } as const
export type Separator = keyof typeof SEPARATORS

export const isSeparator = (c: string): c is Separator => Object.hasOwn(SEPARATORS, c)

/**
 * The position of the next character: before a cell, behind a `=` that begins one, in plain text, in quotes, after a
 * closing quote, after its CR.
 */
type State = 'start' | 'equals' | 'plain' | 'quoted' | 'quote' | 'return'

/** Pieces of an unfinished cell after which CsvRows joins them. Each one takes memory of its own. */
const MAX_PIECES = 1024

/**
 * Divides CSV (RFC 4180, with CRLF or LF) into rows. It tells an empty cell from an empty text in quotes. The service
 * passes bytes as Latin-1, because decoding would silently repair invalid UTF-8; the page passes text.
 *
 * Excel keeps a text from becoming a number as `="007"`. In a cell that is not in quotation marks, they are letters where
 * each has its pair or follows a digit, as inches do.
 *
 * A quotation mark that is misplaced or not closed gives a fault to each line that its row reaches over, so that each
 * one is counted, and no text between quotation marks is ever taken for a row.
 */
export class CsvRows {
  /** Undefined: each of SEPARATORS ends a cell. A change applies from the next row on. */
  separator: Separator | undefined
  /** Whether texts may be in quotation marks. Programs that write tabs often put a text as it is. */
  isQuoted = true
  /** The separators in the last row, while `separator` is not set. */
  readonly used = new Set<Separator>()
  readonly #limit: number
  readonly #place: 'line' | 'number'
  #state: State = 'start'
  #cells: (string | undefined)[] = []
  /** Cells before this one have lost the quotation marks around them. */
  #unquoted = 0
  #rest: string[] = []
  #isWellFormed = true
  /** Whether the cell has a quotation mark within plain text. */
  #hasMark = false
  #isTooLarge = false
  #line = 1
  #number = 1
  #lineFeeds = 0
  /** Characters of the row in earlier chunks, and the last one of them. */
  #length = 0
  #last: number | undefined

  /**
   * @param limit the most characters of a row
   * @param place how errors name a row: by its line, or by its number
   */
  constructor(limit: number, place: 'line' | 'number' = 'line') {
    this.#limit = limit
    this.#place = place
  }

  *divide(chunk: string): Generator<CsvRow, void> {
    let cell = 0
    let row = -this.#length
    let state = this.#state
    let separator = codeOf(this.separator)
    const isQuoted = this.isQuoted
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
        if (i - row > this.#limit) this.#drop()
        if (this.#isWellFormed && !this.#isTooLarge) yield this.#takeRow(true)
        else yield* this.#takeLines(true)
        row = i + 1
        separator = codeOf(this.separator)
        this.used.clear()
      } else if (c === QUOTE && isQuoted) {
        if (state === 'plain') this.#hasMark = true
        else if (state !== 'return') state = 'quoted'
        else {
          this.#isWellFormed = false
          state = 'plain'
        }
      } else if (c === CR && state === 'quote') {
        state = 'return'
      } else {
        if (state === 'quote' || state === 'return') this.#isWellFormed = false
        state = c === EQUALS && state === 'start' && isQuoted ? 'equals' : 'plain'
      }
    }
    this.#state = state
    this.#length = chunk.length - row
    if (chunk.length > 0) this.#last = chunk.charCodeAt(chunk.length - 1)
    if (this.#length > this.#limit) this.#drop()
    if (cell < chunk.length && !this.#isTooLarge) this.#rest.push(chunk.slice(cell))
    if (this.#rest.length > MAX_PIECES) this.#rest = [this.#rest.join('')]
  }

  *end(): Generator<CsvRow, void> {
    const state = this.#state
    if (state === 'start' && this.#cells.length === 0 && !this.#isTooLarge) return
    const isOpen = state === 'quoted'
    if (isOpen || state === 'return') this.#isWellFormed = false
    this.#endCell('', state, false)
    if (this.#isWellFormed && !this.#isTooLarge) yield this.#takeRow(false)
    else yield* this.#takeLines(false, isOpen)
  }

  #endCell(end: string, state: State, isLast: boolean): void {
    if (this.#isTooLarge) return
    let raw = end
    if (this.#rest.length > 0) {
      raw = this.#rest.join('') + end
      this.#rest = []
    }
    if (state === 'return' && !isLast) this.#isWellFormed = false
    if (this.#hasMark) {
      this.#hasMark = false
      if (!areLetters(raw)) this.#isWellFormed = false
    }
    if (state === 'start') {
      this.#cells.push(undefined)
    } else if (state === 'plain' || state === 'equals' || !this.#isWellFormed) {
      const text = isLast && raw.charCodeAt(raw.length - 1) === CR ? raw.slice(0, -1) : raw
      this.#cells.push(text === '' ? undefined : text)
    } else {
      this.#cells.push(
        raw.slice(raw.charCodeAt(0) === EQUALS ? 2 : 1, state === 'return' ? -2 : -1).replaceAll('""', '"'),
      )
      this.#unquoted = this.#cells.length
    }
  }

  #takeRow(isEnded: boolean): CsvRow {
    const row = { line: this.#line, number: this.#number, cells: this.#cells, isEnded }
    this.#line += 1 + this.#lineFeeds
    this.#number += 1
    this.#cells = []
    this.#unquoted = 0
    this.#lineFeeds = 0
    return row
  }

  /** Yields the lines of a row with a fault, without blank ones. If the row is too large, their cells are gone. */
  *#takeLines(isEnded: boolean, isOpen = false): Generator<CsvRow, void> {
    const [error, own, ofOther] = this.#fault(isOpen)
    const name = this.#place === 'line' ? `the row at line ${this.#line}` : `row ${this.#number}`
    const others = `the quotation marks of ${name} reach over this line: ${ofOther}`
    let message = own
    const count = this.#lineFeeds + (isOpen && this.#last === LF ? 0 : 1)
    for (const cells of this.#isTooLarge ? emptyLines(count) : linesOf(this.#text, this.separator)) {
      if (!cells.every(isNothing) || this.#isTooLarge) {
        yield { line: this.#line, number: this.#number, cells, fault: { error, message }, isEnded }
      }
      message = others
      this.#line += 1
      this.#number += 1
    }
    this.#cells = []
    this.#unquoted = 0
    this.#lineFeeds = 0
    this.#isWellFormed = true
    this.#isTooLarge = false
  }

  /** The fault of a row, as its own line and as each other line says it. */
  #fault(isOpen: boolean): readonly [error: RowFault['error'], own: string, ofOther: string] {
    if (this.#isTooLarge) {
      const size = `larger than ${this.#limit} ${this.#place === 'line' ? 'bytes' : 'characters'}`
      const cause = this.#lineFeeds > 0 ? `${size}, or has an unclosed quotation mark` : size
      return [41301, `the row is ${cause}`, `that row is ${cause}`]
    }
    return isOpen
      ? [40001, `a quotation mark is not closed: ${QUOTE_RULE}`, 'one of them is not closed']
      : [40001, `a quotation mark is misplaced: ${QUOTE_RULE}`, 'one of them is misplaced']
  }

  get #text(): string {
    const textOf = (cell: string, at: number): string => (at < this.#unquoted ? cellOf(cell, this.separator) : cell)
    const raw = this.#cells.map((cell, at) => (cell === undefined ? '' : textOf(cell, at)))
    return raw.join(this.separator ?? ',')
  }

  #drop(): void {
    this.#isTooLarge = true
    this.#cells = []
    this.#rest = []
  }
}

/** Divides the text of a row into its lines, and each line into cells, as if quotation marks were letters. */
function* linesOf(text: string, separator: Separator = ','): Generator<Cells, void> {
  for (const line of text.split('\n')) {
    yield line
      .replace(/\r$/, '')
      .split(separator)
      .map((cell) => (cell === '' ? undefined : cell))
  }
}

function* emptyLines(count: number): Generator<Cells, void> {
  for (let i = 0; i < count; i++) yield []
}

const QUOTE_RULE = 'put a text that contains one between quotation marks, and double those inside'

/** Whether the quotation marks of a cell that does not begin with one are a part of its text. */
const areLetters = (raw: string): boolean =>
  !/^\s*"/.test(raw) && (/^[^"]*(?:"[^"]*"[^"]*)*$/.test(raw) || /^(?:[^"]|(?<=\d)")*$/.test(raw))

const QUOTE = 0x22
const EQUALS = 0x3d
const LF = 0x0a
const CR = 0x0d

const codeOf = (separator: Separator | undefined): number | undefined => separator?.charCodeAt(0)
const isAnySeparator = (c: number): boolean => c === 0x2c || c === 0x3b || c === 0x09 || c === 0x7c

export const isBlank = ({ cells, fault }: CsvRow): boolean => fault === undefined && cells.every(isNothing)

export const isNothing = (cell: string | undefined): boolean => cell === undefined || /^[ \t]*$/.test(cell)

/** The separator in a first row like `sep=;`, which Excel reads as a setting; undefined for any other row. */
export function separatorRow({ cells }: CsvRow, used: ReadonlySet<Separator>): Separator | undefined {
  const [first = '', ...others] = cells
  const match = /^sep=([,;\t|]?)$/i.exec(first)
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
  readonly tag: number | undefined
  /** Whether a tag such as NA, by which programs write an empty cell, is none. */
  readonly dropsNoValues?: boolean | undefined
  /** Whether a row without a tag takes that of the row above. */
  readonly fillsTags?: boolean | undefined
}

/** The columns of a sheet that hold the members of a plant, by the names that a caller gives. */
export interface NamedColumns {
  readonly id: string | undefined
  readonly name: readonly string[]
  readonly tag: string | undefined
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
  textOf = (cell: string): string => cell,
): PlantCandidate {
  const { cells, fault } = row
  if (fault !== undefined) throw new AppError(fault.error, fault.message)
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

function wrongCount(count: number, columns: number, surplus: string | undefined): AppError {
  const found = surplus === undefined ? `${count}` : `${count}, and ${shown(surplus)} has no column`
  return new AppError(40002, `the row must have ${columns} cells, like the header; it has ${found}`)
}

/** Joins the parts of a name. A genus before a whole name, as some rows of a sheet have it, is said once. */
function joined(parts: readonly (string | undefined)[]): string | undefined {
  const texts = parts
    .map((part) => part?.trim() ?? '')
    .filter((part, i, all) => part !== '' && all[i + 1]?.startsWith(`${part} `) !== true)
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
  const [, sign, padded] = /^(-?)([0-9]+)$/.exec(text) ?? []
  if (padded === undefined) {
    const cause = ROUNDED.test(text) ? ', to which a spreadsheet program has rounded it' : ''
    return `must be an integer in plain digits, such as 7 or -7, not ${shown(text)}${cause}`
  }
  const digits = padded.replace(/^0+(?=.)/, '')
  const id = digits.length <= MAX_DIGITS ? BigInt(`${sign}${digits}`) : undefined
  return isInt64(id) ? id : `${ID_RANGE}, and not ${shown(text)}`
}

const MAX_DIGITS = 19
