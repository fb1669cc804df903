import type { AppError } from '../domain/errors.ts'
import { sortKey } from '../domain/fold.ts'
import { type NewPlant, validatePlant } from '../domain/plant.ts'
import { bigintArray, textArray, tsvector, tsvectorArray } from './binary-arrays.ts'
import { refusedRecord } from './errors.ts'
import type { Outcome, Row } from './pool/client.ts'
import { type IndexedWords, indexedWords } from './search-terms.ts'

/** A plant with its sort key and words. */
export interface PlantRow extends NewPlant, IndexedWords {
  readonly key: string
}

export function rowOf({ id, name, tag }: NewPlant): PlantRow {
  const key = sortKey(name)
  return { id, name, tag, key, ...indexedWords({ name, tag }, key) }
}

/** Encodes plants as one binary array for each column, which costs both sides a fraction of arrays as text. */
export const columnsOf = (rows: readonly PlantRow[]): Buffer[] => [
  bigintArray(rows.map(({ id }) => id)),
  textArray(rows.map(({ name }) => name)),
  textArray(rows.map(({ tag }) => tag)),
  textArray(rows.map(({ key }) => key)),
  tsvectorArray(rows.map(({ words }) => words)),
]

/** Returns the values of a plant for one row. */
export const valuesOf = ({ id, name, tag, key, words }: PlantRow): unknown[] => [
  String(id),
  name,
  tag,
  key,
  tsvector(words),
]

/** The parameters of a statement whose values are `columnsOf`. */
export const COLUMNS = '$1::bigint[], $2::text[], $3::text[], $4::text[], $5::tsvector[]'

/** Makes a plant of a row of `SELECT id, name, tag`. */
export function plantOf([id, name, tag]: Row): NewPlant {
  return { id: BigInt(id ?? ''), name: name ?? '', tag: tag ?? undefined }
}

/** Maps ids to plants. */
export const byId = (plants: readonly NewPlant[]): Map<bigint, NewPlant> =>
  new Map(plants.map((plant) => [plant.id, plant]))

/** Returns the ids of `RETURNING id`. */
export const idsIn = ({ rows }: Outcome): bigint[] => rows.map(([id]) => BigInt(id ?? ''))

/**
 * Returns the refusal of a plant that PostgreSQL can not store; undefined for a valid plant. HTTP and imports refuse
 * such plants before. This check keeps one that they have missed from failing the other plants of its statement.
 */
export function refusalOf(plant: NewPlant): AppError | undefined {
  try {
    validatePlant(plant)
    return undefined
  } catch (error) {
    return refusedRecord(error)
  }
}
