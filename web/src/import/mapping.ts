import type { NewPlant } from '../../../client/src/index.ts'
import type { Row } from './csv-rows.ts'

/** The column of a sheet, from 0, for each member of a plant. */
export interface Mapping {
  /** undefined: the page assigns ids. */
  readonly id: number | undefined
  readonly name: number | undefined
  /** undefined: no plant gets a tag. */
  readonly tag: number | undefined
}

/** Common names of columns in several languages, in lower case and without accents. */
const NAMES: Readonly<Record<keyof Mapping, readonly string[]>> = {
  id: ['id', 'plant id', 'nr', 'no', 'number', 'nummer', 'numero', 'accession', 'accession number', 'code'],
  name: [
    'name',
    'plant',
    'plant name',
    'species',
    'taxon',
    'latin name',
    'botanical name',
    'pflanze',
    'art',
    'nom',
    'nombre',
    'nome',
    'naam',
  ],
  tag: ['tag', 'type', 'kind', 'category', 'group', 'kategorie', 'typ', 'gruppe', 'categorie', 'categoria', 'tipo'],
}

/** The mapping that the names of the columns suggest. */
export function guess(columns: readonly string[]): Mapping {
  const keys = columns.map(folded)
  const placeOf = (member: keyof Mapping): number | undefined => {
    const place = NAMES[member].map((name) => keys.indexOf(name)).find((at) => at !== -1)
    return place
  }
  return { id: placeOf('id'), name: placeOf('name'), tag: placeOf('tag') }
}

const folded = (text: string): string =>
  text
    .normalize('NFD')
    .replaceAll(/\p{M}/gu, '')
    .replaceAll(/[._-]+/g, ' ')
    .trim()
    .toLowerCase()

/** The plant of a row. Without an id if the page assigns ids. */
export interface RowPlant {
  readonly id: bigint | undefined
  readonly name: string
  readonly tag: string | undefined
}

const INTEGER = /^-?\d{1,19}$/
const MOST = 2n ** 63n

/** Returns the plant of a row, or the reason why the row has none. */
export function plantIn({ cells }: Row, { id, name, tag }: Mapping): RowPlant | string {
  const text = name === undefined ? undefined : cells[name]
  if (text === undefined) return 'The row has no name.'
  if (text.includes('\0')) return 'The name contains the control character U+0000.'
  const plant = { name: text, tag: tag === undefined ? undefined : cells[tag] }
  if (id === undefined) return { id: undefined, ...plant }
  const digits = (cells[id] ?? '').trim()
  if (digits === '') return 'The row has no id.'
  if (/^-?\d+([.,]\d+)?E\+?\d+$/i.test(digits)) return `The spreadsheet has rounded the id to ${digits}.`
  if (!INTEGER.test(digits)) return `The id ${digits} is not a whole number.`
  const value = BigInt(digits)
  if (value < -MOST || value >= MOST) return `The id ${digits} does not fit into 64 bits.`
  return { id: value, ...plant }
}

export const withId = ({ name, tag }: RowPlant, id: bigint): NewPlant =>
  tag === undefined ? { id, name } : { id, name, tag }
