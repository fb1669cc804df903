import { AppError } from '../errors.ts'
import { type NewPlant, textLength } from '../plant.ts'

/** Most bytes of a row besides its texts: an id of 20 characters, the names of members, quotation marks. */
const FRAME = 64

/**
 * Bytes of the largest row. With it every plant that has its texts in the limit can be exported and imported: as JSON,
 * as the limit counts them, no text is shorter than as CSV.
 */
export const rowLimitOf = (textLimit: number): number => 2 * textLimit + FRAME

/**
 * Holds a plant of a file to the limit that the bodies of requests imply: a name, and a tag, has no more bytes than a
 * body, as JSON. So a change of one of them by PATCH always fits.
 *
 * @throws AppError 41301 that names the members beyond the limit
 */
export function requireFits(plant: NewPlant, textLimit: number): NewPlant {
  if (MAX_BYTES * textLength(plant) + FRAME <= textLimit) return plant
  const { name, tag = '' } = plant
  const large = [isTooLarge(name, textLimit) && 'name', isTooLarge(tag, textLimit) && 'tag'].filter(
    (is) => is !== false,
  )
  if (large.length === 0) return plant
  throw new AppError(41301, `${large.join(' and ')} must have at most ${textLimit} bytes as JSON`)
}

/** Most bytes of JSON for one UTF-16 code unit: `\u0001`. */
const MAX_BYTES = 6

const isTooLarge = (text: string, limit: number): boolean =>
  MAX_BYTES * text.length + 2 > limit && Buffer.byteLength(JSON.stringify(text)) > limit
