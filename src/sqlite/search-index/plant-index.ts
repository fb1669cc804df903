import type { NewPlant, Plant } from '../../domain/plant.ts'
import { endOfPrefix, type PlantFilter, plantWords, sortKey, words } from '../../domain/plant-query.ts'
import type { PositionRange } from '../lookup.ts'
import type { StatementCache } from '../rows.ts'
import { IndexFault } from './index-file.ts'
import { type Entry, jsonOf, LISTED, NameIndex, TERM_LENGTH, truncate } from './name-index.ts'

/** Stands for no tag in the index. No tag contains it. */
export const UNTAGGED = '\0'
/** In the order of the tags, so that SQLite writes the entries of one page together. */
const byTag = (plants: readonly NewPlant[]): [tag: string, tagged: NewPlant[]][] =>
  Array.from(Map.groupBy(plants, ({ tag }) => tag ?? UNTAGGED)).sort(([a], [b]) => (a < b ? -1 : 1))

/** The tags from one on and before another. A prefix of the greatest characters alone ends at a blob, behind all texts. */
export interface TagRange {
  readonly from: string
  readonly before: string | Uint8Array
}

/** The least text behind a tag or U+0000. */
export const behindTag = (tag: string): string => `${tag}\0`
export const rangeOf = (tag: string): TagRange => ({ from: tag, before: behindTag(tag) })
export const rangeOfPrefix = (prefix: string): TagRange => ({
  from: prefix,
  before: endOfPrefix(prefix) ?? new Uint8Array(),
})

const idsOf = (plants: readonly NewPlant[]): string => `[${plants.map(({ id }) => id).join()}]`

/** Writes the entries of plants (sql/sqlite-index.sql). Call its methods inside a transaction of the index. */
export class PlantIndex {
  readonly #statements: StatementCache
  readonly names: NameIndex

  constructor(statements: StatementCache, mergeFrom: number) {
    this.#statements = statements
    this.names = new NameIndex(statements, mergeFrom)
  }

  /**
   * Adds the entries of plants. The index must not have entries of these ids.
   *
   * @param named ids whose name is in the index already, as `remove` has kept it
   * @param isScanning whether the scan goes on, before whose end no search needs the index
   */
  add(plants: readonly NewPlant[], named: ReadonlySet<bigint>, isScanning = false): void {
    // In id order: FTS5 begins a new segment when an id is smaller than the one before.
    const inIdOrder = plants.toSorted((a, b) => (a.id < b.id ? -1 : 1))
    const keys = inIdOrder.filter(({ id }) => !named.has(id)).map(({ id, name }): Entry => [sortKey(name), id])
    this.names.add(keys, isScanning)
    const terms = inIdOrder.map((plant): Entry => [withMark(indexedTerms(plant)), plant.id])
    // Few statements: FTS5 flushes its pending rows when an INSERT of several rows begins.
    const insert = 'INSERT INTO words (terms, rowid) SELECT value, CAST(key AS INTEGER) FROM json_each(?)'
    this.#statements.run(insert, jsonOf(terms))
    for (const [tag, tagged] of byTag(inIdOrder)) {
      this.#statements.run('INSERT OR FAIL INTO tags (tag, id) SELECT ?, value FROM json_each(?)', tag, idsOf(tagged))
      this.#count(tag, tagged.length)
    }
  }

  /**
   * Removes the entries of plants. Pass each plant in the state in which it was added.
   *
   * @param named ids that keep their name: half the work of a new tag
   * @throws IndexFault when an entry is missing
   */
  remove(plants: readonly NewPlant[], named: ReadonlySet<bigint>): void {
    const isWhole = (sql: string, of: readonly NewPlant[], ...values: string[]) =>
      this.#statements.run(sql, ...values, idsOf(of)) === BigInt(of.length)
    let isThere = plants.every((plant) => named.has(plant.id) || this.names.remove(plant))
    this.#statements.run(`DELETE FROM words WHERE rowid IN ${LISTED}`, idsOf(plants))
    for (const [tag, tagged] of byTag(plants)) {
      isThere &&= isWhole(`DELETE FROM tags WHERE tag = ? AND id IN ${LISTED}`, tagged, tag)
      this.#count(tag, -tagged.length)
    }
    if (!isThere) throw new IndexFault('entries of plants are missing')
  }

