import type { Plant } from '../plant.ts'
import { MAX_WORDS_TEXT, plantWords } from '../plant-query.ts'

/**
 * Maximum number of code points of a word in the index. PostgreSQL allows 2,046 bytes, but longer words only take
 * space.
 */
const WORD_LENGTH = 64
/** Replaces words of a plant that exceed MAX_WORDS_TEXT. PostgreSQL allows a tsvector of 2^20 bytes. No word equals it, and every search reads these plants. */
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
 * Marks the ASCII beginning of a word that continues beyond ASCII: the index has `>rose` for `roseя`, so that
 * `longerQuery` finds the word. No word contains the mark.
 */
const MIXED = '>'
/** The ASCII characters of words. */
const ASCII = Array.from('abcdefghijklmnopqrstuvwxyz0123456789')
const ASCII_WORD = /^[a-z0-9]+$/
const MIXED_START = /^[a-z0-9]+(?=[^a-z0-9])/

export interface QueryOptions {
  /** Whether the query also finds words with the prefix FIRST; true by default. */
  readonly first?: boolean
}

/**
 * Returns a tsquery that finds every plant with all of these words as prefixes of its words, and perhaps other plants;
 * an empty text for no words.
 */
export function wordQuery(words: readonly string[], options: QueryOptions = {}): string {
  if (words.length === 0) return ''
  return `${words.map((word) => `(${prefixQuery(word, options)})`).join(' & ')} | ${MARKER_QUERY}`
}

/** Returns a tsquery for the plants with words of this prefix. */
export const prefixQuery = (word: string, options: QueryOptions = {}): string =>
  anyOf(lexemesOf(indexedWord(word), options), ':*')

/** Returns a tsquery for the plants with exactly this word. */
export const wholeQuery = (word: string, options: QueryOptions = {}): string =>
  anyOf(lexemesOf(indexedWord(word), options))

/** Whether `longerQuery` takes this word. */
export const isAsciiWord = (word: string): boolean => ASCII_WORD.test(word)

/** Returns a tsquery for the plants with words that are longer than this ASCII word and begin with it. */
export function longerQuery(word: string, options: QueryOptions = {}): string {
  const start = indexedWord(word)
  const longer = ASCII.flatMap((next) => lexemesOf(start + next, options))
  return `'${MIXED}${start}' | ${anyOf(longer, ':*')}`
}

/** The lexemes of a word in the index: without FIRST, and with it. */
export const lexemesOf = (word: string, { first = true }: QueryOptions = {}): string[] =>
  first ? [word, FIRST + word] : [word]

const anyOf = (lexemes: readonly string[], suffix = ''): string =>
  lexemes.map((lexeme) => `'${lexeme}'${suffix}`).join(' | ')

/** A tsquery for the plants whose words exceed the maximum. */
export const MARKER_QUERY = `'${MARKER}'`

/** Returns the lexemes of a plant. @param key its sort key */
export function indexedWords(plant: Plant, key: string): ReadonlySet<string> {
  const [first, ...others] = plantWords(plant).map(indexedWord)
  const words = new Set(others)
  if (first !== undefined) words.add(key.startsWith(first) ? FIRST + first : first)
  for (const word of [first ?? '', ...others]) {
    const [start] = MIXED_START.exec(word) ?? []
    if (start !== undefined) words.add(MIXED + start)
  }
  let length = 0
  for (const word of words) length += word.length
  return length <= MAX_WORDS_TEXT ? words : new Set([MARKER])
}
