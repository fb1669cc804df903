import type { NewPlant } from '../../domain/plant.ts'
import { decidePut, importResult } from '../../domain/plant-change.ts'
import type { ImportMode, ImportResult } from '../../domain/store.ts'
import { refusalOf } from '../rows.ts'

/**
 * Decides an import, given the plants that exist.
 *
 * @returns one result for each plant, and the new state of those that it changes
 */
export function decideImport(
  plants: readonly NewPlant[],
  mode: ImportMode,
  present: ReadonlyMap<bigint, NewPlant>,
): { results: ImportResult[]; changed: NewPlant[] } {
  const changed = new Map<bigint, NewPlant>()
  const results = plants.map((plant) => {
    const refusal = refusalOf(plant)
    if (refusal !== undefined) return refusal
    const outcome = decidePut(mode, plant, changed.get(plant.id) ?? present.get(plant.id))
    if (outcome === 'created' || outcome === 'updated') changed.set(plant.id, plant)
    return importResult(outcome, plant.id)
  })
  return { results, changed: [...changed.values()] }
}
