import { hash64 } from './murmur.ts'
import type { NewPlant } from './plant.ts'

/**
 * The strong entity tag (RFC 9110 section 8.8.3) of a plant: a function of id, name and tag alone, so every operation,
 * engine and instance gives the same plant the same tag.
 * docs/decisions/0005-etag.md says why it is this hash.
 */
export function plantETag(plant: NewPlant): string {
  // U+0000 can't occur in a name or tag, so it separates them; the flag keeps an absent tag apart from an empty one.
  const text = `${plant.id}\0${plant.name}\0${plant.tag === undefined ? '' : `=${plant.tag}`}`
  return `"${hash64(text)}"`
}
