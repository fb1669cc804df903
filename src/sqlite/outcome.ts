import { AppError, type ErrorNumber } from '../errors.ts'
import type { NewPlant } from '../plant.ts'
import { idConflict, idExists } from '../plant-change.ts'
import type { CreateResult, ImportResult } from '../store.ts'
import { appErrorOf, type SqliteFault } from './errors.ts'

/** What became of a create or an imported plant: a number, or the fault that refused this row alone. */
export type RowOutcome = (typeof OUTCOME)[keyof typeof OUTCOME] | SqliteFault
export const OUTCOME = { created: 0, unchanged: 1, conflict: 2, exists: 3, updated: 4 } as const

/** What became of a changed plant; an AppError crosses between threads as a refusal. */
export type ChangeOutcome = ChangeResult | { readonly refusal: ErrorNumber; readonly message: string } | SqliteFault
/** `deleted`, or the plant as it is now. */
export type ChangeResult = 'deleted' | { readonly result: 'created' | 'replaced'; readonly plant: NewPlant }

export function createResultOf(outcome: RowOutcome, id: bigint): CreateResult | AppError {
  switch (outcome) {
    case OUTCOME.created:
      return 'created'
    case OUTCOME.unchanged:
      return 'unchanged'
    case OUTCOME.exists:
      return idExists(id)
    default:
      return refusalOf(outcome, id)
  }
}

export function importResultOf(outcome: RowOutcome, id: bigint): ImportResult {
  switch (outcome) {
    case OUTCOME.created:
      return 'added'
    case OUTCOME.unchanged:
      return 'unchanged'
    case OUTCOME.updated:
      return 'updated'
    default:
      return refusalOf(outcome, id)
  }
}

export function changeResultOf(outcome: ChangeOutcome): ChangeResult | AppError {
  if (outcome === 'deleted' || 'result' in outcome) return outcome
  return 'refusal' in outcome ? new AppError(outcome.refusal, outcome.message) : appErrorOf(outcome)
}

const refusalOf = (outcome: RowOutcome, id: bigint): AppError =>
  typeof outcome === 'number' ? idConflict(id) : appErrorOf(outcome)
