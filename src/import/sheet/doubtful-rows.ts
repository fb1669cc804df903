import { type CsvRow, isNothing, type Mapping } from '../csv-rows.ts'
import { isNoValue, isSum } from './column-names.ts'
import { looksLatin } from './looks.ts'
import { IN_LIST, rowText } from './row-text.ts'

/** The most rows that the page asks about. A sheet with more has another form than this looks for. */
const MOST = 1000
/** The share of rows that may look like headings: above it, most plants of the sheet have a name alone. */
const MOST_HEADINGS = 1 / 3
/** Filled cells that half of the rows need before a row with one looks like a heading. */
const USUAL = 3

/** Finds rows that look like totals, have a number or NA for a name, or look like headings of the rows below them. */
export class DoubtfulRows {
  readonly #name: readonly number[]
  readonly #sums = new Map<number, string>()
  readonly #headings = new Map<number, string>()
  /** Rows by their number of filled cells, those of USUAL and more together. */
  readonly #counts = Array.from({ length: USUAL + 1 }, () => 0)

  constructor({ name }: Mapping) {
    this.#name = name
  }

  look(row: CsvRow): void {
    const filled = row.cells.flatMap((cell, at) => (isNothing(cell) ? [] : [at]))
    const count = Math.min(filled.length, USUAL)
    this.#counts[count] = (this.#counts[count] ?? 0) + 1
    const names = this.#name.flatMap((at) => row.cells[at] ?? [])
    const name = names.join(' ')
    const isSingle = filled.length === 1 && !looksLatin(name)
    if (isNoName(name) || (isSingle && isRemark(name))) take(this.#sums, row)
    else if (isSingle) take(this.#headings, row)
  }

  /** The rows found so far with their texts, by their numbers. */
  get found(): ReadonlyMap<number, string> {
    const rows = this.#counts.reduce((sum, count) => sum + count, 0)
    const hasHeadings =
      2 * (this.#counts[USUAL] ?? 0) >= rows &&
      this.#headings.size <= MOST &&
      this.#headings.size <= MOST_HEADINGS * rows
    const found = new Map([...(this.#sums.size > MOST ? [] : this.#sums), ...(hasHeadings ? this.#headings : [])])
    return new Map([...found].toSorted(([a], [b]) => a - b))
  }
}

/** Whether a text stands where a row has no name: a sum, a mark of an empty cell, or a number. */
const isNoName = (name: string): boolean => isSum(name) || isNoValue(name) || /^[\p{N}\p{P}\p{Z}]+$/u.test(name)

/**
 * Whether a text is a comment, ends as a sentence or explains a sign. Names of plants end with a word in small letters,
 * or its author.
 */
const isRemark = (text: string): boolean =>
  text.length > MOST_REMARK || /^#\s*\p{L}|\s(?!agg|spp)\p{Ll}{3,}[.!?]$|:$|\s=\s/u.test(text.trim())
const MOST_REMARK = 200

function take(rows: Map<number, string>, row: CsvRow): void {
  if (rows.size <= MOST) rows.set(row.number, rowText(row, IN_LIST))
}
