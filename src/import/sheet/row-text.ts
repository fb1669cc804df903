import { type CsvRow, isNothing } from '../csv-rows.ts'

/** Characters of a row that a list of rows shows, and that a choice of one row shows. */
export const IN_LIST = 200
export const IN_CHOICE = 40

/** The cells of a row that have a text, cut after so many characters. */
export function rowText({ cells }: Pick<CsvRow, 'cells'>, most: number): string {
  const text = cells.filter((cell) => !isNothing(cell)).join(', ')
  return text.length > most ? `${text.slice(0, most).toWellFormed()}…` : text
}
