import { type CsvRow, isNothing, type Mapping, WITHOUT_VALUE } from '../csv-rows.ts'
import { folded, isFlag, isNamelike, keyOf, type Meaning, meaningOf, NAMES_OF, rankMark } from './column-names.ts'
import { FOR_ONE_NAME, MANY } from './look.ts'
import { type Look, lookOf, looksLatin, SENTENCE, SEVERAL } from './looks.ts'
import { idIn } from './sheet-row.ts'

/**
 * Returns the mapping that the names of the columns suggest, or their contents in a sheet without names.
 *
 * @param rows some rows below the names
 * @param isList whether the sheet may be a list of other things
 */
export function guess(columns: readonly string[], rows: readonly CsvRow[], hasNames: boolean, isList = false): Mapping {
  const some = rows.slice(0, Math.max(LEAST_ROWS, MOST_CELLS / columns.length))
  return hasNames ? guessByNames(columns, some, isList) : guessByContents(columns, some, isList)
}

/** Cells by which a sheet is guessed, and the rows that it takes however wide they are: 20,000 columns took 0.7 s. */
const MOST_CELLS = 200_000
const LEAST_ROWS = 20

function guessByNames(columns: readonly string[], rows: readonly CsvRow[], isList: boolean): Mapping {
  const keys = columns.map(keyOf)
  const placesOf = (meaning: Meaning): readonly number[] =>
    (NAMES_OF.get(meaning) ?? []).map((name) => keys.indexOf(name)).filter((at) => at !== -1)
  const placeOf = (meaning: Meaning): number | undefined => placesOf(meaning)[0]
  const [subspecies, cultivar] = (['subspecies', 'cultivar'] as const).map(placeOf)
  const ofGenus = placesOf('genus').find((at) => !isConstant(rows, at)) ?? placeOf('genus')
  const ofSpecies = placeOf('species')
  const beside = generaIn(rows, ofGenus === undefined ? [(ofSpecies ?? 0) - 1] : [ofGenus])
  const [genus, species] = [ofGenus ?? beside?.[0], ofSpecies ?? beside?.[1]]
  const named = ownNames(rows, placesOf('name'), genus, species)
  const isOfSpecies = species !== undefined && isLatin(rows, latinIn(rows, species))
  // Keys of programs, such as `abies_alba`, are names if no column has better ones.
  const keyed = rows.filter(({ cells }) => /^\p{Ll}+_[\p{Ll}_]+$/u.test(cells[named ?? -1] ?? ''))
  const isAlone = named === undefined || 2 * keyed.length > rows.length
  const others = keys.flatMap((key, at) => (at === species || mayHaveNames(key, isAlone) ? [at] : []))
  const latin = named === undefined && isOfSpecies ? undefined : latinAmong(rows, others, genus, named)
  const whole = latin ?? named
  const own = placesOf('name').find((at) => at !== whole && !areCodes(rows, at))
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
    subspecies === undefined ? undefined : rank,
    subspecies,
  ].flatMap((at) => (at === undefined ? [] : [...marksBefore(rows, at), at]))
  const found =
    whole !== undefined
      ? [whole, isFiner(rows, own, whole) ? own : undefined]
      : hasParts
        ? [...new Set(parts)]
        : (generaIn(rows, others) ?? [
            placeOf('common') ?? (isList ? undefined : namelike(keys, rows)) ?? namesIn(columns, rows, isList),
          ])
  const isParted = whole !== undefined && subspecies !== undefined && areEpithets(rows, subspecies)
  const lower = isParted && !repeats(rows, subspecies, [whole], BINOMIAL) ? [rank, subspecies] : []
  const name = [...found, ...lower].filter((at) => at !== undefined)
  const tags = placesOf('tag').filter((at) => !name.includes(at) && saysSomething(rows, at))
  return {
    id: placesOf('id').find((at) => (keys[at] === 'id' ? hasNumbers(rows, at) : mayBeIds(rows, at))),
    name: cultivar === undefined || repeats(rows, cultivar, name) ? name : [...name, cultivar],
    tag:
      tags.find((at) => !isConstant(rows, at) && !isOfNumbers(rows, at)) ??
      tags.find((at) => !isConstant(rows, at)) ??
      tags[0],
  }
}

