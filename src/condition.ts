import { AppError } from './errors.ts'
import { plantETag } from './etag.ts'
import type { NewPlant } from './plant.ts'

/** `*` or entity tags in their quotes. */
export type ETags = '*' | readonly string[]

/** What a request demands of a plant as it is now (RFC 9110 section 13). */
export interface Condition {
  /** The plant is there, with one of these tags; weak tags never match and are not among them. */
  readonly ifMatch?: ETags
  /** The plant is not there, or has none of these tags; without their `W/`. */
  readonly ifNoneMatch?: ETags
}

export const UNCONDITIONAL: Condition = {}

/**
 * Checks a write's condition, inside its transaction.
 *
 * @param plant as it is now; undefined when there is none
 * @throws AppError 41201 when the condition does not hold
 */
export function checkCondition(condition: Condition, id: bigint, plant: NewPlant | undefined): void {
  const { ifMatch, ifNoneMatch } = condition
  if (ifMatch !== undefined && !isAmong(ifMatch, plant)) throw new AppError(41201, ifMatchFault(id, plant))
  if (ifNoneMatch !== undefined && isAmong(ifNoneMatch, plant)) {
    throw new AppError(41201, `the plant with the id ${id} has an entity tag in If-None-Match; nothing was changed`)
  }
}

/** Whether the plant is there with one of the tags. */
export function isAmong(tags: ETags, plant: NewPlant | undefined): boolean {
  if (plant === undefined) return false
  return tags === '*' || tags.includes(plantETag(plant))
}

function ifMatchFault(id: bigint, plant: NewPlant | undefined): string {
  if (plant === undefined) return `there is no plant with the id ${id} (If-Match); nothing was changed`
  return `the plant with the id ${id} has changed since you read it (If-Match); nothing was changed, read it again`
}
