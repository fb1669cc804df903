import { AppError } from './errors.ts'
import { type NewPlant, type Plant, type PlantPatch, textLength } from './plant.ts'
import { checkExpectation, type Expectation, existing } from './plant-version.ts'
import type { CreateResult, ImportMode, ImportResult, ReplaceResult } from './store.ts'

/** A write that depends on the present plant; an engine decides it inside its transaction. */
export type PlantChange =
  | { readonly kind: 'replace'; readonly plant: NewPlant; readonly expected: Expectation }
  | { readonly kind: 'update'; readonly id: bigint; readonly patch: PlantPatch; readonly expected: Expectation }
  | { readonly kind: 'delete'; readonly id: bigint; readonly expected: Expectation }

/** The outcome of a change. `plant` is the whole plant after it. */
export type ChangeOutcome =
  | { readonly result: 'created' | 'replaced' | 'updated'; readonly plant: NewPlant }
  | { readonly result: 'deleted' }

/** The treatment of existing ids by a put. `new`: the put refuses them. The others are those of ImportMode. */
export type PutMode = ImportMode | 'new'

/** The outcome of a put, which is a create or an imported plant. `exists` and `conflict` are refusals. */
export type PutOutcome = 'created' | 'updated' | 'unchanged' | 'exists' | 'conflict'

export const idOf = (change: PlantChange): bigint => (change.kind === 'replace' ? change.plant.id : change.id)

/** UTF-16 units of the texts of a change. They bound the waiting changes. */
export function weightOf(change: PlantChange): number {
  if (change.kind === 'delete') return 0
  return textLength(change.kind === 'replace' ? change.plant : change.patch)
}

/** Whether two plants are equal apart from their ids. An absent plant equals only an absent one. */
export const isEqual = (one: Plant | undefined, other: Plant | undefined): boolean =>
  one === other || (one !== undefined && other !== undefined && one.name === other.name && one.tag === other.tag)

/**
 * Decides the outcome of a replace, update or delete.
 *
 * @param present the plant that has the id; undefined when there is none
 * @throws AppError 40402 when an update or a delete finds no plant, 41201 when the expectation does not hold
 */
export function decideChange(change: PlantChange, present: NewPlant | undefined): ChangeOutcome {
  const id = idOf(change)
  if (change.kind === 'replace') {
    checkExpectation(change.expected, id, present)
    return { result: present === undefined ? 'created' : 'replaced', plant: change.plant }
  }
  // Before the expectation, because 41201 would hide that the plant is absent.
  if (present === undefined) throw new AppError(40402, `there is no plant with the id ${id}`)
  checkExpectation(change.expected, id, present)
  return change.kind === 'delete' ? { result: 'deleted' } : { result: 'updated', plant: patched(present, change.patch) }
}

function patched({ id, name, tag }: NewPlant, patch: PlantPatch): NewPlant {
  return { id, name: patch.name ?? name, tag: patch.tag === undefined ? tag : (patch.tag ?? undefined) }
}

/** The answer to a replace. */
export function replaceResult({ result }: ChangeOutcome): ReplaceResult {
  if (result !== 'created' && result !== 'replaced') throw new Error(`a replace cannot have the result ${result}`)
  return result
}

/** The answer to an update. */
export function updatedPlant(outcome: ChangeOutcome): NewPlant {
  if (outcome.result !== 'updated') throw new Error(`an update cannot have the result ${outcome.result}`)
  return outcome.plant
}

/**
 * Decides the outcome of a put.
 *
 * @param present the plant that has the id; undefined when there is none
 */
export function decidePut(mode: PutMode, plant: Plant, present: Plant | undefined): PutOutcome {
  if (present === undefined) return 'created'
  if (mode === 'new') return 'exists'
  if (isEqual(plant, present)) return 'unchanged'
  return mode === 'update' ? 'updated' : 'conflict'
}

/** The answer to a create. */
export function createResult(outcome: PutOutcome, id: bigint): CreateResult | AppError {
  return outcome === 'created' || outcome === 'unchanged' ? outcome : refusal(outcome, id)
}

/** The answer for an imported plant. */
export function importResult(outcome: PutOutcome, id: bigint): ImportResult {
  if (outcome === 'created') return 'added'
  return outcome === 'updated' || outcome === 'unchanged' ? outcome : refusal(outcome, id)
}

function refusal(outcome: PutOutcome, id: bigint): AppError {
  return outcome === 'exists'
    ? existing(id)
    : new AppError(40901, `the id ${id} belongs to a different plant; nothing was changed`)
}
