import assert from 'node:assert/strict'
import type { Expectation, NewPlant, PlantPatch } from '../../src/domain/plant.ts'
import type { Store } from '../../src/domain/store.ts'
import type { Actor } from '../../src/domain/token.ts'

/** Puts a plant, and checks that the store says so. */
export async function replacePlant(
  store: Store,
  plant: NewPlant,
  expected: Expectation,
  actor: Actor,
): Promise<'created' | 'replaced'> {
  const outcome = await store.changePlant({ kind: 'replace', plant, expected }, actor)
  if (outcome.result !== 'created' && outcome.result !== 'replaced') assert.fail(outcome.result)
  assert.deepEqual(outcome.plant, plant)
  return outcome.result
}

/** Returns the whole plant after the update. */
export async function updatePlant(
  store: Store,
  id: bigint,
  patch: PlantPatch,
  expected: Expectation,
  actor: Actor,
): Promise<NewPlant> {
  const outcome = await store.changePlant({ kind: 'update', id, patch, expected }, actor)
  return outcome.result === 'updated' ? outcome.plant : assert.fail(outcome.result)
}

export async function deletePlant(store: Store, id: bigint, expected: Expectation, actor: Actor): Promise<void> {
  assert.deepEqual(await store.changePlant({ kind: 'delete', id, expected }, actor), { result: 'deleted' })
}
