import { type CsvRow, integerOf, isNothing, type Mapping } from '../../../src/import/csv-rows.ts'

/**
 * Usual names of columns in English, German, French, Spanish, Dutch and Italian, as `folded` leaves them. The first one
 * that a sheet has counts.
 */
const NAMES = {
  id: `id|plant id|plantid|#|nr|no|n|n o|num|number|nummer|numero|plant number|plant no|accession|accession number
    |accession no|acc no|code|id nr|pflanzennummer|pflanzen nr|pflanzennr|inventarnummer|inventar nr|akzession
    |akzessionsnummer|akzessions nr|lfd nr|identifiant|numero d accession|numero d inventaire|identificador
    |numero de accesion|numero de inventario|codigo|plantnummer|plant nr|accessienummer|accessie|inventarisnummer
    |identificativo|numero di accessione|numero di inventario|codice`,
  /** The whole name. */
  name: `name|plant name|botanical name|scientific name|latin name|full name|taxon|taxon name|plant|names|plants
    |plant names|pflanzenname|botanischer name|wissenschaftlicher name|lateinischer name|name botanisch|bot name
    |wiss name|lat name|botanisch|lateinisch|gattung art|gattung art sorte|pflanze|pflanzen|pflanzennamen|bezeichnung
    |nom|noms|nom scientifique|nom botanique|nom latin|nom de la plante|plante|plantes|nombre|nombres
    |nombre cientifico|nombre botanico|nombre latino|nombre de la planta|planta|plantas|naam|namen
    |wetenschappelijke naam|botanische naam|latijnse naam|plantnaam|planten|nome|nomi|nome scientifico|nome botanico
    |nome latino|nome della pianta|pianta|piante`,
  genus: 'genus|genus name|gattung|gattungsname|genre|genero|geslacht|geslachtsnaam|genere',
  species: `species|species name|specific epithet|species epithet|epithet|art|artname|artepitheton|espece|epithete
    |especie|epiteto|soort|soortnaam|specie`,
  subspecies: `subspecies|subsp|ssp|infraspecific|infraspecific name|infraspecific epithet|unterart|subspezies
    |sous espece|subespecie|ondersoort|sottospecie`,
  cultivar: `cultivar|cultivar name|cv|variety|sorte|sortenname|kultivar|variete|variedad|cultivar naam|ras|varieteit
    |varieta`,
  /** A name that stands for the whole one where nothing better does. */
  common: `common name|trivial name|english name|deutscher name|dt name|deutsch|trivialname|volksname|nom commun
    |nom vernaculaire|nom francais|nombre comun|nombre vulgar|nederlandse naam|nome comune|nome volgare`,
  tag: `tag|tags|plant tag|type|kind|category|group|label|kategorie|typ|gruppe|schlagwort|categorie|groupe|etiquette
    |categoria|tipo|grupo|etiqueta|groep|gruppo|etichetta|location|place|bed|standort|beet|ort|emplacement|lieu
    |ubicacion|lugar|locatie|plaats|standplaats|vak|posizione|luogo`,
} as const

type Meaning = keyof typeof NAMES

const MEANINGS = new Map<Meaning, readonly string[]>(
  Object.entries(NAMES).map(([meaning, names]) => [meaning as Meaning, names.split('|').map((name) => name.trim())]),
)
const KNOWN = new Set([...MEANINGS.values()].flat())

/**
 * Takes away case, accents, punctuation and a remark in brackets, and parts words such as `plantName`. Marks go before
 * the decomposition too, which sorts each run of them by insertion.
 */
function folded(text: string): string {
  if (text.trim() === '#') return '#'
  return text
    .replaceAll(/\p{M}/gu, '')
    .normalize('NFKD')
    .replaceAll(/\p{M}|\([^)]{0,200}\)/gu, '')
    .replaceAll(/(\p{Ll})(?=\p{Lu})/gu, '$1 ')
    .replaceAll(/[^\p{L}\p{N}]+/gu, ' ')
    .trim()
    .toLowerCase()
}

/** The longest text that looks like the name of a column. */
const MAX_NAME = 40
const NUMBER = /^[-+]?[.,:/ -]*\d[\d.,:/ -]*$/

/**
 * Returns the number of the row that probably names the columns: the one with most of the usual names, else the first
 * one below the titles, unless it looks like a plant. Returns 0 if no row does.
 *
 * @param rows the first rows that are not blank
 */
