import type { Plant } from '../domain/plant.ts'
import { plantWords } from '../domain/plant-query.ts'

/**
 * Maximum number of code points of a word in the index. PostgreSQL allows 2,046 bytes, but longer words only take
 * space.
 */
const WORD_LENGTH = 64
/** Truncates a word to the maximum of the index, for plants and for searches. */
export function indexedWord(word: string): string {
  return word.length <= WORD_LENGTH ? word : Array.from(word).slice(0, WORD_LENGTH).join('')
}

/**
 * The prefix of a name's first word in the index, where the sort key begins with the word. A search by name leaves
 * those plants to the index plants_by_name. No word contains the prefix. A word that occurs again in the plant is also
 * indexed without it.
 */
export const FIRST = '<'

/**
 * Marks the ASCII beginning of a word that continues beyond ASCII: the index has `>rose` for `roseя`, so that
 * `longerQuery` finds the word. No word contains the mark.
 */
const MIXED = '>'
const ASCII = Array.from('abcdefghijklmnopqrstuvwxyz0123456789')
const ASCII_WORD = /^[a-z0-9]+$/
const MIXED_START = /^[a-z0-9]+(?=[^a-z0-9])/

/**
 * Returns a tsquery that finds every plant with all of these words as prefixes of its words, and perhaps other plants;
 * an empty text for no words.
 *
 * @param withFirst whether the query also finds words with the prefix FIRST; likewise below
 */
export const wordQuery = (words: readonly string[], withFirst = true): string =>
  words.map((word) => `(${prefixQuery(word, withFirst)})`).join(' & ')

export const prefixQuery = (word: string, withFirst = true): string =>
  anyOf(lexemesOf(indexedWord(word), withFirst), ':*')

export const wholeQuery = (word: string, withFirst = true): string => anyOf(lexemesOf(indexedWord(word), withFirst))

/** Returns a tsquery for all plants apart from those whose first word is marked and has one of these beginnings. */
export const otherNamesQuery = (starts: readonly string[]): string =>
  `!(${starts.map((start) => `'${FIRST}${start}':*`).join(' | ')})`

export const isAsciiWord = (word: string): boolean => ASCII_WORD.test(word)

/** Returns a tsquery for the plants with words that are longer than this ASCII word and begin with it. */
export function longerQuery(word: string, withFirst = true): string {
  const start = indexedWord(word)
  const longer = ASCII.flatMap((next) => lexemesOf(start + next, withFirst))
  return `'${MIXED}${start}' | ${anyOf(longer, ':*')}`
}

/** The lexemes of a word in the index: without FIRST, and with it. */
export const lexemesOf = (word: string, withFirst = true): string[] => (withFirst ? [word, FIRST + word] : [word])

const anyOf = (lexemes: readonly string[], suffix = ''): string =>
  lexemes.map((lexeme) => `'${lexeme}'${suffix}`).join(' | ')

/** The words of a plant in the index. @param key the sort key of the plant */
export function indexedWords(plant: Plant, key: string): ReadonlySet<string> {
  const [first, ...others] = plantWords(plant).map(indexedWord)
  const words = new Set(others)
  if (first !== undefined) words.add(key.startsWith(first) ? FIRST + first : first)
  for (const word of [first ?? '', ...others]) {
    const [start] = MIXED_START.exec(word) ?? []
    if (start !== undefined) words.add(MIXED + start)
  }
  return words
}
