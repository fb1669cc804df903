import { count, counted, type Progress, time } from './progress.ts'

/** A row of a file that was not imported. */
export interface RefusedRow {
  /** The line in which it begins, counted from 1. */
  readonly line: number
  /** A number of the error catalog (src/errors.ts). */
  readonly error: number
  readonly message: string
}

export interface Counts {
  readonly added: number
  readonly updated: number
  readonly unchanged: number
  readonly refused: number
}

/** What became of some rows of a file. */
export interface Outcome extends Counts {
  /** The first of them, by line. */
  readonly refusedRows: readonly RefusedRow[]
}

/** Refused rows that are told one by one. */
const MOST_TOLD = 1000

/** Counts what became of the rows of a file, and tells the first refused ones as they come. */
export class Tally {
  #counts: Counts = { added: 0, updated: 0, unchanged: 0, refused: 0 }
  #told = 0
  readonly #startedAt = performance.now()

  get rows(): number {
    const { added, updated, unchanged, refused } = this.#counts
    return added + updated + unchanged + refused
  }

  get refused(): number {
    return this.#counts.refused
  }

  add(outcome: Outcome, progress: Progress): void {
    const { added, updated, unchanged, refused } = this.#counts
    this.#counts = {
      added: added + outcome.added,
      updated: updated + outcome.updated,
      unchanged: unchanged + outcome.unchanged,
      refused: refused + outcome.refused,
    }
    for (const { line, error, message } of outcome.refusedRows.slice(0, MOST_TOLD - this.#told)) {
      progress.note(`line ${line}: error ${error}: ${message}`)
      this.#told++
    }
    if (refused <= MOST_TOLD && this.refused > MOST_TOLD) {
      progress.note('more rows were refused; they are counted but not listed')
    }
  }

  /** `10 added, 0 updated, 1 unchanged, 1 refused; 12 rows in 0.1 s, 120/s` */
  toString(): string {
    const seconds = (performance.now() - this.#startedAt) / 1000
    const counts = Object.entries(this.#counts).map(([what, number]) => `${count(number)} ${what}`)
    return `${counts.join(', ')}; ${counted(this.rows, 'row')} in ${time(seconds)}, ${count(Math.round(this.rows / seconds))}/s`
  }
}

/** The outcome in a report of an import over HTTP; undefined when the text is none. */
export function outcomeIn(text: string): Outcome | undefined {
  try {
    const { added, updated, unchanged, refused, refusedRows } = JSON.parse(text) as Outcome
    const isReport = [added, updated, unchanged, refused].every(Number.isSafeInteger) && Array.isArray(refusedRows)
    return isReport ? { added, updated, unchanged, refused, refusedRows } : undefined
  } catch {
    return undefined
  }
}