  #count(tag: string, plants: number): void {
    this.#statements.run(
      'INSERT INTO tag_counts (tag, plants) VALUES (?, ?) ON CONFLICT DO UPDATE SET plants = plants + excluded.plants',
      tag,
      plants,
    )
    if (plants < 0) this.#statements.run('DELETE FROM tag_counts WHERE tag = ? AND plants = 0', tag)
  }
}

/** Code points of the longest prefixes that have an index, without FIRST (sql/sqlite-index.sql). */
const PREFIX_LENGTH = 8
/** Bounds of an expression. It leaves out further words, tags and words of a tag, as they hardly narrow the search. */
const MAX_WORDS = 16
const MAX_TAGS = 8
const MAX_TAG_WORDS = 4
/**
 * Precedes the first word of a name in the index, where the sort key begins with that word: a search by name reads
 * those plants in the index of names. No word contains it.
 */
export const FIRST = '\ue001'
/** Follows all words and names that begin with a word, once it is added to that. */
export const AFTER_ALL = '\u{10ffff}'
/**
 * A term of some plants, at random, whatever their words are. A search for several words finds these plants too: FTS5
 * looks for the next plant in one step, and where no plant has all of the words it would look at the whole index.
 */
export const MARK = '\ue002'
const PLANTS_PER_MARK = 2048
/**
 * The term of a plant without words. FTS5 makes no segment of rows without terms, does not count them, and counts their
 * deletion for rows of another segment, so that an intact index would contradict itself (proof.ts).
 */
const WORDLESS = '\ue003'
const HAS_TERM = /[A-Za-z0-9\u0080-\uffff]/

function withMark(indexed: string): string {
  const terms = HAS_TERM.test(indexed) ? indexed : WORDLESS
  return Math.random() * PLANTS_PER_MARK < 1 ? `${terms} ${MARK}` : terms
}

/** The text of a plant for the full-text index: its words, folded and truncated, in any order and number. */
export function indexedTerms(plant: Plant): string {
  const text = plant.tag === undefined ? plant.name : `${plant.name} ${plant.tag}`
  if (isPlain(text)) return WORD_START.test(text) ? FIRST + text : text
  const [first = '', ...others] = plantWords(plant).map(truncate)
  const isFirst = first !== '' && sortKey(plant.name).startsWith(first)
  return unique([isFirst ? FIRST + first : first, ...others]).join(' ')
}

/** A full-text expression (https://sqlite.org/fts5.html#full_text_query_syntax) with the number of its words. */
export interface Expression {
  readonly text: string
  /** With more than one, the expression also finds the plants with MARK. */
  readonly words: number
  /** Whether one of its words has few entries, so that FTS5 looks at few plants, whatever else they must have. */
  readonly isRare: boolean
}

/** What the index knows of its terms. */
export interface Terms {
  /** Whether an id below 0 matches an expression. */
  hasNegative(expression: string): boolean
  /** Whether an expression finds few plants. */
  isRare(expression: string): boolean
  /** Returns undefined where the terms that begin so have few entries; otherwise the terms, with some beyond MAX_TERMS. */
  frequent(start: string): readonly string[] | undefined
}

/**
 * Returns an expression that finds every plant that matches the filter, and perhaps others; undefined for a filter
 * without words. The words of a tag are words of the plant too, and those of its beginning begin some, so they narrow
 * the search.
 *
 * @param places whether to leave out the plants whose sort keys begin with one of the words
 */
export function matchExpression(filter: PlantFilter, index: Terms, places?: Places): Expression | undefined {
  if (filter.words.length === 0) return undefined
  const terms = narrowest(filter.words).map((word) => term(word, index, places ?? 'anywhere'))
  const few = filter.tags.length > MAX_TAGS ? [] : unique(filter.tags)
  const tags = few.map((tag) => unique(words(tag)).slice(0, MAX_TAG_WORDS))
  if (tags.length > 0 && tags.every((tag) => tag.length > 0)) {
    terms.push(`(${tags.map((tag) => `(${tag.map((word) => quote(truncate(word))).join(' AND ')})`).join(' OR ')})`)
  } else {
    const ofPrefix = unique(words(filter.tagPrefix ?? '')).slice(0, MAX_TAG_WORDS)
    terms.push(...ofPrefix.map((word) => term(word, index, 'anywhere')))
  }
  const isRare = terms.some((each) => index.isRare(each))
  if (isRare || terms.length === 1) return { text: terms.join(' AND '), words: 1, isRare }
  return { text: terms.map(orMark).join(' AND '), words: terms.length, isRare }
}

const orMark = (expression: string): string => `(${expression} OR ${quote(MARK)})`

