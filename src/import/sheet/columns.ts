import { shown } from '../../base/printable.ts'
import { AppError } from '../../domain/errors.ts'
import { type CsvRow, isNothing, letters, type Mapping, type NamedColumns } from '../csv-rows.ts'
import { headerIn } from './header.ts'

/**
 * Reads what each column holds from texts such as `name=Botanical name`.
 *
 * @throws AppError 40003 that begins with `columns`
 */
export function readColumns(texts: readonly string[]): NamedColumns {
  const found: Record<'id' | 'name' | 'tag', string[]> = { id: [], name: [], tag: [] }
  for (const text of texts) {
    const [, member = '', column = ''] = /^([^=]*)=(.*)$/s.exec(text) ?? []
    if (member !== 'id' && member !== 'name' && member !== 'tag') {
      throw new AppError(40003, `columns must be id=…, name=… or tag=… with the name of a column, not ${shown(text)}`)
    }
    if (column.trim() === '') throw new AppError(40003, `columns must name a column for ${member}`)
    found[member].push(column)
  }
  const [{ id, name, tag }, keys] = [found, Object.values(found).flat().map(keyOf)]
  const repeated = keys.find((key, i) => keys.indexOf(key) !== i)
  if (repeated !== undefined) throw new AppError(40003, `columns must name a column once, not ${shown(repeated)} twice`)
  const several = id.length > 1 ? 'id' : tag.length > 1 ? 'tag' : undefined
  if (several !== undefined) throw new AppError(40003, `columns must name one column for ${several}`)
  if (name.length === 0) throw new AppError(40003, 'columns must name the column of the names, as name=…')
  return { id: id[0], name, tag: tag[0] }
}

/** Writes what each column holds, as `readColumns` reads it. */
export function writeColumns(columns: readonly string[], { id, name, tag }: Mapping): string[] {
  const keys = columns.map(keyOf)
  const nameOf = (at: number): string => {
    const own = columns[at] ?? ''
    return placesOf(keys, own).length === 1 ? own.replaceAll(/\s+/g, ' ') : unnamed(letters(at))
  }
  return [
    ...(id === undefined ? [] : [`id=${nameOf(id)}`]),
    ...name.map((at) => `name=${nameOf(at)}`),
    ...(tag === undefined ? [] : [`tag=${nameOf(tag)}`]),
  ]
}

/**
 * Returns the number of the first row that has all names of the columns. Where all are places such as `Column A`, it is
 * the row that probably names the columns, or 0 without one.
 *
 * @param rows the first rows of a sheet that are not blank
 * @throws AppError 40001 that says which columns the sheet has
 */
export function headerOf(rows: readonly CsvRow[], { id, name, tag }: NamedColumns): number {
  const names = [id, ...name, tag].filter((each) => each !== undefined && !PLACE.test(each))
  if (names.length === 0) return headerIn(rows)
  const missingIn = ({ cells }: CsvRow) => {
    const keys = new Set(cells.map(keyOf))
    return names.filter((each) => !keys.has(keyOf(each)))
  }
  const header = rows.find((row) => missingIn(row).length === 0)
  if (header !== undefined) return header.number
  const number = headerIn(rows)
  const likely = rows.find((row) => row.number === number) ?? rows[0]
  const missing = likely === undefined ? names : missingIn(likely)
  const has = listed(likely?.cells.filter((cell) => !isNothing(cell)) ?? [])
  throw new AppError(40001, `no row at the beginning of the file names the column ${listed(missing)}; it has ${has}`)
}

/**
 * Returns the places of named columns.
 *
 * @throws AppError 40001 when the sheet lacks one, or has it twice
 */
export function mappingOf(columns: readonly string[], wanted: NamedColumns): Mapping {
  const keys = columns.map(keyOf)
  const placeOf = (name: string): number => {
    const [place, other] = placesOf(keys, name)
    if (place === undefined)
      throw new AppError(40001, `the sheet has no column ${shown(name)}; it has ${listed(columns)}`)
    if (other === undefined) return place
    const places = `${unnamed(letters(place))} and ${unnamed(letters(other))}`
    throw new AppError(40001, `the sheet has the column ${shown(name)} twice; name one of them by its place, ${places}`)
  }
  const { id, name, tag } = wanted
  const mapping = {
    id: id === undefined ? undefined : placeOf(id),
    name: name.map(placeOf),
    tag: tag === undefined ? undefined : placeOf(tag),
  }
  const places = [mapping.id, ...mapping.name, mapping.tag].filter((place) => place !== undefined)
  if (new Set(places).size === places.length) return mapping
  throw new AppError(40001, 'columns name one column of the sheet twice, by its name and by its place')
}

/** The name that the service and the command give a column without one. */
export const unnamed = (its: string): string => `Column ${its}`
const PLACE = /^\s*column ([a-z]{1,3})\s*$/i

/** The place of a column by what `letters` returns, in any case. */
const placeBy = (its: string): number =>
  [...its.toLowerCase()].reduce((sum, letter) => 26 * sum + letter.charCodeAt(0) - 96, 0) - 1

/** Case and blanks in the name of a column do not count. */
const keyOf = (name = ''): string => name.trim().replaceAll(/\s+/g, ' ').toLowerCase()

/**
 * The columns with a name; else the one at the place that the name says, such as `Column C`.
 *
 * @param keys those of all columns: a row may have 65,536, and a request name 20 of them
 */
function placesOf(keys: readonly string[], name: string): number[] {
  const key = keyOf(name)
  const places: number[] = []
  for (let at = keys.indexOf(key); at !== -1; at = keys.indexOf(key, at + 1)) places.push(at)
  if (places.length > 0) return places
  const [, its] = PLACE.exec(name) ?? []
  const place = its === undefined ? keys.length : placeBy(its)
  return place < keys.length ? [place] : []
}

const MAX_LISTED = 20

export function listed(names: readonly (string | undefined)[]): string {
  const rest = names.length > MAX_LISTED ? ` and ${names.length - MAX_LISTED} more` : ''
  return (
    names
      .slice(0, MAX_LISTED)
      .map((name = '') => shown(name.trim()))
      .join(', ') + rest
  )
}
