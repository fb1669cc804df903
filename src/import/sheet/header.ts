import { type CsvRow, isNothing } from '../csv-rows.ts'
import { areColumnNames, isFlag, LONGEST, type Meaning, meaningOf } from './column-names.ts'
import { type Look, lookOf, SEVERAL } from './looks.ts'

/** The longest text that looks like the name of a column. */
const MAX_NAME = 40
/**
 * Columns by which the row of their names is found: each cell is compared with all others. Exports of Darwin Core have
 * 260; with 32,000 a service would answer nobody else for 11 s.
 */
const MOST_COMPARED = 500

/**
 * Returns the number of the row that probably names the columns: the one whose cells have most of the usual meanings, the
 * last of several, as names of groups stand above those of their columns; else the first one below the titles, if its
 * cells differ in kind from those below. Returns 0 if no row does: a wrong row would cost the plant in it, and nobody
 * would notice.
 *
 * @param rows the first rows that are not blank
 */
export function headerIn(rows: readonly CsvRow[]): number {
  const readable = rows
    .filter(({ fault }) => fault === undefined)
    .map((row) => ({ ...row, cells: row.cells.slice(0, MOST_COMPARED) }))
  const width = Math.max(0, ...readable.map(filled))
  const [top] = readable
  const count = top !== undefined && isCount(top) ? top : undefined
  const table = readable.filter((row) => width === 1 || (filled(row) > 1 && row !== count))
  // The names of the columns of another list may stand below.
  const plants = table.filter(({ cells }) => !areColumnNames(cells))
  const scores = table.map((row, i) => {
    // A row above it with as many cells would be a plant.
    if (table.slice(0, i).some((above) => filled(above) >= filled(row))) return 0
    const score = meaningsIn(row, plants).size
    const isDoubtful = looksLikePlant(row, plants) && !isOfWords(row) && !isAboveNames(row, plants) && !hasSeries(row)
    return score === 1 && (isDoubtful || (width === 1 && table.length === 1)) ? 0 : score
  })
  // Those of another list may stand below the plants.
  const from = Math.max(
    0,
    scores.findIndex((score) => score > 1),
  )
  const end = scores.indexOf(0, from)
  const own = from > 0 || (scores[0] ?? 0) > 1 ? scores.slice(0, end === -1 ? undefined : end) : scores
  const best = Math.max(0, ...own)
  if (best > 0) return table[own.lastIndexOf(best)]?.number ?? 0
  const [first, second] = table
  if (first === undefined) return 0
  if (areColumnNames(first.cells) || (isOfProgram(first) && !isOfProgram(second))) return first.number
  if (width === 1) return areColumnNames(first.cells.join(' ').split(/[\s_]+/)) ? first.number : 0
  const numbers = columnsOfNumbers(first, plants)
  const isHeader =
    numbers > 0
      ? !hasValue(first, plants, numbers < SEVERAL ? MAX_NAME : LONGEST)
      : differs(first, plants) && !looksLikePlant(first, plants)
  return (isHeader ? first : count)?.number ?? 0
}

/** Whether R named the columns, or LibreOffice saved the kind and the width of each for a sheet of dBase. */
const isOfProgram = (row: CsvRow | undefined): boolean =>
  row?.cells.join() === 'x' || (row?.cells.every((cell = '') => /^[VX]\d+$|,[A-Z],\d+(?:,\d+)?$/.test(cell)) ?? false)

const SEVERAL_WORDS = /\p{L}[\s_.]+\p{L}/u

/** Whether a name of a column has several words, such as "Scientific name", which no cell of a plant has. */
const isOfWords = ({ cells }: CsvRow): boolean =>
  cells.some((cell = '') => meaningOf(cell) !== undefined && SEVERAL_WORDS.test(cell))

/** Whether cells count, as the names of columns do that have months or years. */
const hasSeries = ({ cells }: CsvRow): boolean =>
  cells.some(
    (cell = '', at) => /\d/.test(cell) && [1, 2].every((step) => cells[at + step]?.trim() === `${Number(cell) + step}`),
  )

/** Whether a row is numbers of the columns, which programs save above their names. */
const isCount = (row: CsvRow): boolean => hasSeries(row) && !row.cells.some((cell = '') => /\p{L}/u.test(cell))

const filled = ({ cells }: CsvRow): number => cells.filter((cell) => !isNothing(cell)).length

