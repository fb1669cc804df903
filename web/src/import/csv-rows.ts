/** Undefined where nothing stands, not even quotation marks. */
export type Cell = string | undefined

export interface Row {
  /** As a spreadsheet counts it: a cell of several lines is in one row. */
  readonly number: number
  readonly cells: readonly Cell[]
}

export const SEPARATORS = { ',': 'commas', ';': 'semicolons', '\t': 'tabs' } as const
export type Separator = keyof typeof SEPARATORS

/** Characters of one row; a larger one has a quotation mark that is not closed. */
const LARGEST = 4_000_000

/** Before a cell, in plain text, in quotes, or after a quotation mark that may end them. */
type Place = 'start' | 'plain' | 'quoted' | 'quote'

/** Divides CSV (RFC 4180, lines ended by CRLF, LF or CR) into rows, in pieces of any size. */
export class CsvRows {
  readonly #separator: string
  #place: Place = 'start'
  #cells: Cell[] = []
  #text = ''
  #number = 1
  /** The last character was a CR, so that an LF belongs to it. */
  #afterReturn = false
  #length = 0

  constructor(separator: Separator) {
    this.#separator = separator
  }

  *divide(piece: string): Generator<Row, void> {
    let from = 0
    for (let i = 0; i < piece.length; i++) {
      const c = piece[i]
      if (this.#place === 'quoted') {
        if (c !== '"') continue
        this.#text += piece.slice(from, i)
        this.#place = 'quote'
        continue
      }
      if (this.#afterReturn) {
        this.#afterReturn = false
        if (c === '\n') {
          from = i + 1
          continue
        }
      }
      if (c === '"' && this.#place !== 'plain') {
        // A second one in quotes is one of the text.
        if (this.#place === 'quote') this.#text += '"'
        this.#place = 'quoted'
        from = i + 1
      } else if (c === this.#separator || c === '\n' || c === '\r') {
        this.#endCell(piece.slice(from, i))
        from = i + 1
        if (c === this.#separator) continue
        this.#afterReturn = c === '\r'
        this.#length = 0
        yield this.#takeRow()
      } else if (this.#place !== 'plain') {
        from = i
        this.#place = 'plain'
      }
    }
    if (this.#place === 'plain' || this.#place === 'quoted') this.#text += piece.slice(from)
    this.#length += piece.length
    if (this.#length > LARGEST) throw this.#unclosed()
  }

  /** The last row, where no line end follows it. */
  *end(): Generator<Row, void> {
    if (this.#place === 'quoted') throw this.#unclosed()
    if (this.#place === 'start' && this.#cells.length === 0) return
    this.#endCell('')
    yield this.#takeRow()
  }

  #endCell(rest: string): void {
    const isText = this.#place === 'plain'
    this.#cells.push(this.#place === 'start' ? undefined : this.#text + (isText ? rest : ''))
    this.#text = ''
    this.#place = 'start'
  }

  #takeRow(): Row {
    const row = { number: this.#number, cells: this.#cells }
    this.#number += 1
    this.#cells = []
    return row
  }

  #unclosed(): Error {
    return new Error(`Row ${this.#number} has a quotation mark that is not closed; the rows after it cannot be read.`)
  }
}

export const isBlank = ({ cells }: Row): boolean => cells.every((cell) => cell === undefined || cell.trim() === '')

/** What separates the cells of the first row; a row `sep=;` before it says so. */
export function separatorOf(text: string): Separator {
  const said = /^sep=([,;\t])\r?\n/i.exec(text)?.[1]
  const counts = { ',': 0, ';': 0, '\t': 0 }
  let isQuoted = false
  for (const c of text) {
    if (c === '"') isQuoted = !isQuoted
    else if (!isQuoted && (c === '\n' || c === '\r')) break
    else if (!isQuoted && isSeparator(c)) counts[c] += 1
  }
  const [most = ','] = Object.keys(counts)
    .filter(isSeparator)
    .toSorted((a, b) => counts[b] - counts[a])
  return said !== undefined && isSeparator(said) ? said : most
}

const isSeparator = (c: string): c is Separator => Object.hasOwn(SEPARATORS, c)
