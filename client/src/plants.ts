import type { ListedPlant, Plant, PlantPatch, StoredPlant } from './contract.generated.ts'
import { int64 } from './exact-json.ts'

/** A plant with its entity tag. With `ifMatch`, a later write applies only while the plant has that tag. */
export interface KeptPlant {
  readonly plant: StoredPlant
  readonly etag: string
}

/** A plant as parseExact reads it: its id is a bigint only where a number could round it. */
type ReadPlant = Omit<ListedPlant, 'id'> & { readonly id: number | bigint }

export const plantOf = (json: unknown): ListedPlant => {
  const { id, ...rest } = json as ReadPlant
  return { id: int64(id), ...rest }
}

export const isSame = (one: Plant, other: Plant): boolean => one.name === other.name && one.tag === other.tag

/** Whether the plant already has the values of the patch. */
export const isPatched = (plant: StoredPlant, { name, tag }: PlantPatch): boolean =>
  (name === undefined || plant.name === name) && (tag === undefined || (plant.tag ?? null) === tag)
