import type { PlantstoreClient, StoredPlant } from '../../../../client/src/index.ts'
import { findById } from '../list/by-id.ts'
import { wantedBy } from '../list/filter.ts'
import type { Targets } from '../list/selection.ts'

/** Plants after which the reading says how far it is. */
const PART = 1000

/** Reads the plants, as they are now if a filter finds them. @param onRead called with the number of plants so far */
export async function readTargets(
  client: PlantstoreClient,
  targets: Targets,
  onRead: (count: number) => void,
  signal: AbortSignal,
): Promise<readonly StoredPlant[]> {
  if (targets.kind === 'chosen') return targets.plants
  if (targets.kind === 'read') return targets.read(onRead, signal)
  const { filter, without } = targets
  const plants = new Map<bigint, StoredPlant>()
  const first = await findById(client, filter, signal)
  if (first !== undefined) plants.set(first.id, first)
  for await (const plant of client.exportPlants(wantedBy(filter), { signal })) {
    plants.set(plant.id, plant)
    if (plants.size % PART === 0) onRead(plants.size)
  }
  return [...plants.values()].filter(({ id }) => !without.has(id))
}