const latinIn = (rows: readonly CsvRow[], at: number): number =>
  rows.filter(({ cells }) => looksLatin(cells[at] ?? '')).length

/** The first of some columns whose genera the next one continues with epithets, and that one, of whatever names. */
function generaIn(rows: readonly CsvRow[], places: readonly number[]): readonly [number, number] | undefined {
  const genus = places.find((at) => {
    const names = rows.map(({ cells }) => `${cells[at]?.trim()} ${cells[at + 1]?.trim()}`)
    const count = names.filter((name) => /^\p{L}+ \p{Ll}/u.test(name) && looksLatin(name)).length
    return 2 * count >= Math.max(1, rows.length) && areEpithets(rows, at + 1)
  })
  return genus === undefined ? undefined : [genus, genus + 1]
}

/** Whether nearly all cells with a text have one word in small letters. */
function areEpithets(rows: readonly CsvRow[], at: number): boolean {
  const cells = valuesOf(rows, at)
  return cells.length > 0 && cells.filter((cell) => /^[\p{Ll}.-]+$/u.test(cell)).length >= MOST_BEGIN * cells.length
}

/** Whether so many names in Latin make a column one of names: not all epithets look like it, and rows may be headings. */
const isLatin = (rows: readonly CsvRow[], count: number): boolean => count > 0 && 3 * count >= rows.length

/** Columns that are compared with those of the genus: exports of Darwin Core have 260. */
const MOST_COMPARED = 500

/**
 * The column of whole names among those named so. One such as "Plants" may have their numbers, and one beside a genus and
 * a species may have names in another language.
 */
function ownNames(
  rows: readonly CsvRow[],
  places: readonly number[],
  genus: number | undefined,
  species: number | undefined,
): number | undefined {
  const named = mostLatin(
    rows,
    places.filter((at) => !areCodes(rows, at)),
  )
  if (named === undefined || genus === undefined || species === undefined) return named
  const isWhole = isLatin(rows, latinIn(rows, named)) || beginningWith(rows, genus)(named)
  return isWhole || areWithoutValue(rows, named, valuesOf(rows, named)) ? named : undefined
}

/** Whether each cell of a column is a number, a word with one, or an answer. */
const areCodes = (rows: readonly CsvRow[], at: number): boolean => {
  const cells = valuesOf(rows, at)
  return cells.length > 0 && cells.every((cell) => isNumber(cell) || /^\S*\d\S*$/.test(cell) || isFlag(cell))
}

/** The first of some columns, or one with names in Latin where it has few. */
function mostLatin(rows: readonly CsvRow[], places: readonly number[]): number | undefined {
  const counts = places.map((at) => latinIn(rows, at))
  const best = Math.max(0, ...counts)
  return isLatin(rows, best) && 4 * (counts[0] ?? 0) < 3 * best ? places[counts.indexOf(best)] : places[0]
}

/**
 * The column with most different names in Latin among some whose names do not say so. Where they say the genus, each cell
 * begins with that, which alone would give most plants one name. Beside a column of names in another language, it must
 * have them nearly everywhere, as a column of insects or of neighbours has some.
 */
function latinAmong(
  rows: readonly CsvRow[],
  others: readonly number[],
  genus: number | undefined,
  named: number | undefined,
): number | undefined {
  if (named !== undefined && isLatin(rows, latinIn(rows, named))) return undefined
  const isWhole = genus === undefined ? () => true : beginningWith(rows, genus)
  const least = named === undefined ? 1 / 3 : 2 / 3
  const places = others
    .slice(0, MOST_COMPARED)
    .filter((at) => at !== genus && latinIn(rows, at) >= Math.max(1, least * rows.length) && isWhole(at))
  const counts = places.map((at) => differentIn(rows, at))
  return places[counts.indexOf(Math.max(...counts))]
}