const LETTERS = Array.from('abcdefghijklmnopqrstuvwxyz')
/** Maximum number of letters with which names beyond a key begin: the index reads all names with one of them. */
const MAX_BEYOND = 6
/** Characters of the beginnings of names beyond a key. */
const BEGINNING = 2

/**
 * Leaves most plants with keys beyond a range out of an expression: those whose marked first word is beyond it, but for
 * the plants with MARK.
 */
export function within({ text, words, isRare }: Expression, { from, to }: PositionRange): Expression {
  const starts = [...startsBeyond(from?.key, (a, b) => a < b), ...startsBeyond(to?.key, (a, b) => a > b)]
  if (starts.length === 0) return { text, words, isRare }
  const beyond = starts.map((start) => prefix(FIRST + start)).join(' OR ')
  if (isRare) return { text: `(${text}) NOT (${beyond})`, words, isRare }
  return { text: `${orMark(`(${text})`)} NOT ((${beyond}) NOT ${quote(MARK)})`, words: words + 1, isRare }
}

function startsBeyond(key: string | undefined, isBeyond: (a: string, b: string) => boolean): string[] {
  const starts: string[] = []
  for (const [i, own] of Array.from(key?.slice(0, BEGINNING) ?? '').entries()) {
    const beyond = LETTERS.filter((letter) => isBeyond(letter, own)).map((letter) => key?.slice(0, i) + letter)
    if (i === 0 && beyond.length > MAX_BEYOND) break
    starts.push(...beyond)
    if (!LETTERS.includes(own)) break
  }
  return starts
}

export type Places = 'anywhere' | 'behind the first'

function term(word: string, index: Terms, places: Places): string {
  const start = truncate(word)
  const points = Array.from(start).length
  // A truncated word equals the truncated terms. A shorter one is a prefix.
  const one =
    points === TERM_LENGTH ? quote : points <= PREFIX_LENGTH ? prefix : (text: string) => longPrefix(text, index)
  return places === 'anywhere' ? `(${one(start)} OR ${one(FIRST + start)})` : one(start)
}

/** Terms of a prefix without an index that an expression names one by one. */
export const MAX_TERMS = 64

/**
 * Finds what begins with a text that is longer than the prefixes with an index. FTS5 merges the entries of all its terms
 * at once, so it does so with few entries alone. Many terms with many entries are found by a prefix with an index.
 *
 * Where an id below 0 has the prefix, FTS5 writes past the end of its memory when it merges them
 * (docs/decisions/0027-change-log-and-search-index.md).
 */
function longPrefix(text: string, index: Terms): string {
  const points = Array.from(text)
  const indexed = prefix(points.slice(0, PREFIX_LENGTH + (text.startsWith(FIRST) ? 1 : 0)).join(''))
  const terms = index.frequent(text)
  if (terms === undefined) return index.hasNegative(indexed) ? indexed : prefix(text)
  return terms.length <= MAX_TERMS ? `(${terms.map(quote).join(' OR ')})` : indexed
}

/** Longer words are rarer. */
const narrowest = (asked: readonly string[]): string[] =>
  asked.toSorted((a, b) => b.length - a.length).slice(0, MAX_WORDS)

const prefix = (word: string): string => `${quote(word)} *`

/** Whether a text is ASCII without NUL and long words. The tokenizer `ascii` splits it exactly as `words` does. */
const isPlain = (text: string): boolean =>
  !BEYOND_ASCII.test(text) && !text.includes('\0') && !SIGN_OR_HYPHEN.test(text) && !LONG_WORD.test(text)

const BEYOND_ASCII = /[\u0080-\uffff]/
// It tries only at the start of a word, in a third of the time.
const LONG_WORD = new RegExp(`(?<![A-Za-z0-9])[A-Za-z0-9]{${TERM_LENGTH + 1}}`)
/** What makes other words than those between blanks: the sign of a hybrid genus, and a hyphen within a word. */
const SIGN_OR_HYPHEN = /^\s*(?:\+|x\s)|[a-z0-9]-/i
const WORD_START = /^[A-Za-z0-9]/
export const unique = (texts: readonly string[]): string[] => Array.from(new Set(texts))
const quote = (word: string): string => `"${word}"`

/** The beginning of a word for which the index has a list of its own. */
export const startOf = (word: string): string => Array.from(truncate(word)).slice(0, PREFIX_LENGTH).join('')

/** An expression for all plants with a word that begins so. */
export const beginningWith = (start: string): string => `(${prefix(start)} OR ${prefix(FIRST + start)})`
