import type { AppError } from '../errors.ts'
import { sortKey } from '../fold.ts'
import { type NewPlant, validatePlant } from '../plant.ts'
import { bigintArray, textArray, tsvector, tsvectorArray } from './binary-arrays.ts'
import { refusedRecord } from './errors.ts'
import type { Outcome, Row } from './pool/client.ts'
import { indexedWords } from './search-terms.ts'

/** Encodes plants as one binary array for each column, which costs both sides a fraction of arrays as text. */
export function columnsOf(plants: readonly NewPlant[]): Buffer[] {
  const keys = plants.map(({ name }) => sortKey(name))
  return [
    bigintArray(plants.map(({ id }) => id)),
    textArray(plants.map(({ name }) => name)),
    textArray(plants.map(({ tag }) => tag)),
    textArray(keys),
    tsvectorArray(plants.map((plant, i) => indexedWords(plant, keys[i] ?? ''))),
  ]
}

/** Returns the values of a plant for one row. */
export function valuesOf(plant: NewPlant): unknown[] {
  const key = sortKey(plant.name)
  return [String(plant.id), plant.name, plant.tag, key, tsvector(indexedWords(plant, key))]
}

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
