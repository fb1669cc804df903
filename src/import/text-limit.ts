import { AppError } from '../domain/errors.ts'
import { type NewPlant, textLength } from '../domain/plant.ts'

/** The most bytes of a row besides its texts: an id of 20 characters, the names of members, quotation marks. */
const ROW_OVERHEAD = 64

/**
 * Bytes of the largest row. Every plant whose texts are within the limit can be exported and imported in both formats,
 * because no text is longer as CSV than as JSON.
 */
export const rowLimitOf = (textLimit: number): number => 2 * textLimit + ROW_OVERHEAD

/**
 * Applies the limit of bodies to a plant of a file: its name, and its tag, has at most as many bytes as JSON as a body.
 * A PATCH of one of them then always fits into a body.
 *
 * @throws AppError 41301 that names the members beyond the limit
 */
export function requireFits(plant: NewPlant, textLimit: number): NewPlant {
  if (MAX_UNIT_BYTES * textLength(plant) + ROW_OVERHEAD <= textLimit) return plant
  const { name, tag = '' } = plant
  const large = [isTooLarge(name, textLimit) && 'name', isTooLarge(tag, textLimit) && 'tag'].filter(
    (is) => is !== false,
  )
  if (large.length === 0) return plant
  throw new AppError(41301, `${large.join(' and ')} must have at most ${textLimit} bytes as JSON`)
}

/** The most bytes of JSON for one UTF-16 code unit: `\u0001`. */
const MAX_UNIT_BYTES = 6

const isTooLarge = (text: string, limit: number): boolean =>
  MAX_UNIT_BYTES * text.length + 2 > limit && Buffer.byteLength(JSON.stringify(text)) > limit