/** Whether a column may have the names of plants in Latin, though its name does not say so. */
function mayHaveNames(key: string, isAlone: boolean): boolean {
  const meaning = meaningOf(key)
  return (meaning === undefined || (isAlone && meaning === 'tag')) && !OF_OTHERS.test(key)
}

/** Names of columns with names of other plants and of animals. */
const OF_OTHERS = /synonym|basionym|former|previous|parent|host|pest|disease|pollinat|companion|neighbo/

const differentIn = (rows: readonly CsvRow[], at: number): number => new Set(rows.map(({ cells }) => cells[at])).size

/** Whether the names of a column tell plants apart that have one name in another, as those of cultivars do. */
const isFiner = (rows: readonly CsvRow[], named: number | undefined, whole: number): boolean =>
  named !== undefined && differentIn(rows, named) >= Math.max(1, 2 * differentIn(rows, whole))

/** A column whose name says that it has names or species, without numbers. */
const namelike = (keys: readonly string[], rows: readonly CsvRow[]): number | undefined =>
  keys.flatMap((key, at) => (isNamelike(key) && !areCodes(rows, at) ? [at] : []))[0]

/** The column of marks that stands before a part of the name, whatever it is named. */
const marksBefore = (rows: readonly CsvRow[], at: number): readonly number[] =>
  at > 0 && areMarks(rows, at - 1) && rows.some(({ cells }) => !isNothing(cells[at - 1])) ? [at - 1] : []

/** Whether a column has one text everywhere, which tells nothing about a plant. */
const isConstant = (rows: readonly CsvRow[], at: number): boolean =>
  rows.length >= SEVERAL && rows.every(({ cells }) => cells[at] === rows[0]?.cells[at])

/** Whether a column has marks of hybrids or abbreviated ranks, and neither answers nor words. */
const areMarks = (rows: readonly CsvRow[], at: number): boolean =>
  rows.every(
    ({ cells }) => isNothing(cells[at]) || MARK.test(cells[at] ?? '') || rankMark(cells[at] ?? '') !== undefined,
  )

const MARK = /^\s*(?:[×x+]|(?:notho)?(?:subsp|ssp|subvar|var|convar|subf|f|fo|forma|cv|gx|agg)\.?)\s*$/iu

/** Whether a column has more than signs, and no coordinates, which programs for observations call a location. */
const saysSomething = (rows: readonly CsvRow[], at: number): boolean => {
  const cells = valuesOf(rows, at)
  return cells.length === 0 || cells.some((cell) => /[\p{L}\p{N}]/u.test(cell) && !/^\W*\d+[.,]\d{4}/.test(cell))
}

/** Whether a column has numbers, as a table of a database has that refers to another one. */
const isOfNumbers = (rows: readonly CsvRow[], at: number): boolean =>
  rows.length > 0 && rows.every(({ cells }) => isNumber(cells[at]))

/**
 * Tells whether nearly each cell of a column begins with that of another one, as "Abies alba" with the genus. That one is folded
 * once: a cell of 64 KiB for each of 500 columns took 15 s.
 */
function beginningWith(rows: readonly CsvRow[], other: number | undefined): (at: number | undefined) => boolean {
  const starts = other === undefined ? [] : rows.map(({ cells }) => folded(cells[other] ?? ''))
  return (at) =>
    at !== undefined &&
    starts.length > 0 &&
    rows.filter(({ cells }, i) => folded(cells[at] ?? '').startsWith(starts[i] ?? '')).length >=
      MOST_BEGIN * rows.length
}

/** The share of them, as some genera are mistyped. */
const MOST_BEGIN = 0.9

