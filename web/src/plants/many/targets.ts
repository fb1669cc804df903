import type { PlantstoreClient, StoredPlant } from '../../../../client/src/index.ts'
import { say } from '../../language/language.ts'
import { plantOf } from '../../offline/attempt.ts'
import { seenBefore, seenOf } from '../../offline/seen.ts'
import { waitingFor } from '../../offline/waiting.ts'
import { connection } from '../../page/connection.ts'
import { isSilence, PageError } from '../../page/said.ts'
import { plantsOf } from '../list/by-id.ts'
import type { Targets } from '../list/selection.ts'

/** Plants after which the reading says how far it is. */
const PART = 1000

/** Plants as the person wants them by now. */
export interface Read {
  readonly plants: readonly StoredPlant[]
  /** Whether they are only those that this device has seen before, as the service does not answer. */
  readonly isSeen: boolean
}

/**
 * Reads the plants, as they are now if a filter finds them. What waits for the service counts as done.
 *
 * @param onRead called with the number of plants so far
 */
export async function readTargets(
  client: PlantstoreClient,
  targets: Targets,
  onRead: (count: number) => void,
  signal: AbortSignal,
): Promise<Read> {
  if (targets.kind === 'chosen') return { plants: targets.plants.flatMap(wantedNow), isSeen: false }
  try {
    if (connection.value === 'good') {
      const plants = await (targets.kind === 'read'
        ? targets.read(onRead, signal)
        : readMatching(client, targets, onRead, signal))
      return { plants: plants.flatMap(wantedNow), isSeen: false }
    }
  } catch (error) {
    if (!isSilence(error)) throw error
  }
  const seen = await (targets.kind === 'read' ? seenOf(new Set(targets.ids)) : seenBefore(targets.filter))
  if (seen === undefined) throw new PageError(say('bulk.noneSeen'))
  const plants = targets.kind === 'read' ? seen.plants : seen.plants.filter(({ id }) => !targets.without.has(id))
  return { plants: plants.flatMap(wantedNow), isSeen: true }
}

function wantedNow(plant: StoredPlant): readonly StoredPlant[] {
  const waits = waitingFor(plant.id)
  if (waits === undefined) return [plant]
  return waits.wanted === null ? [] : [plantOf(plant.id, waits.wanted)]
}

async function readMatching(
  client: PlantstoreClient,
  { filter, without }: Extract<Targets, { kind: 'matching' }>,
  onRead: (count: number) => void,
  signal: AbortSignal,
): Promise<readonly StoredPlant[]> {
  const plants: StoredPlant[] = []
  for await (const plant of plantsOf(client, filter, signal)) {
    if (!without.has(plant.id)) plants.push(plant)
    if (plants.length % PART === 0) onRead(plants.length)
  }
  return plants
}
