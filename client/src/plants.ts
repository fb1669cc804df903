import type { Plant, PlantPatch, StoredPlant } from './contract.generated.ts'
import { int64 } from './exact-json.ts'

/** A plant as it is now, and its entity tag, by which a later write can be made to hold for this state alone. */
export interface KeptPlant {
  readonly plant: StoredPlant
  readonly etag: string
}

/** A plant as JSON has it: its id is a bigint only where a number could not hold it. */
type ReadPlant = Omit<StoredPlant, 'id'> & { readonly id: number | bigint }

export const plantOf = (json: unknown): StoredPlant => {
  const { id, ...rest } = json as ReadPlant
  return { id: int64(id), ...rest }
}

export const isSame = (one: Plant, other: Plant): boolean => one.name === other.name && one.tag === other.tag

/** Whether the plant is as the patch would make it. */
export const isPatched = (plant: StoredPlant, { name, tag }: PlantPatch): boolean =>
  (name === undefined || plant.name === name) && (tag === undefined || (plant.tag ?? null) === tag)
