import { isWord, words } from '../../domain/fold.ts'
import type { Plant } from '../../domain/plant.ts'
import { MAX_WORDS_TEXT, type PlantFilter, plantWords } from '../../domain/plant-query.ts'
import type { StatementCache } from '../statement-cache.ts'

/** Maximum number of code points in a term. A search for a shorter word reads all terms with this prefix. */
const TERM_LENGTH = 20
/** Code points of the longest prefixes that have an index (sql/sqlite-index.sql). */
const PREFIX_LENGTH = 8
/** Bounds of an expression. It leaves out further words, tags and words of a tag, as they hardly narrow the search. */
const MAX_WORDS = 16
const MAX_TAGS = 8
const MAX_TAG_WORDS = 4
/** The only term of wide plants in the full-text index. A word has no characters for private use. */
const WIDE = '\ue000'
/** An expression that finds all wide plants. */
export const WIDE_EXPRESSION = `"${WIDE}"`
/** Follows all words and names that begin with a word, once it is added to that. */
export const AFTER_ALL = '\u{10ffff}'

export interface IndexedTerms {
  /** The text of a plant for the full-text index: its words, folded and truncated, in any order and number. */
  readonly text: string
  /** The words of a wide plant, folded and truncated, each once (sql/sqlite-index.sql). Others have none. */
  readonly wide: readonly string[]
}

export function indexedTerms(plant: Plant): IndexedTerms {
  const text = plant.tag === undefined ? plant.name : `${plant.name} ${plant.tag}`
  if (text.length <= MAX_WORDS_TEXT && isPlain(text)) return { text, wide: [] }
  const terms = unique(plantWords(plant).map(truncate))
  const length = terms.reduce((sum, term) => sum + term.length, 0)
  return length > MAX_WORDS_TEXT ? { text: WIDE, wide: terms } : { text: terms.join(' '), wide: [] }
}

/** Returns ranges of the words of a wide plant: it has one in each, if it has all asked words, and perhaps otherwise. */
export const wideRanges = (asked: readonly string[]): [from: string, before: string][] =>
  narrowest(asked)
    .map(truncate)
    .map((term) => [term, term + AFTER_ALL])

/**
 * Returns a full-text expression (https://sqlite.org/fts5.html#full_text_query_syntax) that finds every plant that
 * matches the filter, and perhaps others; undefined for a filter without words. The words of a tag are words of the
 * plant too, so they narrow the search.
 *
 * A prefix without an index that may match an id below 0 is cut to one with an index: FTS5 writes past the end of its
 * memory when it merges the ids of such a prefix (docs/decisions/0027-change-log-and-search-index.md).
 *
 * @param hasNegative returns whether an id below 0 matches an expression
 */
export function matchExpression(filter: PlantFilter, hasNegative: (expression: string) => boolean): string | undefined {
  // No plant has other words, and an expression must not contain other characters.
  const asked = unique(filter.words.filter(isWord))
  if (asked.length === 0) return undefined
  const terms = narrowest(asked).map((word) => term(word, hasNegative))
  const tags = unique(filter.tags).map((tag) => unique(words(tag)).slice(0, MAX_TAG_WORDS))
  if (tags.length > 0 && tags.length <= MAX_TAGS && tags.every((tag) => tag.length > 0)) {
    terms.push(`(${tags.map((tag) => `(${tag.map((word) => quote(truncate(word))).join(' AND ')})`).join(' OR ')})`)
  }
  return terms.join(' AND ')
}

function term(word: string, hasNegative: (expression: string) => boolean): string {
  const start = truncate(word)
  const points = Array.from(start)
  // A truncated word equals the truncated terms. A shorter one is a prefix.
  if (points.length === TERM_LENGTH) return quote(start)
  const indexed = prefix(points.slice(0, PREFIX_LENGTH).join(''))
  return points.length <= PREFIX_LENGTH || hasNegative(indexed) ? indexed : prefix(start)
}

/**
 * Whether every plant that the index finds has all of these words, so that its text need not be read.
 *
 * @param hasNegative as for `matchExpression`
 */
export const isExact = (asked: readonly string[], hasNegative: (expression: string) => boolean): boolean =>
  asked.length <= MAX_WORDS &&
  asked.every((word) => {
    const points = Array.from(word)
    const indexed = () => prefix(points.slice(0, PREFIX_LENGTH).join(''))
    return points.length <= PREFIX_LENGTH || (points.length < TERM_LENGTH && !hasNegative(indexed()))
  })

/** Longer words are rarer. */
const narrowest = (asked: readonly string[]): string[] =>
  asked.toSorted((a, b) => b.length - a.length).slice(0, MAX_WORDS)

const prefix = (word: string): string => `${quote(word)} *`

/** Looks in the index for an id below 0 that matches an expression. Reads one row, as FTS5 finds them in order. */
export const negativeIn =
  (statements: StatementCache) =>
  (expression: string): boolean =>
    statements.get('SELECT 1 FROM words WHERE words MATCH ? AND rowid < 0 LIMIT 1', expression) !== undefined

/** Whether a text is ASCII without NUL and long words. The tokenizer `ascii` splits it exactly as `words` does. */
function isPlain(text: string): boolean {
  let length = 0
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    if (unit > 0x7f || unit === 0) return false
    length = isAlphanumeric(unit) ? length + 1 : 0
    if (length > TERM_LENGTH) return false
  }
  return true
}

const isAlphanumeric = (unit: number): boolean =>
  (unit >= 0x61 && unit <= 0x7a) || (unit >= 0x41 && unit <= 0x5a) || (unit >= 0x30 && unit <= 0x39)
const unique = (texts: readonly string[]): string[] => Array.from(new Set(texts))
const quote = (word: string): string => `"${word}"`

function truncate(word: string): string {
  return word.length <= TERM_LENGTH
    ? word
    : Array.from(word.slice(0, TERM_LENGTH * 2))
        .slice(0, TERM_LENGTH)
        .join('')
}
