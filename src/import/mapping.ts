import { shown } from '../base/printable.ts'
import { AppError } from '../domain/errors.ts'
import { ID_RANGE, isInt64, type PlantCandidate } from '../domain/plant.ts'
import { type CsvRow, isNothing } from './csv-rows.ts'

/** The columns of a table, from 0, that hold the members of a plant. */
export interface Mapping {
  /** Undefined: the caller assigns ids. */
  readonly id: number | undefined
  /** The texts of several columns form one name, with a blank between two of them. */
  readonly name: readonly number[]
  /** Undefined: no plant gets a tag. */
  readonly tag: number | undefined
}

/**
 * The parts of a plant in a row, before validation. The name is undefined if its cells are empty.
 *
 * @param columns the number of columns. Further cells must be blank
 * @param isComplete whether the row has all cells that it needs
 * @param textOf decodes a cell. It throws AppError 40001 for an invalid one
 * @throws AppError 40001 or 40002
 */
export function candidateOf(
  row: CsvRow,
  { id, name, tag }: Mapping,
  columns: number,
  isComplete = true,
  textOf: (cell: string) => string = asItIs,
): PlantCandidate {
  const { cells, isWellFormed } = row
  if (!isWellFormed) throw new AppError(40001, STRAY_QUOTE)
  const surplus = cells.length > columns ? cells.slice(columns).find((cell) => !isNothing(cell)) : undefined
  if (!isComplete || surplus !== undefined) throw wrongCount(cells.length, columns, surplus && textOf(surplus))
  const text = (at: number | undefined): string | undefined => {
    const cell = at === undefined ? undefined : cells[at]
    return cell === undefined ? undefined : textOf(cell)
  }
  const [first, ...others] = name
  return {
    id: integerOf(text(id)),
    name: others.length === 0 ? text(first) : joined(name.map(text)),
    tag: text(tag),
  }
}

const asItIs = (cell: string): string => cell

const STRAY_QUOTE =
  'a quotation mark is misplaced: put a text that contains one between quotation marks, and double those inside'

function wrongCount(count: number, columns: number, surplus: string | undefined): AppError {
  const found = surplus === undefined ? `${count}` : `${count}, and ${shown(surplus)} has no column`
  return new AppError(40002, `the row must have ${columns} cells, like the header; it has ${found}`)
}

function joined(parts: readonly (string | undefined)[]): string | undefined {
  const texts = parts.map((part) => part?.trim() ?? '').filter((part) => part !== '')
  return texts.length === 0 ? undefined : texts.join(' ')
}

const INTEGER = /^-?[0-9]+$/
/** The most characters of an int64. */
const MAX_ID_LENGTH = 20
/** A number as spreadsheets show a long one. They have lost its last digits. */
const ROUNDED = /^-?[0-9]+([.,][0-9]+)?E\+?[0-9]+$/i

/**
 * The id in a cell, as validatePlant takes it: a text says what an invalid one must be. Ignores blanks around it, and
 * leading zeros.
 */
export function integerOf(cell: string | undefined): PlantCandidate['id'] {
  const text = cell?.trim() ?? ''
  if (text === '') return undefined
  if (!INTEGER.test(text)) {
    const cause = ROUNDED.test(text) ? ', to which a spreadsheet program has rounded it' : ''
    return `must be an integer in plain digits, such as 7 or -7, not ${shown(text)}${cause}`
  }
  const digits = text.length > MAX_ID_LENGTH ? text.replace(/^(-?)0+(?=[0-9])/, '$1') : text
  const id = digits.length <= MAX_ID_LENGTH ? BigInt(digits) : undefined
  return isInt64(id) ? id : `${ID_RANGE}, and not ${shown(text)}`
}
