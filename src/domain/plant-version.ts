import { AppError } from './errors.ts'
import { hash64 } from './murmur.ts'
import type { NewPlant } from './plant.ts'

/**
 * The version of a plant: 16 hexadecimal digits that follow from id, name and tag alone. Every operation, engine and
 * instance gives equal plants the same version. docs/decisions/0005-etag.md gives the reason for this hash.
 */
export function versionOf(plant: NewPlant): string {
  // U+0000 cannot occur in a name or tag, so it separates them. The `=` tells an empty tag from an absent one.
  return hash64(`${plant.id}\0${plant.name}\0${plant.tag === undefined ? '' : `=${plant.tag}`}`)
}

/** `any` is every version. */
export type Versions = 'any' | readonly string[]

/** The caller's expectation of the present plant. */
export interface Expectation {
  /** The plant exists, at one of these versions. */
  readonly at?: Versions
  /** The plant does not exist, or is at none of these versions. */
  readonly notAt?: Versions
}

/** Holds for every plant, and for an absent one. */
export const NO_EXPECTATION: Expectation = {}

/** Whether the plant exists at one of the versions. */
export function isAt(versions: Versions, plant: NewPlant | undefined): boolean {
  if (plant === undefined) return false
  return versions === 'any' || versions.includes(versionOf(plant))
}

/**
 * Checks the expectation of a write, inside its transaction.
 *
 * @param plant the present plant; undefined when there is none
 * @throws AppError 41201 when the expectation does not hold
 */
export function checkExpectation({ at, notAt }: Expectation, id: bigint, plant: NewPlant | undefined): void {
  if (at !== undefined && !isAt(at, plant)) throw plant === undefined ? absent(id) : changed(id)
  if (notAt !== undefined && isAt(notAt, plant)) throw notAt === 'any' ? existing(id) : excluded(id)
}

/** The refusal of a write that demands that there is no plant with this id. */
export const existing = (id: bigint): AppError =>
  new AppError(41201, `a plant with the id ${id} exists; nothing was changed`)
const absent = (id: bigint): AppError => new AppError(41201, `there is no plant with the id ${id}; nothing was changed`)
const changed = (id: bigint): AppError =>
  new AppError(41201, `the plant with the id ${id} has changed since you read it; nothing was changed, read it again`)
const excluded = (id: bigint): AppError =>
  new AppError(41201, `the plant with the id ${id} is at a version that you excluded; nothing was changed`)
