import { type ImportSummary, ImportTotals, LISTED_ROWS } from '../import/import-summary.ts'
import { count, counted, type Progress, time } from './progress.ts'

/** Counts what became of the rows of a file, and notes the first refused ones as they come. */
export class ImportNotes {
  readonly #totals = new ImportTotals()
  readonly #startedAt = performance.now()

  get rows(): number {
    return this.#totals.rows
  }

  get refused(): number {
    return this.#totals.counts.refused
  }

  add(summary: ImportSummary, progress: Progress): void {
    const before = this.refused
    for (const { line, error, message } of this.#totals.add(summary)) {
      progress.note(`line ${line}: error ${error}: ${message}`)
    }
    if (before <= LISTED_ROWS && this.refused > LISTED_ROWS) {
      progress.note('more rows were refused; they are counted but not listed')
    }
  }

  /** `10 added, 0 updated, 1 unchanged, 1 refused; 12 rows in 0.1 s, 120/s` */
  toString(): string {
    const seconds = (performance.now() - this.#startedAt) / 1000
    const counts = Object.entries(this.#totals.counts).map(([what, number]) => `${count(number)} ${what}`)
    return `${counts.join(', ')}; ${counted(this.rows, 'row')} in ${time(seconds)}, ${count(Math.round(this.rows / seconds))}/s`
  }
}
