import { type CsvRow, isNothing, type Mapping, WITHOUT_VALUE } from '../csv-rows.ts'
import { folded, isFlag, LONGEST, type Meaning, meaningOf, NAMES_OF, rankMark } from './column-names.ts'
import { idIn } from './sheet-row.ts'

/** What a cell looks like. A name is a genus with an epithet or a cultivar; a code is any other text with a digit. */
type Look = 'number' | 'flag' | 'address' | 'name' | 'code' | 'text'

const ADDRESS = /@|^(?:https?:\/\/|www\.)/i
/** A number, price, date or measure. */
const NUMBER = /^[\p{Sc}\s.,:/%+~–-]*\d[\p{Sc}\s\d.,:/%+~–-]*(?:\p{L}{1,3}\.?)?$/u
const PLANT_NAME = /^[×x+]?\s?\p{Lu}\p{Ll}+(?:-\p{Ll}+)?\s+(?:[×x]\s?)?(?:\p{Ll}{2,}|['"‘’“‚„«»]\s?\p{L})/u

function lookOf(cell: string): Look {
  const text = cell.trim()
  if (text.length > LONGEST) return 'text'
  if (ADDRESS.test(text)) return 'address'
  if (isFlag(text)) return 'flag'
  if (NUMBER.test(text)) return 'number'
  if (PLANT_NAME.test(text)) return 'name'
  return /\p{N}/u.test(text) ? 'code' : 'text'
}

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
  const table = readable.filter((row) => width === 1 || filled(row) > 1)
  const scores = table.map((row, i) => {
    // A row above it with as many cells would be a plant.
    if (table.slice(0, i).some((above) => filled(above) >= filled(row))) return 0
    const score = meaningsIn(row, table).size
    const isDoubtful = looksLikePlant(row, table) && !isOfWords(row)
    return score === 1 && (isDoubtful || (width === 1 && table.length === 1)) ? 0 : score
  })
  const best = Math.max(0, ...scores)
  if (best > 0) return table[scores.lastIndexOf(best)]?.number ?? 0
  const [first] = table
  return first !== undefined && width > 1 && differs(first, table) && !looksLikePlant(first, table) ? first.number : 0
}

/** Whether a name of a column has several words, such as "Scientific name", which no cell of a plant has. */
const isOfWords = ({ cells }: CsvRow): boolean =>
  cells.some((cell = '') => meaningOf(cell) !== undefined && /\p{L}[\s_.]+\p{L}/u.test(cell.trim()))

const filled = ({ cells }: CsvRow): number => cells.filter((cell) => !isNothing(cell)).length

/** What the names in a row mean, without cells that are a part of a plant. */
function meaningsIn(row: CsvRow, rows: readonly CsvRow[]): ReadonlySet<Meaning> {
  const named = row.cells.flatMap((cell, at) => {
    const meaning = meaningOf(cell)
    if (cell === undefined || meaning === undefined || isRepeated(row, cell)) return []
    const others = columnOf(rows, row, at)
    const isOfPlant = others.some((other) => meaningOf(other) !== undefined) || (isFlag(cell) && others.every(isFlag))
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
function looksLikePlant(row: CsvRow, rows: readonly CsvRow[]): boolean {
  return row.cells.some((cell, at) => {
    if (cell === undefined || isNothing(cell)) return false
    if (cell.length > MAX_NAME || isRepeated(row, cell)) return true
    const others = columnOf(rows, row, at)
    if (others.includes(cell)) return true
    const look = lookOf(cell)
    if (look === 'address' || look === 'number') return true
    const alike = others.filter((other) => lookOf(other) === look)
    const isKnown = meaningOf(cell) !== undefined && look !== 'flag'
    return look !== 'text' && !isKnown && alike.length > 0 && 2 * alike.length >= others.length
  })
}

/** Whether a row has a text above numbers, answers or addresses alone, or one in small letters above names of plants. */
function differs(row: CsvRow, rows: readonly CsvRow[]): boolean {
  return row.cells.some((cell, at) => {
    if (cell === undefined || isNothing(cell) || lookOf(cell) !== 'text') return false
    const looks = new Set(columnOf(rows, row, at).map(lookOf))
    if (looks.size === 1 && looks.has('name')) return rows.length > SEVERAL && /^\p{Ll}+$/u.test(cell.trim())
    return looks.size === 1 && !['name', 'code', 'text'].some((look) => looks.has(look as Look))
  })
}

/**
 * Returns the mapping that the names of the columns suggest, or their contents in a sheet without names.
 *
 * @param rows some rows below the names
 */
export function guess(columns: readonly string[], rows: readonly CsvRow[], hasNames: boolean): Mapping {
  return hasNames ? guessByNames(columns, rows) : guessByContents(columns, rows)
}

function guessByNames(columns: readonly string[], rows: readonly CsvRow[]): Mapping {
  const keys = columns.map(folded)
  const placesOf = (meaning: Meaning): readonly number[] =>
    (NAMES_OF.get(meaning) ?? []).map((name) => keys.indexOf(name)).filter((at) => at !== -1)
  const placeOf = (meaning: Meaning): number | undefined => placesOf(meaning)[0]
  // A column such as "Plants" may have their numbers.
  const [genus, species, subspecies] = (['genus', 'species', 'subspecies'] as const).map(placeOf)
  const whole =
    placesOf('name').find((at) => rows.length === 0 || !rows.every(({ cells }) => isNumber(cells[at]))) ??
    (species === undefined ? wholeNamesBeside(rows, genus, columns.length) : undefined)
  const hasParts = genus !== undefined || species !== undefined
  const [hybrid, rank] = (['hybrid', 'rank'] as const).map((meaning) =>
    placesOf(meaning).find((at) => areMarks(rows, at)),
  )
  const isOfGenus = hybrid !== undefined && genus !== undefined && hybrid < genus
  const parts = [
    isOfGenus ? hybrid : undefined,
    beginsWith(rows, species, genus) ? undefined : genus,
    isOfGenus ? undefined : hybrid,
    species,
    rank,
    subspecies,
  ]
  const name = (whole !== undefined ? [whole] : hasParts ? parts : [placeOf('common')]).filter((at) => at !== undefined)
  const cultivar = placeOf('cultivar')
  const tags = placesOf('tag').filter((at) => at !== whole)
  return {
    id: placesOf('id').find((at) => (keys[at] === 'id' ? hasNumbers(rows, at) : mayBeIds(rows, at))),
    name: cultivar === undefined || name.length === 0 || repeats(rows, cultivar, name) ? name : [...name, cultivar],
    tag:
      tags.find((at) => !isConstant(rows, at) && !isOfNumbers(rows, at)) ??
      tags.find((at) => !isConstant(rows, at)) ??
      tags[0],
  }
}

/** Rows in which one text everywhere is no accident. Such a column tells nothing about a plant. */
const SEVERAL = 3

const isConstant = (rows: readonly CsvRow[], at: number): boolean =>
  rows.length >= SEVERAL && rows.every(({ cells }) => cells[at] === rows[0]?.cells[at])

/** Whether a column has marks of hybrids or abbreviated ranks, and neither answers nor words. */
const areMarks = (rows: readonly CsvRow[], at: number): boolean =>
  rows.every(
    ({ cells }) => isNothing(cells[at]) || MARK.test(cells[at] ?? '') || rankMark(cells[at] ?? '') !== undefined,
  )

const MARK = /^\s*(?:[×x+]|(?:notho)?(?:subsp|ssp|subvar|var|convar|subf|f|fo|forma|cv|gx|agg)\.?)\s*$/iu

/** Whether a column has numbers, as a table of a database has that refers to another one. */
const isOfNumbers = (rows: readonly CsvRow[], at: number): boolean =>
  rows.length > 0 && rows.every(({ cells }) => isNumber(cells[at]))

/** Whether each cell of a column begins with that of another one, as "Abies alba" with the genus. */
const beginsWith = (rows: readonly CsvRow[], at: number | undefined, other: number | undefined): boolean =>
  at !== undefined &&
  other !== undefined &&
  rows.length > 0 &&
  rows.every(({ cells }) => cells[at]?.trim().startsWith(cells[other]?.trim() ?? ''))

/** The column of whole names beside that of their genus, which alone would give most plants one name. */
function wholeNamesBeside(rows: readonly CsvRow[], genus: number | undefined, width: number): number | undefined {
  const columns = Array.from({ length: genus === undefined ? 0 : Math.min(width, MOST_COMPARED) }, (_, at) => at)
  return columns.find(
    (at) => at !== genus && beginsWith(rows, at, genus) && 2 * (looksOf(rows, at).get('name') ?? 0) >= rows.length,
  )
}

/** Whether a column repeats in a row what others of it say. */
const repeats = (rows: readonly CsvRow[], at: number, others: readonly number[]): boolean =>
  rows.some(({ cells }) => {
    const text = cells[at]?.trim() ?? ''
    return text !== '' && others.some((other) => cells[other]?.includes(text))
  })

/**
 * Without names, ids come first, as in an export. The name is the first column of names of plants, or a single text; a
 * single text besides it is the tag.
 */
function guessByContents(columns: readonly string[], rows: readonly CsvRow[]): Mapping {
  const id = columns.length > 1 && rows.length > 0 && mayBeIds(rows, 0) ? 0 : undefined
  const looks = columns.map((_, at) => looksOf(rows, at))
  const texts = looks.flatMap((look, at) =>
    at === id || !(look.has('text') || look.has('name') || look.has('code')) ? [] : [at],
  )
  const named = texts.find((at) => 2 * (looks[at]?.get('name') ?? 0) >= rows.length)
  const name = named ?? (texts.length <= (id === undefined ? 1 : 2) ? texts[0] : undefined)
  const others = texts.filter((at) => at !== name)
  return {
    id,
    name: name === undefined ? [] : [name],
    tag: name !== undefined && others.length === 1 ? others[0] : undefined,
  }
}

/** How often the cells of a column have each look. */
function looksOf(rows: readonly CsvRow[], at: number): ReadonlyMap<Look, number> {
  const looks = new Map<Look, number>()
  for (const { cells } of rows) {
    const cell = cells[at]
    if (cell === undefined || isNothing(cell)) continue
    const look = lookOf(cell)
    looks.set(look, (looks.get(look) ?? 0) + 1)
  }
  return looks
}

/**
 * Whether most cells of a column are different ids, as a few may be wrong. Accession numbers such as 2026-17 are none,
 * and numbers of pieces repeat.
 */
function mayBeIds(rows: readonly CsvRow[], at: number): boolean {
  const cells = valuesOf(rows, at)
  const ids = cells.map(idIn).filter((id) => typeof id === 'bigint')
  return 2 * new Set(ids).size > cells.length || areWithoutValue(rows, at, cells)
}

/**
 * Whether a column named `id` has numbers where it has anything. One of codes, or one that is empty, would refuse all
 * rows.
 */
function hasNumbers(rows: readonly CsvRow[], at: number): boolean {
  const cells = valuesOf(rows, at)
  if (cells.length === 0) return rows.length === 0 || areWithoutValue(rows, at, cells)
  return 2 * cells.filter((cell) => DIGITS.test(cell)).length > cells.length
}

function valuesOf(rows: readonly CsvRow[], at: number): string[] {
  const cells = rows.flatMap(({ cells }) => cells[at]?.trim() || [])
  return cells.filter((cell) => !cell.startsWith(WITHOUT_VALUE))
}

/** Whether a column has formulas alone whose values nobody knows: its rows are refused with the way out. */
const areWithoutValue = (rows: readonly CsvRow[], at: number, values: readonly string[]): boolean =>
  values.length === 0 && rows.some(({ cells }) => cells[at]?.startsWith(WITHOUT_VALUE) === true)

const DIGITS = /^-?\d+(?:[.,]\d+)?(?:E\+?\d+)?$/i

const isNumber = (cell: string | undefined): boolean => cell !== undefined && lookOf(cell) === 'number'
