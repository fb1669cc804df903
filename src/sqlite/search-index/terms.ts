import { words } from '../../fold.ts'
import type { Plant } from '../../plant.ts'
import { type PlantFilter, plantWords } from '../../plant-query.ts'

/** Characters (code points) of a short term; each shorter prefix has an index of its own (sql/sqlite). */
const TERM_LENGTH = 8
/**
 * Characters of the second term of a longer word. All that begin as a word that is asked for are read at once, which few
 * are: else every plant with a word that shares the first eight characters had to be verified.
 */
const LONG_TERM_LENGTH = 20
/** More words, tags and words of a tag than these are not looked for: they narrow nothing any more. */
const MAX_WORDS = 16
const MAX_TAGS = 8
const MAX_TAG_WORDS = 4
/** What a word looks like; other text is in no plant's words, and must not get into an expression. */
const WORD = /^(?:[\p{L}\p{N}]+|\p{Extended_Pictographic})$/u

/** What the full-text index holds of a plant. */
export function indexedTerms(plant: Plant): string {
  return unique(plantWords(plant).flatMap((word) => [cut(word, TERM_LENGTH), cut(word, LONG_TERM_LENGTH)])).join(' ')
}

/**
 * The full-text expression (https://sqlite.org/fts5.html) that finds every plant which the filter means, and others
 * beside; undefined where there is none. A tag's words are words of the plant too, so they narrow the search.
 */
export function matchExpression(filter: PlantFilter): string | undefined {
  const asked = unique(filter.words.filter((word) => WORD.test(word)))
  if (asked.length === 0) return undefined
  // The longest are the rarest.
  const terms = asked
    .toSorted((a, b) => b.length - a.length)
    .slice(0, MAX_WORDS)
    .map(term)
  const tags = unique(filter.tags).map((tag) => unique(words(tag)).slice(0, MAX_TAG_WORDS))
  if (tags.length > 0 && tags.length <= MAX_TAGS && tags.every((tag) => tag.length > 0)) {
    terms.push(
      `(${tags.map((tag) => `(${tag.map((word) => quote(cut(word, LONG_TERM_LENGTH))).join(' AND ')})`).join(' OR ')})`,
    )
  }
  return terms.join(' AND ')
}

function term(word: string): string {
  const length = characters(word)
  // Every word of so many characters or more has been cut to just these.
  const isWhole = length === TERM_LENGTH || length >= LONG_TERM_LENGTH
  return isWhole ? quote(cut(word, LONG_TERM_LENGTH)) : `${quote(word)} *`
}

const unique = (texts: readonly string[]): string[] => Array.from(new Set(texts))
const quote = (word: string): string => `"${word}"`
const characters = (word: string): number => (word.length < TERM_LENGTH ? word.length : Array.from(word).length)

function cut(word: string, length: number): string {
  return word.length <= length
    ? word
    : Array.from(word.slice(0, length * 2))
        .slice(0, length)
        .join('')
}
