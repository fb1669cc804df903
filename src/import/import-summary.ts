import type { ErrorNumber } from '../domain/errors.ts'

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

/** A row that would add a plant with the name and the tag of a stored one. */
export interface DuplicateRow {
  readonly line: number
  /** The stored plant. Rows with the same name and tag get different ones by id, while there are enough. */
  readonly id: bigint
}

/** The rows of a dry run that would add a plant with the name and the tag of a stored one. */
export interface Duplicates {
  readonly duplicates: number
  /** The first of them, by line. */
  readonly duplicateRows: readonly DuplicateRow[]
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
export function readSummary(text: string): (ImportSummary & Partial<Duplicates>) | undefined {
  try {
    const report = JSON.parse(withExactIds(text), exactId) as ImportSummary & Partial<Duplicates>
    const { added, updated, unchanged, refused, refusedRows } = report
    const isReport = [added, updated, unchanged, refused].every(Number.isSafeInteger) && Array.isArray(refusedRows)
    return isReport ? report : undefined
  } catch {
    return undefined
  }
}

/** Reads ids as bigints. Within a JSON string the quotation marks of such a member would be escaped. */
const withExactIds = (text: string): string => text.replaceAll(/"id":(-?[0-9]+)/g, '"id":"$1"')

const exactId = (name: string, value: unknown): unknown =>
  name === 'id' && typeof value === 'string' ? BigInt(value) : value
