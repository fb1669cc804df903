import type { ActionOptions, KeptPlant } from '../../../client/src/index.ts'
import { say } from '../language/language.ts'
import { whenAway } from '../page/connection.ts'
import { fewAtOnce } from '../page/few-at-once.ts'
import { isAbort, said, saidOf } from '../page/said.ts'
import type { Session } from '../session/session.ts'
import { attempt } from './attempt.ts'
import type { Numbered } from './change.ts'
import { isContradiction, modeOf, PART, type Refusal, sendPart } from './part.ts'
import { askToKeep, hasRoomFor, type Keeping, keep, keyOf, mayGo, ownerOf, waitingFor } from './waiting.ts'

/** A plant that stays as it is. */
export interface Conflict {
  readonly id: bigint
  /** undefined: it is gone, or the token may not read it. */
  readonly name: string | undefined
  readonly why: string
}

/** What became of changes of many plants. */
export interface OfMany {
  readonly done: readonly Numbered[]
  /** The plants among `done` that others had deleted already. */
  readonly gone: number
  /** What the service refuses. */
  readonly conflicts: readonly Conflict[]
  /** How many wait for the person, because others have changed the plants meanwhile. */
  readonly met: number
  /** How many wait until the service answers. */
  readonly waits: number
  /** Why the work stopped early; empty if it did not. Repeating the other changes is safe. */
  readonly fault: string
  /** The changes that were not tried, or whose answer was lost. */
  readonly left: readonly Numbered[]
  /** The id of the action, where the service keeps one, so that it can be undone. */
  readonly action: string | undefined
}

/**
 * Makes the changes, several requests at once. It never overwrites, deletes or replaces a state of a plant that differs
 * from `base`: such a change waits for the person. Where the service does not answer, the rest waits for it.
 *
 * @param name the action that they are
 * @param onProgress called with the number of changes that are settled
 */
export async function submitMany(
  sender: Session,
  changes: readonly Numbered[],
  name: ActionOptions,
  onProgress: (count: number) => void,
  signal: AbortSignal,
): Promise<OfMany> {
  const owner = ownerOf(sender)
  // A change of a plant that waits is one with it.
  const { now = [], later = [] } = Object.groupBy(changes, ({ id }) =>
    mayGo(sender) && waitingFor(id) === undefined ? 'now' : 'later',
  )
  const away = new AbortController()
  const end = hasRoomFor(changes.length) ? whenAway(() => away.abort()) : () => {}
  const ended = AbortSignal.any([signal, away.signal])
  const sent = await sendParts(sender, now, name, onProgress, ended)
  const { met, ...outcome } = await sendContradicted(sender, sent, name, ended)
  end()
  const lost = away.signal.aborted && !signal.aborted ? outcome.left : []
  const left = lost.length > 0 ? [] : outcome.left
  const theirs = new Map(met.map(({ change, theirs }) => [change.id, theirs]))
  const waits = lost.length + later.length
  const keepAs = (kept: readonly Numbered[], how: Partial<Keeping>) =>
    keep(new Map(kept.map((change) => [keyOf(change.id, owner), change])), { owner, action: name, ...how })
  try {
    await keepAs(
      met.map(({ change }) => change),
      { theirs },
    )
    await keepAs(lost, { isTried: true })
    await keepAs(later, {})
    if (waits > 0) askToKeep()
    return { ...outcome, met: met.length, waits, left }
  } catch (error) {
    const unkept = [...left, ...lost, ...later, ...met.map(({ change }) => change)]
    return { ...outcome, met: 0, waits: 0, left: unkept, fault: said(error) }
  }
}

interface Refused {
  readonly change: Numbered
  readonly refusal: Refusal
}

type Sent = Omit<OfMany, 'conflicts' | 'met' | 'waits'> & { readonly refused: readonly Refused[] }

async function sendParts(
  { client }: Session,
  changes: readonly Numbered[],
  name: ActionOptions,
  onProgress: (count: number) => void,
  signal: AbortSignal,
): Promise<Sent> {
  const [done, left, refused]: [Numbered[], Numbered[], Refused[]] = [[], [], []]
  let gone = 0
  let fault = ''
  let action: string | undefined
  await fewAtOnce(partsOf(changes), async (part) => {
    if (fault !== '' || signal.aborted) {
      left.push(...part)
      return
    }
    try {
      const sent = await sendPart(client, part, name, signal)
      gone += sent.absent
      action ??= sent.made
      part.forEach((change, i) => {
        const refusal = sent.refused.get(i)
        if (refusal === undefined) done.push(change)
        else refused.push({ change, refusal })
      })
      onProgress(done.length + refused.length)
    } catch (error) {
      left.push(...part)
      if (!isAbort(error)) fault = said(error)
    }
  })
  return { done, refused, gone, fault, left, action }
}

/** Parts of one kind of change, each one request. */
function partsOf(changes: readonly Numbered[]): Numbered[][] {
  return Object.values(Object.groupBy(changes, modeOf)).flatMap((kind) => {
    const count = Math.ceil(kind.length / PART)
    return Array.from({ length: count }, (_, i) => kind.slice(i * PART, (i + 1) * PART))
  })
}

interface Contradicted {
  readonly change: Numbered
  readonly theirs: KeptPlant | null
}

type Alone = Omit<OfMany, 'met' | 'waits'> & { readonly met: readonly Contradicted[] }

/** Sends each change that the store contradicts once more, as a single one, which says what the store has. */
async function sendContradicted(
  { client, may }: Session,
  { refused, ...sent }: Sent,
  action: ActionOptions,
  signal: AbortSignal,
): Promise<Alone> {
  const [done, left, met, conflicts]: [Numbered[], Numbered[], Contradicted[], Conflict[]] = [
    [...sent.done],
    [...sent.left],
    [],
    [],
  ]
  const stays = ({ id, base, wanted }: Numbered, why: string) =>
    conflicts.push({ id, name: (base ?? wanted)?.name, why })
  const using = { client, mayRead: may('plants:read'), signal, tried: undefined, action }
  await fewAtOnce(refused, async ({ change, refusal }) => {
    if (!isContradiction(refusal.number)) {
      stays(change, saidOf(refusal.number, refusal.message))
      return
    }
    try {
      const answer = await attempt(change, using)
      if (answer.kind === 'stored') done.push(change)
      else if (answer.theirs !== undefined) met.push({ change, theirs: answer.theirs })
      else stays(change, say(change.base === null ? 'fault.idTaken' : 'fault.changed'))
    } catch (error) {
      if (isAbort(error)) left.push(change)
      else stays(change, said(error))
    }
  })
  // The person sees them in the order of the plants, whichever answer came first.
  const places = new Map(refused.map(({ change }, i) => [change.id, i]))
  const placeOf = (id: bigint): number => places.get(id) ?? 0
  met.sort((one, other) => placeOf(one.change.id) - placeOf(other.change.id))
  conflicts.sort((one, other) => placeOf(one.id) - placeOf(other.id))
  return { ...sent, done, left, met, conflicts }
}
