import { type CsvRow, isNothing, type Mapping, WITHOUT_VALUE } from '../csv-rows.ts'
import { areColumnNames, folded, isFlag, LONGEST, type Meaning, meaningOf, NAMES_OF, rankMark } from './column-names.ts'
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
  // The names of the columns of another list may stand below.
  const plants = table.filter(({ cells }) => !areColumnNames(cells))
  const scores = table.map((row, i) => {
    // A row above it with as many cells would be a plant.
    if (table.slice(0, i).some((above) => filled(above) >= filled(row))) return 0
    const score = meaningsIn(row, plants).size
    const isDoubtful = looksLikePlant(row, plants) && !isOfWords(row) && !isAboveNames(row, plants)
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
  const [first] = table
  if (first === undefined || width === 1) return 0
  if (areColumnNames(first.cells)) return first.number
  const isHeader = isAboveNumbers(first, plants)
    ? !hasValue(first, plants)
    : differs(first, plants) && !looksLikePlant(first, plants)
  return isHeader ? first.number : 0
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
const looksLikePlant = (row: CsvRow, rows: readonly CsvRow[]): boolean =>
  hasValue(row, rows) ||
  someText(row, rows, (cell, others) => {
    const look = lookOf(cell)
    const alike = others.filter((other) => lookOf(other) === look)
    const isKnown = meaningOf(cell) !== undefined && look !== 'flag'
    return look !== 'text' && !isKnown && alike.length > 0 && 2 * alike.length >= others.length
  })

/** Whether a cell of a row is no name of a column, whatever the others are. */
const hasValue = (row: CsvRow, rows: readonly CsvRow[]): boolean =>
  someText(row, rows, (cell, others) => {
    if (cell.length > MAX_NAME || isRepeated(row, cell) || others.includes(cell)) return true
    const look = lookOf(cell)
    return look === 'address' || look === 'number'
  })

/** Whether a row has a text above numbers, answers or addresses alone, or one in small letters above names of plants. */
const differs = (row: CsvRow, rows: readonly CsvRow[]): boolean =>
  someText(row, rows, (cell, others) => {
    if (lookOf(cell) !== 'text') return false
    const looks = new Set(others.map(lookOf))
    if (looks.size === 1 && looks.has('name')) return rows.length > SEVERAL && /^\p{Ll}+$/u.test(cell.trim())
    return looks.size === 1 && !['name', 'code', 'text'].some((look) => looks.has(look as Look))
  })

/** Whether a row has a text above several numbers or codes alone, which tells more than what its other cells look like. */
const isAboveNumbers = (row: CsvRow, rows: readonly CsvRow[]): boolean =>
  someText(
    row,
    rows,
    (cell, others) => others.length >= SEVERAL && !/\p{N}/u.test(cell) && others.every((other) => /\p{N}/u.test(other)),
  )

/** Whether a row has the name of a column of names above names of plants alone. */
const isAboveNames = (row: CsvRow, rows: readonly CsvRow[]): boolean =>
  someText(
    row,
    rows,
    (cell, others) =>
      meaningOf(cell) === 'name' && others.length > 0 && others.every((other) => lookOf(other) === 'name'),
  )

/** Whether a cell with a text is so beside the others of its column. */
const someText = (
  row: CsvRow,
  rows: readonly CsvRow[],
  isSo: (cell: string, others: readonly string[]) => boolean,
): boolean =>
  row.cells.some((cell, at) => cell !== undefined && !isNothing(cell) && isSo(cell, columnOf(rows, row, at)))

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
  const [genus, species, subspecies, cultivar] = (['genus', 'species', 'subspecies', 'cultivar'] as const).map(placeOf)
  // A column such as "Plants" may have their numbers.
  const whole =
    mostLatin(
      rows,
      placesOf('name').filter((at) => rows.length === 0 || !isOfNumbers(rows, at)),
    ) ??
    (species === undefined || !isLatin(rows, latinIn(rows, species))
      ? unnamedNames(columns, rows, genus, placesOf('common'))
      : undefined)
  const hasParts = genus !== undefined || species !== undefined
  const [hybrid, rank] = (['hybrid', 'rank'] as const).map((meaning) =>
    placesOf(meaning).find((at) => areMarks(rows, at)),
  )
  const isOfGenus = hybrid !== undefined && genus !== undefined && hybrid < genus
  const parts = [
    isOfGenus ? hybrid : undefined,
    beginningWith(rows, genus)(species) ? undefined : genus,
    isOfGenus ? undefined : hybrid,
    species,
    rank,
    subspecies,
  ].flatMap((at) => (at === undefined ? [] : [...marksBefore(rows, at), at]))
  const found =
    whole !== undefined ? [whole] : hasParts ? [...new Set(parts)] : [placeOf('common') ?? namesIn(columns, rows)]
  const name = found.filter((at) => at !== undefined)
  const tags = placesOf('tag').filter((at) => at !== whole)
  return {
    id: placesOf('id').find((at) => (keys[at] === 'id' ? hasNumbers(rows, at) : mayBeIds(rows, at))),
    name: cultivar === undefined || repeats(rows, cultivar, name) ? name : [...name, cultivar],
    tag:
      tags.find((at) => !isConstant(rows, at) && !isOfNumbers(rows, at)) ??
      tags.find((at) => !isConstant(rows, at)) ??
      tags[0],
  }
}

/** A name in Latin, which those in other languages seldom look like. */
const LATIN =
  /^[×x+]?\s?\p{Lu}[\p{Ll}\p{Lu}]+(?:-\p{Ll}+)?\s+(?:[×x]\s?)?(?:\p{Ll}*(?:a|us|um|is|i|ae|[ae]ns|oides)\b|['"‘’“‚„«»]\s?\p{L})/u

const latinIn = (rows: readonly CsvRow[], at: number): number =>
  rows.filter(({ cells }) => LATIN.test((cells[at] ?? '').slice(0, LONGEST))).length

/** Whether so many names in Latin make a column one of names: not all epithets look like it, and rows may be headings. */
const isLatin = (rows: readonly CsvRow[], count: number): boolean => count > 0 && 3 * count >= rows.length

/** The first of some columns, or one with names in Latin where it has few. */
function mostLatin(rows: readonly CsvRow[], places: readonly number[]): number | undefined {
  const counts = places.map((at) => latinIn(rows, at))
  const best = Math.max(0, ...counts)
  return isLatin(rows, best) && 2 * (counts[0] ?? 0) < best ? places[counts.indexOf(best)] : places[0]
}

/**
 * A column of whole names in a sheet whose names of columns do not say which one it is: where they say the genus, each
 * cell begins with that, which alone would give most plants one name.
 */
function unnamedNames(
  columns: readonly string[],
  rows: readonly CsvRow[],
  genus: number | undefined,
  known: readonly number[],
): number | undefined {
  const places = columns.slice(0, MOST_COMPARED).flatMap((_, at) => (at === genus || known.includes(at) ? [] : [at]))
  const isWhole = genus === undefined ? () => true : beginningWith(rows, genus)
  const counts = places.map((at) => (isWhole(at) ? latinIn(rows, at) : 0))
  const best = Math.max(0, ...counts)
  return isLatin(rows, best) ? places[counts.indexOf(best)] : undefined
}

/** The column of marks that stands before a part of the name, whatever it is named. */
const marksBefore = (rows: readonly CsvRow[], at: number): readonly number[] =>
  at > 0 && areMarks(rows, at - 1) && rows.some(({ cells }) => !isNothing(cells[at - 1])) ? [at - 1] : []

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

/**
 * Tells whether each cell of a column begins with that of another one, as "Abies alba" with the genus. That one is folded
 * once: a cell of 64 KiB for each of 500 columns took 15 s.
 */
function beginningWith(rows: readonly CsvRow[], other: number | undefined): (at: number | undefined) => boolean {
  const starts = other === undefined ? [] : rows.map(({ cells }) => folded(cells[other] ?? ''))
  return (at) =>
    at !== undefined &&
    starts.length > 0 &&
    rows.every(({ cells }, i) => folded(cells[at] ?? '').startsWith(starts[i] ?? ''))
}

/** Whether a column repeats in a row what others of it say. */
const repeats = (rows: readonly CsvRow[], at: number, others: readonly number[]): boolean =>
  rows.some(({ cells }) => {
    const text = cells[at]?.trim() ?? ''
    return text !== '' && others.some((other) => cells[other]?.includes(text))
  })

/**
 * Without names, ids come first, as in an export. The name is a column of names of plants, or a single text; a single
 * text besides it is the tag.
 */
function guessByContents(columns: readonly string[], rows: readonly CsvRow[]): Mapping {
  const named = namesIn(columns, rows)
  // Rows without a name are headings.
  const plants = named === undefined ? rows : rows.filter(({ cells }) => !isNothing(cells[named]))
  const id = columns.length > 1 && named !== 0 && plants.length > 0 && mayBeIds(plants, 0) ? 0 : undefined
  const texts = columns.flatMap((_, at) => {
    const look = looksOf(plants, at)
    return at !== id && (['text', 'name', 'code'] as const).some((each) => look.has(each)) ? [at] : []
  })
  const name = named ?? (texts.length <= (id === undefined ? 1 : 2) ? texts[0] : undefined)
  const others = texts.filter((at) => at !== name)
  return {
    id,
    name: name === undefined ? [] : [name],
    tag: name !== undefined && others.length === 1 ? others[0] : undefined,
  }
}

/** The column most of whose cells look like names of plants. */
const namesIn = (columns: readonly string[], rows: readonly CsvRow[]): number | undefined =>
  mostLatin(
    rows,
    columns.flatMap((_, at) => {
      const count = looksOf(rows, at).get('name') ?? 0
      return count > 0 && 2 * count >= rows.filter(({ cells }) => !isNothing(cells[at])).length ? [at] : []
    }),
  )

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
