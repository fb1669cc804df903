import { words } from '../fold.ts'
import type { Plant } from '../plant.ts'
import { type PlantFilter, plantWords } from '../plant-query.ts'

/** Characters (code points) that are indexed of a word; each shorter prefix has an index of its own (sql/sqlite). */
const TERM_LENGTH = 8
/** More words, tags and words of a tag than these are not looked for: they narrow nothing any more. */
const MAX_WORDS = 16
const MAX_TAGS = 8
const MAX_TAG_WORDS = 4
/** What a word looks like; other text is in no plant's words, and must not get into an expression. */
const WORD = /^(?:[\p{L}\p{N}]+|\p{Extended_Pictographic})$/u

/** What the full-text index holds of a plant. */
export function indexedTerms(plant: Plant): string {
  return unique(plantWords(plant).map(cut)).join(' ')
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
    terms.push(`(${tags.map((tag) => `(${tag.map((word) => quote(cut(word))).join(' AND ')})`).join(' OR ')})`)
  }
  return terms.join(' AND ')
}

function term(word: string): string {
  const shortened = cut(word)
  return characters(word) < TERM_LENGTH ? `${quote(shortened)} *` : quote(shortened)
}

const unique = (texts: readonly string[]): string[] => Array.from(new Set(texts))
const quote = (word: string): string => `"${word}"`
const characters = (word: string): number => (word.length < TERM_LENGTH ? word.length : Array.from(word).length)

function cut(word: string): string {
  return word.length <= TERM_LENGTH
    ? word
    : Array.from(word.slice(0, TERM_LENGTH * 2))
        .slice(0, TERM_LENGTH)
        .join('')
}
