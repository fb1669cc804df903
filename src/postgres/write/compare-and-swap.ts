import { AppError } from '../../domain/errors.ts'
import type { NewPlant } from '../../domain/plant.ts'
import { type ChangeOutcome, decideChange, idOf, isEqual, type PlantChange } from '../../domain/plant-change.ts'
import { outOfReach, WriteConflict } from '../errors.ts'
import { type Budget, timeLeft } from '../pool/budget.ts'
import type { Session } from '../pool/pool-share.ts'
import { selectPlants } from '../read/point-reader.ts'
import { byId, refusalOf } from '../rows.ts'
import { insertPlants } from './insert.ts'
import { deletePlants, type Update, updatePlants } from './update.ts'

/** A plant before and after its changes; undefined where no plant has the id. */
interface Swap {
  readonly id: bigint
  readonly before: NewPlant | undefined
  readonly after: NewPlant | undefined
}

/**
 * Reads the plants, decides each change, and writes the plants that no other transaction has changed since the read.
 * Holds no lock between read and write, and retries the other plants. Decides several changes of one plant in their
 * order, and writes only the last state. Resolves after the commits.
 *
 * @returns for each change its outcome, or the AppError that decideChange throws
 */
export async function changePlants(
  session: Session,
  changes: readonly PlantChange[],
  budget: Budget,
  isDistributed: boolean,
): Promise<(ChangeOutcome | AppError)[]> {
  const results: (ChangeOutcome | AppError)[] = []
  /** Per id, the indexes of the changes that are not written yet. */
  const open = new Map<bigint, number[]>()
  for (const [i, change] of changes.entries()) {
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
      let after = before
      for (const i of open.get(id) ?? []) {
        const result = decide(changes[i] as PlantChange, after)
        results[i] = result
        if (!(result instanceof AppError)) after = plantAfter(result)
      }
      return { id, before, after }
    })
    for (const id of await swapAll(session, swaps, isDistributed)) open.delete(id)
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
async function swapAll(session: Session, swaps: readonly Swap[], isDistributed: boolean): Promise<bigint[]> {
  const kept: bigint[] = []
  const added: NewPlant[] = []
  const removed: NewPlant[] = []
  const updated: Update[] = []
  for (const { id, before, after } of swaps) {
    // The row that was read is committed, so an unchanged plant needs no write.
    if (isEqual(before, after)) kept.push(id)
    else if (before === undefined) added.push(...(after === undefined ? [] : [after]))
    else if (after === undefined) removed.push(before)
    else updated.push({ before, after })
  }
  return [
    kept,
    await insertPlants(session, added, isDistributed),
    await deletePlants(session, removed),
    await updatePlants(session, updated),
  ].flat()
}
