import type { NewPlant } from '../../../client/src/index.ts'
import { AppError } from '../../../src/domain/errors.ts'
import type { CsvRow, Mapping } from '../../../src/import/csv-rows.ts'
import { plantOf, type RowPlant } from '../../../src/import/sheet/sheet-plants.ts'
import { say } from '../language/language.ts'
import { said } from '../page/said.ts'

/** Says why a row has no plant. */
export const reasonOf = (error: AppError): string =>
  error.message.startsWith('name is required') ? say('import.rowNoName') : said(error)

/** Returns the plant of a row, or the reason why the row has none. */
export function plantIn(row: CsvRow, mapping: Mapping, columns: readonly string[]): RowPlant | string {
  try {
    return plantOf(row, mapping, columns)
  } catch (error) {
    if (error instanceof AppError) return reasonOf(error)
    throw error
  }
}

export const withId = ({ name, tag }: RowPlant, id: bigint): NewPlant =>
  tag === undefined ? { id, name } : { id, name, tag }