export function headerIn(rows: readonly CsvRow[]): number {
  const width = Math.max(0, ...rows.map(filled))
  const wide = rows.filter((row) => width === 1 || filled(row) > 1)
  const scores = wide.map((row) => {
    const known = row.cells.filter(isKnown).length
    return known === 1 && (row.cells.some(isNumber) || (width > 1 && isTagged(row, wide))) ? 0 : known
  })
  const best = Math.max(0, ...scores)
  if (best > 0) return wide[scores.indexOf(best)]?.number ?? 0
  const [first, ...others] = wide
  return first === undefined || others.length === 0 || width === 1 || looksLikePlant(first, others) ? 0 : first.number
}

const isKnown = (cell: string | undefined): boolean => cell !== undefined && KNOWN.has(folded(cell))

/** Whether a cell with a usual name of a column is the tag of a plant, because another row has one in its place. */
const isTagged = (row: CsvRow, rows: readonly CsvRow[]): boolean =>
  row.cells.some((cell, at) => isKnown(cell) && rows.some((other) => other !== row && isKnown(other.cells[at])))

const filled = ({ cells }: CsvRow): number => cells.filter((cell) => !isNothing(cell)).length
const isNumber = (cell: string | undefined): boolean => cell !== undefined && NUMBER.test(cell.trim())

function looksLikePlant(row: CsvRow, others: readonly CsvRow[]): boolean {
  const isRepeated = (cell: string, at: number) => !isNothing(cell) && others.some(({ cells }) => cells[at] === cell)
  const isOfPlant = (cell: string | undefined, at: number) =>
    cell !== undefined && (isNumber(cell) || cell.length > MAX_NAME || isRepeated(cell, at))
  return isTagged(row, others) || row.cells.some(isOfPlant)
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
  const placeOf = (meaning: Meaning): number | undefined =>
    MEANINGS.get(meaning)
      ?.map((name) => keys.indexOf(name))
      .find((at) => at !== -1)
  const id = placeOf('id')
  const named = placeOf('name')
  // A column such as "Plants" may have their numbers.
  const whole =
    named !== undefined && rows.length > 0 && rows.every(({ cells }) => isNumber(cells[named])) ? undefined : named
  const [genus, species, subspecies] = (['genus', 'species', 'subspecies'] as const).map(placeOf)
  const hasParts = genus !== undefined || species !== undefined
  const parts = [beginsWith(rows, species, genus) ? undefined : genus, species, subspecies]
  const name = (whole !== undefined ? [whole] : hasParts ? parts : [placeOf('common')]).filter((at) => at !== undefined)
  const cultivar = placeOf('cultivar')
  return {
    id: id !== undefined && (keys[id] === 'id' || mayBeIds(rows, id)) ? id : undefined,
    name: cultivar === undefined || name.length === 0 || repeats(rows, cultivar, name) ? name : [...name, cultivar],
    tag: placeOf('tag'),
  }
}

/** Whether each cell of a column begins with that of another one, as "Abies alba" with the genus. */
const beginsWith = (rows: readonly CsvRow[], at: number | undefined, other: number | undefined): boolean =>
  at !== undefined &&
  other !== undefined &&
  rows.length > 0 &&
  rows.every(({ cells }) => cells[at]?.trim().startsWith(cells[other]?.trim() ?? ''))

/** Whether a column repeats in a row what others of it say. */
const repeats = (rows: readonly CsvRow[], at: number, others: readonly number[]): boolean =>
  rows.some(({ cells }) => {
    const text = cells[at]?.trim() ?? ''
    return text !== '' && others.some((other) => cells[other]?.includes(text))
  })

/** Without names, ids come first, as in an export; a single column of texts is the name. */
function guessByContents(columns: readonly string[], rows: readonly CsvRow[]): Mapping {
  const hasIds = columns.length > 1 && rows.length > 0 && mayBeIds(rows, 0)
  const texts = columns.map((_, at) => at).slice(hasIds ? 1 : 0)
  const [name, tag] = texts
  if (name === undefined || texts.length > (hasIds ? 2 : 1)) {
    return { id: hasIds ? 0 : undefined, name: [], tag: undefined }
  }
  return { id: hasIds ? 0 : undefined, name: [name], tag }
}

/**
 * Whether most cells of a column are different ids, as a few may be wrong. Accession numbers such as 2026-17 are none,
 * and numbers of pieces repeat.
 */
function mayBeIds(rows: readonly CsvRow[], at: number): boolean {
  const cells = rows.map(({ cells }) => cells[at]).filter((cell) => !isNothing(cell))
  const ids = cells.map(integerOf).filter((id) => typeof id === 'bigint')
  return 2 * new Set(ids).size > cells.length
}
