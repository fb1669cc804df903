/** undefined: an empty cell without quotation marks. */
export type Cell = string | undefined

export interface Row {
  /** Counted as a spreadsheet does: a cell of several lines belongs to one row. */
  readonly number: number
  readonly cells: readonly Cell[]
}

export const SEPARATORS = { ',': 'commas', ';': 'semicolons', '\t': 'tabs' } as const
export type Separator = keyof typeof SEPARATORS

/** The most characters of one row: a longer one has a quotation mark that nothing closes. */
const LARGEST = 4_000_000

/** The state of the parser. `quote` is the state after a quotation mark that may end the quoted cell. */
type Place = 'start' | 'plain' | 'quoted' | 'quote'

/** Parses CSV (RFC 4180; lines end with CRLF, LF or CR) that comes in pieces of any size. */
export class CsvRows {
  readonly #separator: string
  #place: Place = 'start'
  #cells: Cell[] = []
  #text = ''
  #number = 1
  /** Whether the last character was a CR: an LF that follows belongs to the same line end. */
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
        // Two quotation marks in a quoted cell stand for one.
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

  /** Yields the last row if the file ends without a line end. */
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

/** Returns the separator that a first row such as `sep=;` names, or else the most frequent one of the first row. */
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