/** What the names in a row mean, without cells that are a part of a plant. */
function meaningsIn(row: CsvRow, rows: readonly CsvRow[]): ReadonlySet<Meaning> {
  const named = row.cells.flatMap((cell, at) => {
    const meaning = meaningOf(cell)
    if (cell === undefined || meaning === undefined || isRepeated(row, cell)) return []
    const others = columnOf(rows, row, at)
    // A merged cell gives its name to two rows of names.
    const mayBeMerged = meaning === 'genus' || meaning === 'species' || SEVERAL_WORDS.test(cell)
    const again = mayBeMerged && others.indexOf(cell) === others.lastIndexOf(cell) ? cell : undefined
    const isOfPlant =
      others.some((other) => meaningOf(other) !== undefined && other !== again) ||
      (isFlag(cell) && others.every(isFlag))
    return isOfPlant ? [] : [{ cell, meaning }]
  })
  // One `no` is an answer more often than the name of the only column that has a usual one.
  return new Set(named.every(({ cell }) => isFlag(cell)) ? [] : named.map(({ meaning }) => meaning))
}

/** The cells of a column in the other rows. A row may occur again, as the names of columns do on each printed page. */
const columnOf = (rows: readonly CsvRow[], row: CsvRow, at: number): readonly string[] =>
  rows
    .filter((other) => other.cells.some((cell, i) => cell !== row.cells[i]))
    .map(({ cells }) => cells[at])
    .flatMap((cell) => (cell === undefined || isNothing(cell) ? [] : [cell]))

const isRepeated = ({ cells }: CsvRow, cell: string): boolean => cells.indexOf(cell) !== cells.lastIndexOf(cell)

/** Whether a cell of a row looks like those of plants: it is no name of a column, or like most others of its column. */
const looksLikePlant = (row: CsvRow, rows: readonly CsvRow[]): boolean =>
  hasValue(row, rows) ||
  someText(row, rows, (cell, others) => {
    const look = lookOf(cell)
    const alike = others.filter((other) => lookOf(other) === look)
    const isKnown = meaningOf(cell) !== undefined && look !== 'flag'
    return look !== 'text' && !isKnown && alike.length > 0 && 2 * alike.length >= others.length
  })

/** Whether a cell of a row is no name of a column, whatever the others are. @param longest characters of a name */
function hasValue(row: CsvRow, rows: readonly CsvRow[], longest = MAX_NAME): boolean {
  const mayRepeat = isWide(row)
  return someText(row, rows, (cell, others) => {
    if (cell.length > longest || (!mayRepeat && isRepeated(row, cell)) || others.includes(cell)) return true
    const look = lookOf(cell)
    return look === 'address' || look === 'number'
  })
}

/** Whether a row has so many different texts that a repeated one is the name of two columns. */
function isWide({ cells }: CsvRow): boolean {
  const texts = cells.filter((cell) => !isNothing(cell))
  return texts.length >= WIDE && new Set(texts).size >= 0.9 * texts.length
}
const WIDE = 10

/** Whether a row has a text above numbers, answers or addresses alone, or one in small letters above names of plants. */
const differs = (row: CsvRow, rows: readonly CsvRow[]): boolean =>
  someText(row, rows, (cell, others) => {
    if (lookOf(cell) !== 'text') return false
    const looks = new Set(others.map(lookOf))
    if (looks.size === 1 && looks.has('name')) return rows.length > SEVERAL && /^\p{Ll}+$/u.test(cell.trim())
    return looks.size === 1 && !['name', 'code', 'text'].some((look) => looks.has(look as Look))
  })

/** The texts of a row above several numbers or codes alone, which tell more than what its other cells look like. */
const columnsOfNumbers = (row: CsvRow, rows: readonly CsvRow[]): number =>
  row.cells.filter((cell, at) => {
    const others = columnOf(rows, row, at)
    const isText = cell !== undefined && !isNothing(cell) && !/\p{N}/u.test(cell)
    return isText && others.length >= SEVERAL && others.every((other) => /\p{N}/u.test(other))
  }).length

/** Whether a row has the name of a column of names above names of plants, mostly. */
const isAboveNames = (row: CsvRow, rows: readonly CsvRow[]): boolean =>
  someText(row, rows, (cell, others) => {
    const names = others.filter((other) => lookOf(other) === 'name').length
    return ['name', 'species', 'common'].includes(meaningOf(cell) ?? '') && names > 0 && 2 * names >= others.length
  })

/** Whether a cell with a text is so beside the others of its column. */
const someText = (
  row: CsvRow,
  rows: readonly CsvRow[],
  isSo: (cell: string, others: readonly string[]) => boolean,
): boolean =>
  row.cells.some((cell, at) => cell !== undefined && !isNothing(cell) && isSo(cell, columnOf(rows, row, at)))
