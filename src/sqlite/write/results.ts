import { AppError, type ErrorNumber } from '../../errors.ts'
import { type ChangeOutcome, createResult, importResult, type PutOutcome } from '../../plant-change.ts'
import type { CreateResult, ImportResult } from '../../store.ts'
import { appErrorOf, type SqliteFault } from '../errors.ts'

/** The outcome of a put, or the fault that refused this row alone, in a form that can cross between threads. */
export type RowOutcome = PutOutcome | SqliteFault

/** The outcome of a change, or why it was refused; an AppError crosses between threads as a refusal. */
export type ChangeResponse = ChangeOutcome | { readonly refusal: ErrorNumber; readonly message: string } | SqliteFault

export const createResultOf = (outcome: RowOutcome, id: bigint): CreateResult | AppError =>
  typeof outcome === 'string' ? createResult(outcome, id) : appErrorOf(outcome)

export const importResultOf = (outcome: RowOutcome, id: bigint): ImportResult =>
  typeof outcome === 'string' ? importResult(outcome, id) : appErrorOf(outcome)

export function changeResultOf(response: ChangeResponse): ChangeOutcome | AppError {
  if ('result' in response) return response
  return 'refusal' in response ? new AppError(response.refusal, response.message) : appErrorOf(response)
}
