import { shown } from '../../base/printable.ts'
import { AppError } from '../../domain/errors.ts'
import type { PlantCandidate } from '../../domain/plant.ts'
import { type CsvRow, candidateOf, integerOf, isNothing, type Mapping, WITHOUT_VALUE } from '../csv-rows.ts'
import { areColumnNames, isBareCultivar, isColumnName, isNoValue, meaningOf, rankMark } from './column-names.ts'

/**
 * Errors of formulas: as workbooks have them (ECMA-376 part 1, 18.17.3), as German, French, Spanish and Dutch programs
 * save them in CSV, and LibreOffice's own.
 */
const ERRORS: ReadonlySet<string> = new Set(
  `#REF! #N/A #VALUE! #DIV/0! #NAME? #NUM! #NULL! #BEZUG! #NV #WERT! #ZAHL! #VALEUR! #NOM? #NOMBRE! #NUL! #VALOR!
    #\u00a1REF! #\u00a1VALOR! #\u00a1DIV/0! #\u00bfNOMBRE? #\u00a1NUM! #\u00a1NULO! #N/D #N/B #VERW! #WAARDE! #DEEL/0! #NAAM? #GETAL! #LEEG!`.split(
    /\s+/,
  ),
)
const OWN_ERROR = /^Err:\d{3}$/

/** Characters that show nothing, such as a no-break space and a zero width space. */
const UNSEEN = /^[\p{Z}\p{Cf}\s\u115f\u1160\u2800\u3164\uffa0]+$/u

/**
 * Reads a row of a sheet as `candidateOf` does, but takes a text that shows nothing for an empty cell, and `7.0` for an id,
 * as programs write a column of integers with gaps.
 *
 * @param columns their names
 * @param textOf decodes a cell. It throws AppError 40001 for an invalid one
 * @throws AppError 40001, 40002; also for a formula with an error or without a value, which is no text of a person
 */
export function sheetCandidateOf(
  row: CsvRow,
  mapping: Mapping,
  columns: readonly string[],
  textOf = (cell: string): string => cell,
): PlantCandidate {
  if (areNames(row.cells, mapping, columns, textOf)) throw new AppError(40002, 'the row has names of columns')
  const numbered = mapping.id === undefined ? row : { ...row, cells: withInteger(row.cells, mapping.id) }
  const named =
    mapping.name.length < 2 ? numbered : { ...numbered, cells: asInNames(numbered.cells, mapping, columns, textOf) }
  const { id, name, tag } = candidateOf(named, mapping, columns.length, true, (cell) => withValue(textOf(cell)))
  const isNone = mapping.dropsNoValues === true && typeof tag === 'string' && isNoValue(tag)
  return { id, name: textIn(name, 'name'), tag: isNone ? undefined : textIn(tag, 'tag') }
}

/**
 * Whether a row has the names of columns: those of the sheet again, as each page of a printed list has, or those of
 * another list below it.
 */
export function areNames(
  cells: CsvRow['cells'],
  { id, name: [at = -1] }: Mapping,
  columns: readonly string[],
  textOf = (cell: string): string => cell,
): boolean {
  const isName = (cell: string | undefined, i: number): boolean =>
    cell !== undefined && textOf(cell).trim() === columns[i]
  if (isName(cells[at], at) && cells.every((cell, i) => isNothing(cell) || isName(cell, i))) return true
  // A row with an id is a plant, whatever people call it.
  if (id !== undefined && typeof idIn(cells[id] ?? '') === 'bigint') return false
  return isColumnName(textOf(cells[at] ?? '')) && areColumnNames(cells.map((cell) => cell && textOf(cell)))
}

/** Writes the parts of names as names of plants have them: with marks of ranks and cultivars, without those of no value. */
function asInNames(
  cells: CsvRow['cells'],
  { name }: Mapping,
  columns: readonly string[],
  textOf: (cell: string) => string,
): CsvRow['cells'] {
  let named = cells
  for (const at of name) {
    const [cell, column = ''] = [cells[at]?.trim() ?? '', columns[at]]
    const mark = rankMark(cell)
    if (isNoValue(textOf(cell))) named = named.with(at, undefined)
    else if (mark !== undefined && meaningOf(column) === 'rank') named = named.with(at, mark)
    else if (CULTIVAR.test(column) && isBareCultivar(textOf(cell))) named = named.with(at, `'${cell}'`)
  }
  return named
}

/** The term of Darwin Core, which has no quotation marks. Columns of other names show what people write. */
const CULTIVAR = /^\s*(?:dwc:)?cultivar[_ ]?epithet\s*$/i

/** A number that shows one or two decimals. With three, `1.000` may be a thousand. */
const FRACTION = /^(\s*-?\d+)[.,]0{1,2}(\s*)$/

const withInteger = (cells: CsvRow['cells'], at: number): CsvRow['cells'] =>
  FRACTION.test(cells[at] ?? '') ? cells.with(at, cells[at]?.replace(FRACTION, '$1$2')) : cells

/** The id in a cell of a sheet; a text for an invalid one. */
export const idIn = (cell: string): PlantCandidate['id'] => integerOf(cell.replace(FRACTION, '$1$2'))

function withValue(text: string): string {
  if (!text.startsWith(WITHOUT_VALUE)) return text
  const place = text.slice(WITHOUT_VALUE.length)
  const way = 'open the file in a spreadsheet program and save it'
  throw new AppError(40002, `${place} is a formula without a value: ${way}`)
}

function textIn(text: unknown, member: 'name' | 'tag'): string | undefined {
  if (typeof text !== 'string' || UNSEEN.test(text)) return undefined
  if (text.includes('\ufffd')) throw new AppError(40001, `the ${member} ${shown(text)} has a character that is lost`)
  const word = text.trim()
  if (!ERRORS.has(word) && !OWN_ERROR.test(word)) return text
  throw new AppError(40002, `the ${member} is the error ${shown(word)} of a formula; mend the formula in the sheet`)
}
