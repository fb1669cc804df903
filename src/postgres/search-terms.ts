import type { Plant } from '../plant.ts'
import { plantWords } from '../plant-query.ts'

/** Code points of a word in the index. PostgreSQL takes 2,046 bytes, but longer words only fill the index. */
const WORD_LENGTH = 64
/** UTF-16 units of words in the index for one plant, below the 2^20 bytes that PostgreSQL takes. */
const MAX_WORDS_LENGTH = 2 ** 16
/** Replaces the words of a plant that has too many. No word equals it, and every search reads such plants. */
const MARKER = '*'

/** Cuts a word to the length that the index holds; searches cut theirs too. */
export function indexedWord(word: string): string {
  return word.length <= WORD_LENGTH ? word : Array.from(word).slice(0, WORD_LENGTH).join('')
}

/**
 * Marks the first word of a name that also begins the sort key, so that a search by name can leave those plants to the
 * index of names. No word contains it. A word that occurs again in the plant is also indexed without the mark. Plants
 * of older versions have the word without the mark only.
 */
const FIRST = '<'

/**
 * The tsquery for plants that have all of these words as prefixes of their words. It may find more plants, never fewer;
 * empty for no words.
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
