import type { ActionOptions, PlantstoreClient } from '../../../client/src/index.ts'
import { say } from '../language/language.ts'
import { whenAway } from '../page/connection.ts'
import { isAbort, said, saidOf } from '../page/said.ts'
import { plantOf } from './attempt.ts'
import type { Change, Numbered } from './change.ts'

/** A plant that stays as it is, because somebody else has changed it meanwhile. */
export interface Conflict {
  readonly id: bigint
  /** undefined: it is gone, or the token may not read it. */
  readonly name: string | undefined
  readonly why: string
}

export interface OfMany {
  readonly done: readonly Numbered[]
  readonly conflicts: readonly Conflict[]
  /** The plants among `done` that others had deleted already, where no request was repeated: the report only counts them. */
  readonly gone: number
  /** Why the work stopped early; empty if it did not. Repeating the other changes is safe. */
  readonly fault: string
  /** The changes that were not tried, or whose answer was lost. */
  readonly left: readonly Numbered[]
  /** The id of the action, where the service keeps one, so that it can be undone. */
  readonly action: string | undefined
}

/** Plants of one request. A report lists at most a thousand refused rows. */
const PART = 1000
/** Requests at once. Browsers allow six connections to a service, and the table needs some of them. */
const AT_ONCE = 3

/**
 * Makes the changes, several requests at once. It never overwrites, deletes or replaces a state of a plant that differs
 * from `base`: such a change is a conflict.
 *
 * @param name the action that they are
 * @param onProgress called with the number of changes that are settled
 */
export async function sendMany(
  client: PlantstoreClient,
  changes: readonly Numbered[],
  name: ActionOptions,
  onProgress: (count: number) => void,
  signal: AbortSignal,
): Promise<OfMany> {
  const done: Numbered[] = []
  const conflicts: Conflict[] = []
  const left: Numbered[] = []
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
          const { id, base, wanted } = change
          if (why === undefined) done.push(change)
          else conflicts.push({ id, name: (base ?? wanted)?.name, why })
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
function partsOf(changes: readonly Numbered[]): Numbered[][] {
  return Object.values(Object.groupBy(changes, modeOf)).flatMap((kind) => {
    const count = Math.ceil(kind.length / PART)
    return Array.from({ length: count }, (_, i) => kind.slice(i * PART, (i + 1) * PART))
  })
}

const modeOf = ({ base, wanted }: Change) => (base === null ? 'add' : wanted === null ? 'delete' : 'update')

interface Sent {
  /** Why changes were refused, by their index in the part. */
  readonly refused: ReadonlyMap<number, string>
  readonly absent: number
  /** The id of the action, where the request has changed something. */
  readonly made: string | undefined
}

async function send(
  client: PlantstoreClient,
  part: readonly Numbered[],
  name: ActionOptions,
  signal: AbortSignal,
): Promise<Sent> {
  const rows = part.map(({ id, base, wanted }) => {
    const before = base && plantOf(id, base)
    const after = wanted && plantOf(id, wanted)
    return after === null ? (before ?? { id }) : before === null ? after : { ...after, before }
  })
  const mode = part[0] && modeOf(part[0])
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