/** Words of the name of a species, whose epithet one of its subspecies has again. */
const BINOMIAL = 2

/**
 * Whether a column repeats in a fifth of its cells what others say behind so many words: a cultivar is often written in
 * several ways.
 */
function repeats(rows: readonly CsvRow[], at: number, others: readonly number[], words = 0): boolean {
  const again = rows.filter(({ cells }) => {
    const text = cells[at]?.trim() ?? ''
    return text !== '' && others.some((other) => cells[other]?.split(' ').slice(words).join(' ').includes(text))
  })
  return again.length > 0 && 5 * again.length >= valuesOf(rows, at).length
}

/**
 * Without names, ids come first, as in an export. The name is a column of names of plants, or a single text; a single
 * text besides it is the tag. Of several texts, it is the first one that is another one in each row.
 */
function guessByContents(columns: readonly string[], rows: readonly CsvRow[], isList: boolean): Mapping {
  const named = namesIn(columns, rows, isList)
  // Rows without a name are headings.
  const plants = named === undefined ? rows : rows.filter(({ cells }) => !isNothing(cells[named]))
  const id = columns.length > 1 && named !== 0 && plants.length > 0 && mayBeIds(plants, 0) ? 0 : undefined
  const texts = columns.flatMap((_, at) => {
    const look = looksOf(plants, at)
    return at !== id && (['text', 'name', 'code'] as const).some((each) => look.has(each)) ? [at] : []
  })
  const isSingle = texts.length <= (id === undefined ? 1 : 2)
  const parts = named === undefined ? generaIn(rows, texts) : undefined
  const one = named ?? (isSingle ? texts[0] : isList ? undefined : texts.find((at) => areDifferent(plants, at)))
  const name: readonly number[] = parts ?? (one === undefined ? [] : [one])
  const others = texts.filter((at) => !name.includes(at))
  const [first] = name
  return {
    id,
    name,
    tag: first === undefined || others.length !== 1 ? undefined : others.find((at) => !translates(plants, at, first)),
  }
}

/** Whether a column has one text for each name, of which there are few, as one of names in another language. */
function translates(rows: readonly CsvRow[], at: number, name: number): boolean {
  const pairs = new Set(rows.map(({ cells }) => `${cells[name]}\n${cells[at]}`)).size
  const names = differentIn(rows, name)
  return names > SEVERAL && 2 * names <= rows.length && pairs <= 1.1 * names
}

/** Whether a column has texts of a few words, nearly all of which are different. */
function areDifferent(rows: readonly CsvRow[], at: number): boolean {
  const cells = valuesOf(rows, at)
  const isMost = (count: number): boolean => count >= 0.9 * rows.length
  return rows.length >= SEVERAL && isMost(new Set(cells).size) && isMost(cells.filter(isOfWords).length)
}

const isOfWords = (cell: string): boolean => cell.length <= MAX_WORDS && !/\p{N}/u.test(cell)
const MAX_WORDS = 60

/** Rows for each name in a column of names, as headings may stand between. */
const FILLED = 3

/** The column most of whose cells look like names of plants, and not like sentences. A few in many rows are places. */
function namesIn(columns: readonly string[], rows: readonly CsvRow[], isList: boolean): number | undefined {
  const places = columns.flatMap((_, at) => {
    const count = looksOf(rows, at).get('name') ?? 0
    const sentences = rows.filter(({ cells }) => SENTENCE.test(cells[at] ?? '')).length
    const filled = valuesOf(rows, at).length
    return count > sentences && 2 * count >= filled && FILLED * filled >= rows.length ? [at] : []
  })
  const at = mostLatin(rows, places)
  if (at === undefined || isLatin(rows, latinIn(rows, at))) return at
  return isList || (rows.length >= MANY && FOR_ONE_NAME * differentIn(rows, at) <= rows.length) ? undefined : at
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
  return 2 * new Set(ids).size > rows.length || areWithoutValue(rows, at, cells)
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
