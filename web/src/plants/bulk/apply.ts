import type { ActionOptions, PlantstoreClient, StoredPlant } from '../../../../client/src/index.ts'
import { say } from '../../language/language.ts'
import { whenAway } from '../../page/connection.ts'
import { isAbort, said, saidOf } from '../../page/said.ts'
import { findById } from '../by-id.ts'
import { wantedBy } from '../filter.ts'
import type { Targets } from '../selection.ts'
import type { Change } from './change.ts'
import type { Conflict } from './done.tsx'

export interface Outcome {
  readonly done: readonly Change[]
  readonly conflicts: readonly Conflict[]
  /** The plants among `done` that others had deleted already, where no request was repeated: the report only counts them. */
  readonly gone: number
  /** Why the work stopped early; empty if it did not. Repeating the other changes is safe. */
  readonly fault: string
  /** The changes that were not tried, or whose answer was lost. */
  readonly left: readonly Change[]
  /** The id of the action, where the service keeps one, so that it can be undone. */
  readonly action: string | undefined
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
 * @param name the action that they are
 * @param onProgress called with the number of changes that are settled
 */
export async function apply(
  client: PlantstoreClient,
  changes: readonly Change[],
  name: ActionOptions,
  onProgress: (count: number) => void,
  signal: AbortSignal,
): Promise<Outcome> {
  const done: Change[] = []
  const conflicts: Conflict[] = []
  const left: Change[] = []
  let gone = 0
  let fault = ''
  let action: string | undefined
  const parts = partsOf(changes)
  const work = async () => {
    for (let part = parts.shift(); part !== undefined; part = parts.shift()) {
      if (fault !== '' || signal.aborted) {
        left.push(...part)
        continue
      }
      try {
        const { refused, absent, made } = await send(client, part, name, signal)
        gone += absent
        action ??= made
        part.forEach((change, i) => {
          const why = refused.get(i)
          const plant = change.before ?? change.after
          if (why === undefined) done.push(change)
          else if (plant !== undefined) conflicts.push({ id: plant.id, name: plant.name, why })
        })
        onProgress(done.length + conflicts.length)
      } catch (error) {
        left.push(...part)
        if (!isAbort(error)) fault = said(error)
      }
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
  return { done, conflicts, gone, fault, left, action }
}

/** Parts of one kind of change, each one request. */
function partsOf(changes: readonly Change[]): Change[][] {
  const parts: Change[][] = []
  const kinds = [
    changes.filter(({ before, after }) => before !== undefined && after !== undefined),
    changes.filter(({ before }) => before === undefined),
    changes.filter(({ after }) => after === undefined),
  ]
  for (const kind of kinds) {
    for (let i = 0; i < kind.length; i += PART) parts.push(kind.slice(i, i + PART))
  }
  return parts
}

interface Sent {
  /** Why changes were refused, by their index in the part. */
  readonly refused: ReadonlyMap<number, string>
  readonly absent: number
  /** The id of the action, where the request has changed something. */
  readonly made: string | undefined
}

async function send(
  client: PlantstoreClient,
  part: readonly Change[],
  name: ActionOptions,
  signal: AbortSignal,
): Promise<Sent> {
  const rows = part.flatMap(({ before, after }) => {
    if (after === undefined) return before ?? []
    return before === undefined ? [after] : [{ ...after, before }]
  })
  const [first] = part
  const mode = first?.before === undefined ? 'add' : first.after === undefined ? 'delete' : 'update'
  let isRepeated = false
  const end = whenAway(() => {
    isRepeated = true
  })
  const report = await client.importPlants(rows, { ...name, mode, signal }).finally(end)
  const refused = new Map(report.refusedRows.map(({ line, error, message }) => [line - 1, reasonOf(error, message)]))
  // A request whose answer was lost has deleted plants that its repetition does not find.
  const absent = mode === 'delete' && !isRepeated ? report.unchanged : 0
  const hasChanged = isRepeated || report.unchanged + report.refused < rows.length
  return { refused, absent, made: hasChanged ? report.action : undefined }
}

function reasonOf(error: number, message: string): string {
  if (error === 41201) return say('bulk.changedMeanwhile')
  return error === 40901 ? say('plants.idTakenNow') : saidOf(error, message)
}
