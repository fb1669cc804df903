import type { PlantstoreClient, StoredPlant } from '../../../../client/src/index.ts'
import { say } from '../../language/language.ts'
import { isAbort, isRefusal, said, saidOf } from '../../said.ts'
import { findById } from '../by-id.ts'
import { isSame } from '../drafts.ts'
import { wantedBy } from '../filter.ts'
import type { Targets } from '../selection.ts'

/** The change of one plant. An absent `after` deletes it, an absent `before` adds it. */
export interface Change {
  readonly before: StoredPlant | undefined
  readonly after: StoredPlant | undefined
}

/** A change that the service refused, as somebody has changed the plant meanwhile. */
export interface Conflict {
  readonly plant: StoredPlant
  readonly why: string
}

export interface Outcome {
  readonly done: readonly Change[]
  readonly conflicts: readonly Conflict[]
  /** Why the work stopped early; empty if it did not. Repeating the other changes is safe. */
  readonly fault: string
  /** The changes that were not tried, or whose answer was lost. */
  readonly left: readonly Change[]
}

/** Plants of one request. A report lists at most a thousand refused rows. */
const PART = 1000
/** Requests at once. Browsers allow six connections to a service, and the table needs some of them. */
const AT_ONCE = 3

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

/**
 * Makes the changes, several requests at once. It never overwrites, deletes or replaces a state of a plant that differs
 * from `before`: such a change is a conflict.
 *
 * @param onProgress called with the number of changes that are settled
 */
export async function apply(
  client: PlantstoreClient,
  changes: readonly Change[],
  onProgress: (count: number) => void,
  signal: AbortSignal,
): Promise<Outcome> {
  const done: Change[] = []
  const conflicts: Conflict[] = []
  const left: Change[] = []
  let fault = ''
  const parts = partsOf(changes)
  const work = async () => {
    for (let part = parts.shift(); part !== undefined; part = parts.shift()) {
      if (fault !== '' || signal.aborted) {
        left.push(...part)
        continue
      }
      try {
        const refused = await send(client, part, signal)
        part.forEach((change, i) => {
          const why = refused.get(i)
          const plant = change.before ?? change.after
          if (why === undefined) done.push(change)
          else if (plant !== undefined) conflicts.push({ plant, why })
        })
        onProgress(done.length + conflicts.length)
      } catch (error) {
        left.push(...part)
        if (!isAbort(error)) fault = said(error)
      }
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
  return { done, conflicts, fault, left }
}

export const reversed = ({ before, after }: Change): Change => ({ before: after, after: before })

/** Parts of one kind of change. A delete is a request of its own. */
function partsOf(changes: readonly Change[]): Change[][] {
  const parts: Change[][] = []
  const kinds = [
    { size: PART, of: changes.filter(({ before, after }) => before !== undefined && after !== undefined) },
    { size: PART, of: changes.filter(({ before }) => before === undefined) },
    { size: 1, of: changes.filter(({ after }) => after === undefined) },
  ]
  for (const { size, of } of kinds) {
    for (let i = 0; i < of.length; i += size) parts.push(of.slice(i, i + size))
  }
  return parts
}

/** @returns why changes were refused, by their index in the part */
async function send(
  client: PlantstoreClient,
  part: readonly Change[],
  signal: AbortSignal,
): Promise<Map<number, string>> {
  const [only] = part
  if (only?.before !== undefined && only.after === undefined) {
    const why = await remove(client, only.before, signal)
    return new Map(why === undefined ? [] : [[0, why]])
  }
  const rows = part.flatMap(({ before, after }) => {
    if (after === undefined) return []
    return before === undefined ? [after] : [{ ...after, before }]
  })
  const isAdd = only?.before === undefined
  const report = await client.importPlants(rows, { mode: isAdd ? 'add' : 'update', signal })
  return new Map(report.refusedRows.map(({ line, error, message }) => [line - 1, reasonOf(error, message)]))
}

function reasonOf(error: number, message: string): string {
  if (error === 41201) return say('bulk.changedMeanwhile')
  return error === 40901 ? say('plants.idTakenNow') : saidOf(error, message)
}

async function remove(client: PlantstoreClient, plant: StoredPlant, signal: AbortSignal): Promise<string | undefined> {
  try {
    const current = await client.getPlant(plant.id, { signal })
    if (!isSame(current.plant, plant)) return say('bulk.changedMeanwhile')
    await client.deletePlant(plant.id, { ifMatch: current.etag, signal })
  } catch (error) {
    if (!isRefusal(error, 40402) && !isRefusal(error, 41201)) throw error
    return say('bulk.changedMeanwhile')
  }
  return undefined
}
