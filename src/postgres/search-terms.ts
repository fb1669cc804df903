import type { Plant } from '../plant.ts'
import { plantWords } from '../plant-query.ts'

/** Code points of a word that are indexed: PostgreSQL takes 2,046 bytes, but longer ones only fill the index. */
const WORD_LENGTH = 64
/** UTF-16 units of words that are indexed for one plant, of the 2^20 bytes that PostgreSQL takes. */
const MAX_WORDS_LENGTH = 2 ** 16
/** In place of the words of a plant that has too many. No word is like it, and every search looks at such plants. */
const MARKER = '*'

/** As it is indexed, a word is cut; so is one that is searched for. */
export function indexedWord(word: string): string {
  return word.length <= WORD_LENGTH ? word : Array.from(word).slice(0, WORD_LENGTH).join('')
}

/**
 * Stands before the first word of a name where that begins the sort key too, so that the search by name can leave those
 * plants to the index of names. No word holds it. Where the word stands elsewhere in the plant as well, it is indexed
 * without it too; plants that were written before this was so have it only without.
 */
const FIRST = '<'

/**
 * The query for plants with all of these words as prefixes of theirs. It finds a few more, never less; empty for no words.
 *
 * @param first whether the first word of a name counts
 */
export function wordQuery(words: readonly string[], { first = true } = {}): string {
  if (words.length === 0) return ''
  const each = words.map(indexedWord).map((word) => (first ? `('${word}':* | '${FIRST}${word}':*)` : `'${word}':*`))
  return `${each.join(' & ')} | '${MARKER}'`
}

export function indexedWords(plant: Plant, key: string): ReadonlySet<string> {
  const [first, ...others] = plantWords(plant).map(indexedWord)
  const words = new Set(others)
  if (first !== undefined) words.add(key.startsWith(first) ? FIRST + first : first)
  let length = 0
  for (const word of words) length += word.length
  return length <= MAX_WORDS_LENGTH ? words : new Set([MARKER])
}
