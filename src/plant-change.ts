import { type Condition, checkCondition } from './condition.ts'
import { AppError } from './errors.ts'
import type { NewPlant } from './plant.ts'
import type { CreateResult, ImportMode, ImportResult, PlantPatch } from './store.ts'

/** A write that depends on the plant as it is; an engine decides it inside its transaction. */
export type PlantChange =
  | { readonly kind: 'replace'; readonly plant: NewPlant; readonly condition: Condition }
  | { readonly kind: 'update'; readonly id: bigint; readonly patch: PlantPatch; readonly condition: Condition }
  | { readonly kind: 'delete'; readonly id: bigint; readonly condition: Condition }

export const idOf = (change: PlantChange): bigint => (change.kind === 'replace' ? change.plant.id : change.id)

/** UTF-16 units of the texts of a change, by which those that wait are bounded. */
export function weightOf(change: PlantChange): number {
  if (change.kind === 'delete') return 0
  const { name, tag } = change.kind === 'replace' ? change.plant : change.patch
  return (name?.length ?? 0) + (tag?.length ?? 0)
}

/**
 * The plant as it is to be after the change; undefined when it is to be gone.
 *
 * @param plant as it is now; undefined when there is none
 * @throws AppError 40402 when an update or a delete finds none, 41201 when the condition does not hold
 */
export function afterChange(change: PlantChange, plant: NewPlant | undefined): NewPlant | undefined {
  const id = idOf(change)
  // Before the condition: one that is asked of nothing would otherwise hide that there is nothing (RFC 9110, 13.2.1).
  if (plant === undefined && change.kind !== 'replace') throw new AppError(40402, `there is no plant with the id ${id}`)
  checkCondition(change.condition, id, plant)
  if (change.kind === 'replace') return change.plant
  return change.kind === 'delete' || plant === undefined ? undefined : patched(plant, change.patch)
}

function patched({ id, name, tag }: NewPlant, patch: PlantPatch): NewPlant {
  return { id, name: patch.name ?? name, tag: patch.tag === undefined ? tag : (patch.tag ?? undefined) }
}

/** What becomes of a created plant where `there` has its id, or none has. */
export function createResult(
  plant: NewPlant,
  mustBeNew: boolean,
  there: NewPlant | undefined,
): CreateResult | AppError {
  if (there === undefined) return 'created'
  if (mustBeNew) return idExists(plant.id)
  return there.name === plant.name && there.tag === plant.tag ? 'unchanged' : idConflict(plant.id)
}

/** What becomes of an imported plant where `there` has its id, or none has. */
export function importResult(mode: ImportMode, plant: NewPlant, there: NewPlant | undefined): ImportResult {
  if (there === undefined) return 'added'
  if (there.name === plant.name && there.tag === plant.tag) return 'unchanged'
  return mode === 'update' ? 'updated' : idConflict(plant.id)
}

export const idConflict = (id: bigint): AppError =>
  new AppError(40901, `the id ${id} belongs to a different plant; nothing was changed`)

export const idExists = (id: bigint): AppError =>
  new AppError(41201, `a plant with the id ${id} exists (If-None-Match: *); nothing was changed`)
