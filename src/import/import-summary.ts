import type { ErrorNumber } from '../errors.ts'

/** A row of a file that the import refused. */
export interface RefusedRow {
  /** The line in which the row begins, counted from 1. */
  readonly line: number
  readonly error: ErrorNumber
  readonly message: string
}

export interface ImportCounts {
  readonly added: number
  readonly updated: number
  readonly unchanged: number
  readonly refused: number
}

/** The results of rows of a file. */
export interface ImportSummary extends ImportCounts {
  /** The first refused rows, by line. */
  readonly refusedRows: readonly RefusedRow[]
}

/** The most refused rows that a summary lists. It only counts further ones. */
export const LISTED_ROWS = 1000

/** Adds up the results of the rows of one file. */
export class ImportTotals {
  #counts: ImportCounts = { added: 0, updated: 0, unchanged: 0, refused: 0 }
  #listed = 0

  get counts(): ImportCounts {
    return this.#counts
  }

  get rows(): number {
    const { added, updated, unchanged, refused } = this.#counts
    return added + updated + unchanged + refused
  }

  /** @returns the refused rows to list */
  add({ added, updated, unchanged, refused, refusedRows }: ImportSummary): readonly RefusedRow[] {
    const before = this.#counts
    this.#counts = {
      added: before.added + added,
      updated: before.updated + updated,
      unchanged: before.unchanged + unchanged,
      refused: before.refused + refused,
    }
    const listed = refusedRows.slice(0, LISTED_ROWS - this.#listed)
    this.#listed += listed.length
    return listed
  }
}

/** Reads the report of an import over HTTP; undefined for any other text. */
export function readSummary(text: string): ImportSummary | undefined {
  try {
    const { added, updated, unchanged, refused, refusedRows } = JSON.parse(text) as ImportSummary
    const isReport = [added, updated, unchanged, refused].every(Number.isSafeInteger) && Array.isArray(refusedRows)
    return isReport ? { added, updated, unchanged, refused, refusedRows } : undefined
  } catch {
    return undefined
  }
}
