import type { ActionOptions, PlantstoreClient } from '../../../client/src/index.ts'
import { whenAway } from '../page/connection.ts'
import { plantOf } from './attempt.ts'
import type { Change, Numbered } from './change.ts'

/** Changes of one request. A report lists at most a thousand refused rows. */
export const PART = 1000

/** Why the service has not made a change. */
export interface Refusal {
  readonly number: number
  readonly message: string
}

interface SentPart {
  /** By the index of the change in the part. */
  readonly refused: ReadonlyMap<number, Refusal>
  /** The plants to delete that others had deleted already, where no request was repeated: the report only counts them. */
  readonly absent: number
  /** The id of the action, where the request has changed something. */
  readonly made: string | undefined
}

/** What a request does with its changes. It does one thing with all of them. */
export const modeOf = ({ base, wanted }: Change): 'add' | 'delete' | 'update' =>
  base === null ? 'add' : wanted === null ? 'delete' : 'update'

/** Whether a change can be one of many in a request. */
export const isRow = ({ id, base, wanted }: Change): boolean => id !== undefined && (base !== null || wanted !== null)

/** Whether the store has another plant than the person saw. */
export const isContradiction = (number: number): boolean => number === 41201 || number === 40901

/**
 * Makes changes of one kind, each of a plant that is as the person saw it, in one request. It may be repeated, and then
 * ends in the same state.
 */
export async function sendPart(
  client: PlantstoreClient,
  part: readonly Numbered[],
  name: ActionOptions,
  signal: AbortSignal,
): Promise<SentPart> {
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
  const refused = new Map(report.refusedRows.map(({ line, error: number, message }) => [line - 1, { number, message }]))
  // A request whose answer was lost has deleted plants that its repetition does not find.
  const absent = mode === 'delete' && !isRepeated ? report.unchanged : 0
  const hasChanged = isRepeated || report.unchanged + report.refused < rows.length
  return { refused, absent, made: hasChanged ? report.action : undefined }
}
