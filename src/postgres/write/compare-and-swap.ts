import { changeText } from '../../domain/changes.ts'
import { AppError } from '../../domain/errors.ts'
import { type ChangeOutcome, decideChange, idOf, isEqual, type NewPlant, type PlantChange } from '../../domain/plant.ts'
import { type LoggedChange, MAX_ROW_TEXT } from '../changes/log-rows.ts'
import { outOfReach, WriteConflict } from '../errors.ts'
import type { ActorChange } from '../groups.ts'
import { type Budget, timeLeft } from '../pool/client.ts'
import type { Session } from '../pool/pool-share.ts'
import { selectPlants } from '../read/point-reader.ts'
import { byId, refusalOf } from '../rows.ts'
import { deletePlants, type Insert, insertPlants, type Update, updatePlants } from './write-plants.ts'

/** A plant before and after its changes; undefined where no plant has the id. */
interface Swap {
  readonly id: bigint
  readonly before: NewPlant | undefined
  readonly after: NewPlant | undefined
  /** The changes between the two, for the log. */
  readonly changes: readonly LoggedChange[]
  /** The indexes of the changes that a later round decides. */
  readonly later: readonly number[]
}

/**
 * Reads the plants, decides each change, and writes the plants that no other transaction has changed since the read.
 * Holds no lock between read and write, and retries the other plants. Decides several changes of one plant in their
 * order, and writes only the last state, and each change to the log. Resolves after the commits.
 *
 * @returns for each change its outcome, or the AppError that decideChange throws
 */
export async function changePlants(
  session: Session,
  changes: readonly ActorChange[],
  budget: Budget,
  insert: Insert,
  isLogging: boolean,
): Promise<(ChangeOutcome | AppError)[]> {
  const results: (ChangeOutcome | AppError)[] = []
  /** Per id, the indexes of the changes that are not written yet. */
  const open = new Map<bigint, number[]>()
  for (const [i, { change }] of changes.entries()) {
    const id = idOf(change)
    const refusal = refusalOf({ id, name: '', tag: undefined })
    if (refusal !== undefined) results[i] = refusal
    else open.set(id, [...(open.get(id) ?? []), i])
  }
  while (open.size > 0 && timeLeft(budget) > 0) {
    // Two groups that lock the same plants in one order can not deadlock.
    const ids = [...open.keys()].sort((a, b) => (a < b ? -1 : 1))
    const present = byId(
      await selectPlants(
        session.run,
        ids.map((id) => ({ id })),
      ),
    )
    const swaps = ids.map((id): Swap => {
      const before = present.get(id)
      const chain: LoggedChange[] = []
      const rows = open.get(id) ?? []
      let after = before
      let text = 0
      for (const [at, i] of rows.entries()) {
        const { change, token } = changes[i] as ActorChange
        const result = decide(change, after)
        const next = result instanceof AppError ? after : plantAfter(result)
        // A plant that is created and deleted again has no row whose lock gives the changes their place in the log.
        const isVain = before === undefined && after !== undefined && next === undefined
        if (isLogging && (isVain || text > MAX_ROW_TEXT))
          return { id, before, after, changes: chain, later: rows.slice(at) }
        results[i] = result
        if (!isEqual(after, next)) {
          const logged = { before: after, after: next, token }
          chain.push(logged)
          text += changeText({ before: after, plant: next })
        }
        after = next
      }
      return { id, before, after, changes: chain, later: [] }
    })
    const done = new Set(await swapAll(session, swaps, insert, isLogging))
    for (const { id, later } of swaps) {
      if (!done.has(id)) continue
      if (later.length === 0) open.delete(id)
      else open.set(id, [...later])
    }
  }
  for (const i of [...open.values()].flat())
    results[i] = outOfReach(new WriteConflict('concurrent writes kept changing the plant'))
  return results
}

const plantAfter = (outcome: ChangeOutcome): NewPlant | undefined =>
  outcome.result === 'deleted' ? undefined : outcome.plant

function decide(change: PlantChange, before: NewPlant | undefined): ChangeOutcome | AppError {
  try {
    const outcome = decideChange(change, before)
    const after = plantAfter(outcome)
    return (after === undefined ? undefined : refusalOf(after)) ?? outcome
  } catch (error) {
    if (error instanceof AppError) return error
    throw error
  }
}

/** @returns the ids of the plants that were equal to `before`, and now are equal to `after` */
async function swapAll(
  session: Session,
  swaps: readonly Swap[],
  insert: Insert,
  isLogging: boolean,
): Promise<bigint[]> {
  const kept: bigint[] = []
  const added: NewPlant[] = []
  const removed: NewPlant[] = []
  const updated: Update[] = []
  const log = isLogging ? new Map(swaps.map(({ id, changes }) => [id, changes])) : undefined
  for (const { id, before, after, changes } of swaps) {
    // The row that was read is committed, so an unchanged plant needs no write, unless changes cancel each other out.
    if (isEqual(before, after) && (changes.length === 0 || !isLogging)) kept.push(id)
    else if (before === undefined) added.push(...(after === undefined ? [] : [after]))
    else if (after === undefined) removed.push(before)
    else updated.push({ before, after })
  }
  return [
    kept,
    await insertPlants(session, added, insert, log),
    await deletePlants(session, removed, log),
    await updatePlants(session, updated, log),
  ].flat()
}
