import { type CsvRow, isNothing, type Mapping } from '../csv-rows.ts'

/** Fills the empty cells of a column with the text above, row by row. */
export class FromAbove {
  readonly #at: number | undefined
  readonly #takes: (row: CsvRow) => boolean
  #above: string | undefined

  /** @param takes whether a row with an empty cell takes the text above */
  constructor(at: number | undefined, takes: (row: CsvRow) => boolean = () => true) {
    this.#at = at
    this.#takes = takes
  }

  /** The genus that stands once above its species, as a merged cell does once the sheet is saved as CSV. */
  static genus({ name: [genus, epithet = -1] }: Mapping): FromAbove {
    return new FromAbove(genus, ({ cells }) => /^\s*[a-z]/.test(cells[epithet] ?? ''))
  }

  fill(row: CsvRow): CsvRow {
    if (this.#at === undefined) return row
    if (!isNothing(row.cells[this.#at])) this.#above = row.cells[this.#at]
    else if (this.#above !== undefined && this.#takes(row)) {
      const cells = [...row.cells]
      while (cells.length < this.#at) cells.push(undefined)
      cells[this.#at] = this.#above
      return { ...row, cells }
    }
    return row
  }
}
