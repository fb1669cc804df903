import type { PlantstoreClient, StoredPlant } from '../../../client/src/index.ts'
import { see } from '../offline/seen.ts'
import { fewAtOnce } from '../page/few-at-once.ts'
import { isRefusal } from '../page/said.ts'
import { plantsOf } from '../plants/list/by-id.ts'
import { MOST_PLANTS, type Wanted } from './stocktake.ts'

/** Plants after which the page shows how far it is. */
const STEP = 1000
/** Fewer plants than this are read one by one, instead of from a file of all that match. */
const FEW = 50

/** Reads the plants of a set. @returns undefined where there are more than MOST_PLANTS */
export async function readSet(
  client: PlantstoreClient,
  wanted: Wanted,
  onRead: (count: number) => void,
  signal: AbortSignal,
): Promise<readonly StoredPlant[] | undefined> {
  const found: StoredPlant[] = []
  for await (const plant of plantsOf(client, { ...wanted, sort: 'id' }, signal)) {
    if (found.length === MOST_PLANTS) return undefined
    found.push(plant)
    if (found.length % STEP === 0) onRead(found.length)
  }
  void see(found)
  return found
}

/**
 * Reads plants by their ids: from files of the filters that probably find them, then the others one by one.
 *
 * @param onRead called with some plants, and with ids that no plant has
 */
export async function readPlants(
  client: PlantstoreClient,
  ids: readonly bigint[],
  filters: readonly Wanted[],
  onRead: (plants: readonly StoredPlant[], absent: readonly bigint[]) => void,
  signal: AbortSignal,
): Promise<void> {
  const left = new Set(ids)
  for (const filter of filters) {
    if (left.size <= FEW) break
    let part: StoredPlant[] = []
    for await (const plant of plantsOf(client, { ...filter, sort: 'id' }, signal)) {
      if (!left.delete(plant.id)) continue
      part.push(plant)
      if (part.length < STEP) continue
      onRead(part, [])
      part = []
    }
    onRead(part, [])
  }
  await fewAtOnce(left, async (id) => {
    try {
      onRead([(await client.getPlant(id, { signal })).plant], [])
    } catch (error) {
      if (!isRefusal(error, 40402)) throw error
      onRead([], [id])
    }
  })
}
