import type { NewPlant } from '../../../client/src/index.ts'
import { shown } from '../../../src/base/printable.ts'
import { AppError } from '../../../src/domain/errors.ts'
import { validatePlant } from '../../../src/domain/plant.ts'
import type { CsvRow, Mapping } from '../../../src/import/csv-rows.ts'
import { sheetCandidateOf } from '../../../src/import/sheet/sheet-row.ts'
import { say } from '../language/language.ts'
import { said } from '../page/said.ts'

/** The plant of a row. Without an id if the page assigns ids. */
export interface RowPlant {
  readonly id: bigint | undefined
  readonly name: string
  readonly tag: string | undefined
}

/**
 * Returns the plant of a row, or the reason why the row has none.
 *
 * @param columns the names of the columns of the sheet
 */
export function plantIn(row: CsvRow, mapping: Mapping, columns: readonly string[]): RowPlant | string {
  const hasId = mapping.id !== undefined
  try {
    const candidate = sheetCandidateOf(row, mapping, columns)
    if (candidate.name === undefined) return say('import.rowNoName')
    const { id, name, tag } = validatePlant(hasId ? candidate : { ...candidate, id: 0n }, shown)
    return { id: hasId ? id : undefined, name, tag }
  } catch (error) {
    if (error instanceof AppError) return said(error)
    throw error
  }
}

export const withId = ({ name, tag }: RowPlant, id: bigint): NewPlant =>
  tag === undefined ? { id, name } : { id, name, tag }
