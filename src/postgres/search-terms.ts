import type { Plant } from '../plant.ts'
import { plantWords } from '../plant-query.ts'

/**
 * Maximum number of code points of a word in the index. PostgreSQL allows 2,046 bytes, but longer words only take
 * space.
 */
const WORD_LENGTH = 64
/** Maximum number of UTF-16 units of a plant's words in the index. PostgreSQL allows a tsvector of 2^20 bytes. */
const MAX_WORDS_LENGTH = 2 ** 16
/** Replaces the words of a plant that exceed the maximum. No word equals it, and every search reads these plants. */
const MARKER = '*'

/** Truncates a word to the maximum of the index, for plants and for searches. */
export function indexedWord(word: string): string {
  return word.length <= WORD_LENGTH ? word : Array.from(word).slice(0, WORD_LENGTH).join('')
}

/**
 * The prefix of a name's first word in the index, where the sort key begins with the word. A search by name leaves
 * those plants to the index plants_by_name. No word contains the prefix. A word that occurs again in the plant is also
 * indexed without it. Plants of older versions have words without it only.
 */
export const FIRST = '<'

/**
 * Returns a tsquery that finds every plant with all of these words as prefixes of its words, and perhaps other plants;
 * an empty text for no words.
 *
 * @param first whether it also finds words with the prefix FIRST
 */
export function wordQuery(words: readonly string[], { first = true } = {}): string {
  if (words.length === 0) return ''
  const each = words.map((word) => (first ? `(${prefixQuery(word)})` : `'${indexedWord(word)}':*`))
  return `${each.join(' & ')} | ${MARKER_QUERY}`
}

/**
 * Returns a tsquery for the plants with words of this prefix.
 *
 * @param isWhole whether no name begins with a longer word of this prefix, so that it is a whole first word
 */
export function prefixQuery(word: string, isWhole = false): string {
  const start = indexedWord(word)
  return `'${start}':* | '${FIRST}${start}'${isWhole ? '' : ':*'}`
}

/** A tsquery for the plants whose words exceed the maximum. */
export const MARKER_QUERY = `'${MARKER}'`

/** Returns the lexemes of a plant. @param key its sort key */
export function indexedWords(plant: Plant, key: string): ReadonlySet<string> {
  const [first, ...others] = plantWords(plant).map(indexedWord)
  const words = new Set(others)
  if (first !== undefined) words.add(key.startsWith(first) ? FIRST + first : first)
  let length = 0
  for (const word of words) length += word.length
  return length <= MAX_WORDS_LENGTH ? words : new Set([MARKER])
}
