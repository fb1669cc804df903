import { type CsvRow, isNothing, WITHOUT_VALUE } from '../csv-rows.ts'

/** Characters of a row that a list of rows shows, and that a choice of one row shows. */
export const IN_LIST = 200
export const IN_CHOICE = 40

/** The cells of a row that have a text, cut after so many characters. */
export function rowText({ cells }: Pick<CsvRow, 'cells'>, most: number): string {
  const text = textsIn(cells).join(', ')
  return text.length > most ? `${text.slice(0, most).toWellFormed()}…` : text
}

/** What a cell shows: nothing for a formula without a value. */
export const shownIn = (cell: string | undefined): string | undefined =>
  cell?.startsWith(WITHOUT_VALUE) === true ? undefined : cell

/** The texts of a row. */
export const textsIn = (cells: CsvRow['cells']): readonly string[] =>
  cells.map(shownIn).flatMap((cell) => (cell === undefined || isNothing(cell) ? [] : [cell]))
