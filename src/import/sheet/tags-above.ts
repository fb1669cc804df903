import { type CsvRow, isNothing, type Mapping } from '../csv-rows.ts'

/** The share of rows without a tag from which on a tag seems to hold for the rows below it. */
const LEAST = 1 / 3

/**
 * Tells whether each tag of a sheet stands once above the rows that it holds for, as a merged cell does once the sheet is
 * saved as CSV.
 */
export class TagsAbove {
  readonly #at: number | undefined
  readonly #tags = new Set<string>()
  #tagged = 0
  #without = 0
  #beginsWithTag = false

  constructor({ tag }: Mapping) {
    this.#at = tag
  }

  look({ cells }: CsvRow): void {
    if (this.#at === undefined) return
    const tag = cells[this.#at]
    if (isNothing(tag)) {
      this.#without += 1
      return
    }
    if (this.#tagged + this.#without === 0) this.#beginsWithTag = true
    this.#tagged += 1
    this.#tags.add(tag ?? '')
  }

  /** The rows that would get the tag of a row above; 0 where tags stand otherwise. */
  get count(): number {
    const isOnce = this.#tagged > 1 && this.#tags.size === this.#tagged
    const rows = this.#tagged + this.#without
    return this.#beginsWithTag && isOnce && this.#without >= LEAST * rows ? this.#without : 0
  }
}
