import type { AppError } from '../errors.ts'
import { sortKey } from '../fold.ts'
import { type NewPlant, validatePlant } from '../plant.ts'
import { bigintArray, textArray, tsvector, tsvectorArray } from './binary-arrays.ts'
import { refusedRecord } from './errors.ts'
import type { Outcome, Row } from './pool/client.ts'
import { indexedWords } from './search-terms.ts'

/** Plants as columns of binary arrays, which cost both sides a fraction of arrays as text. */
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

/** A plant as the values of one row. */
export function valuesOf(plant: NewPlant): unknown[] {
  const key = sortKey(plant.name)
  return [String(plant.id), plant.name, plant.tag, key, tsvector(indexedWords(plant, key))]
}

/** Parameters of a statement that takes `columnsOf`. */
export const COLUMNS = '$1::bigint[], $2::text[], $3::text[], $4::text[], $5::tsvector[]'

/** The plant in a row of `SELECT id, name, tag`. */
export function plantOf([id, name, tag]: Row): NewPlant {
  return { id: BigInt(id ?? ''), name: name ?? '', tag: tag ?? undefined }
}

/** Plants by their ids. */
export const byId = (plants: readonly NewPlant[]): Map<bigint, NewPlant> =>
  new Map(plants.map((plant) => [plant.id, plant]))

/** The ids that `RETURNING id` gives. */
export const idsIn = ({ rows }: Outcome): bigint[] => rows.map(([id]) => BigInt(id ?? ''))

/**
 * The refusal of a plant that no column can hold; undefined for a valid plant. The service refuses such plants before;
 * this check protects the other plants of a statement if one gets through.
 */
export function refusalOf(plant: NewPlant): AppError | undefined {
  try {
    validatePlant(plant)
    return undefined
  } catch (error) {
    return refusedRecord(error)
  }
}
