import { compareCodePoints } from '../../fold.ts'
import { isByName, isDescending, type PlantOrder, type PlantQuery, type Position } from '../../plant-query.ts'
import { indexedWord, wordQuery } from '../search-terms.ts'

type Parameter = (value: unknown) => string

/** A statement whose plants include those of a query. Its column `hit` marks them. A LIMIT may follow it. */
export interface Source {
  /** Whether the plants come in any order. Otherwise they come in the order of the query, from its position on. */
  readonly isSet: boolean
  /** Whether all plants are hits, so that one page is enough. */
  readonly isExact: boolean
  /** @param more further columns, each after a comma */
  text(parameter: Parameter, more?: string): string
}

/** The part of a tag that the index holds (sql/postgres/000001.sql). */
export const TAG_KEY = 'left(tag, 128)'
const tagKey = (tag: string): string => (tag.length <= 128 ? tag : Array.from(tag).slice(0, 128).join(''))
/** The tags that a plant can have: PostgreSQL refuses U+0000. */
export const storableTags = (tags: readonly string[]): string[] =>
  [...new Set(tags)].filter((tag) => !tag.includes('\0'))
/**
 * Replaces U+0000, which PostgreSQL refuses. No plant has it; only a forged cursor does, and that may lead anywhere.
 */
export const storable = (text: string): string => text.replaceAll('\0', '\u0001')

/** Most words of a query whose names are walked as ranges of the index of names. */
const MAX_RANGES = 4
const COLUMNS = 'id, name, tag, sort_key'

export const ordering = (order: PlantOrder, table = ''): string =>
  columns(order)
    .map((column) => `${table}${column} ${isDescending(order) ? 'DESC' : 'ASC'}`)
    .join(', ')

const columns = (order: PlantOrder): string[] => (isByName(order) ? ['sort_key', 'id'] : ['id'])

/** The sources that lead to the plants of a query. */
export class Sources {
  readonly #query: PlantQuery
  readonly #tags: readonly string[]

  constructor(query: PlantQuery) {
    this.#query = { ...query, words: withoutImplied(query.words) }
    this.#tags = storableTags(query.tags)
  }

  /** Whether no plant can have any of the tags. */
  get isEmpty(): boolean {
    return this.#query.tags.length > 0 && this.#tags.length === 0
  }

  /** Walks the order of one tag where the query has one, else the order of all plants. */
  get walk(): Source {
    const { words } = this.#query
    return this.#walk(words.length === 0 ? undefined : wordQuery(words))
  }

  /** A query for each word alone, by which the search counts its plants. */
  get eachWord(): readonly string[] {
    const { words } = this.#query
    return words.length > 1 && words.length <= MAX_RANGES ? words.map((word) => wordQuery([word])) : []
  }

  /**
   * Each of these groups of sources leads to all plants of the query.
   *
   * @param isCommon for each word, whether it is too frequent to ask the index of words for it
   */
  sets(isCommon: readonly boolean[]): readonly (readonly Source[])[] {
    const { order, words } = this.#query
    const asked = words.filter((_, i) => isCommon[i] !== true)
    const common = asked.length === 0 ? [] : words.filter((_, i) => isCommon[i] === true)
    const byTags = this.#tags.length > 1 ? [[this.#byTags()]] : []
    if (words.length === 0) return byTags
    const rare = asked.length === 0 ? words : asked
    const byWords = [this.#byWords(rare, common)]
    if (!isByName(order) || words.length > MAX_RANGES) return [byWords, ...byTags]
    // Names that begin with a word follow one another in the order, whatever their number. The rest is a set.
    const ranges = words.map((_, i) =>
      this.#walk(wordQuery(words.filter((_, other) => other !== i)), words.slice(0, i + 1)),
    )
    const inParts = [this.#byWords(rare, common, true), ...ranges]
    return words.length === 1 ? [inParts, ...byTags] : [inParts, byWords, ...byTags]
  }

  /**
   * @param filter a tsquery that hits match
   * @param beginnings restricts the hits to names that begin with the last of these words, and with none of the others
   */
  #walk(filter: string | undefined, beginnings: readonly string[] = []): Source {
    const text = (parameter: Parameter, more?: string) => {
      const conditions = this.#tags.length === 1 ? tagIs(this.#tags[0] ?? '', parameter) : []
      const word = beginnings.at(-1)
      if (word !== undefined) conditions.push(beginsWith(word, parameter))
      conditions.push(...this.#position(parameter))
      const hits = beginnings.slice(0, -1).map((other) => `NOT ${beginsWith(other, parameter)}`)
      if (filter !== undefined && filter !== '') hits.push(`words @@ ${parameter(filter)}::tsquery`)
      if (this.#tags.length > 1) hits.push(`tag = ANY (${parameter(this.#tags)}::text[])`)
      return `${select(conditions, hits, more)} ORDER BY ${ordering(this.#query.order)}`
    }
    const isExact = (filter === undefined || filter === '') && beginnings.length < 2 && this.#tags.length < 2
    return { isSet: false, isExact, text }
  }

  /**
   * @param asked words to ask the index for
   * @param others words to check in the plants that the index gives
   * @param isRest leaves out the plants whose names begin with any of the words
   */
  #byWords(asked: readonly string[], others: readonly string[], isRest = false): Source {
    const text = (parameter: Parameter, more?: string) => {
      const conditions = [`words @@ ${parameter(wordQuery(asked, { first: !isRest }))}::tsquery`]
      // PostgreSQL intersects both indexes before it reads plants.
      if (this.#tags.length > 0) conditions.push(...tagIsOneOf(this.#tags, parameter))
      const hits = this.#position(parameter)
      if (others.length > 0) hits.push(`words @@ ${parameter(wordQuery(others, { first: !isRest }))}::tsquery`)
      if (isRest) hits.push(...this.#query.words.map((word) => `NOT ${beginsWith(word, parameter)}`))
      return select(conditions, hits, more)
    }
    return { isSet: true, isExact: false, text }
  }

  #byTags(): Source {
    const { words } = this.#query
    const text = (parameter: Parameter, more?: string) => {
      const hits = this.#position(parameter)
      if (words.length > 0) hits.push(`words @@ ${parameter(wordQuery(words))}::tsquery`)
      return select(tagIsOneOf(this.#tags, parameter), hits, more)
    }
    return { isSet: true, isExact: false, text }
  }

  #position(parameter: Parameter): string[] {
    const { order, after } = this.#query
    return after === undefined ? [] : [isAfter(order, after, parameter)]
  }
}

/** Leaves out words that are prefixes of others: a plant with the longer word has the shorter one too. */
function withoutImplied(words: readonly string[]): string[] {
  const inOrder = [...new Set(words)].sort(compareCodePoints)
  // Words that begin with a word follow it at once.
  return inOrder.filter((word, i) => inOrder[i + 1]?.startsWith(word) !== true)
}

/** All plants of a query, without a bound; the planner chooses the index. */
export function everything({ order, after, tags, words }: PlantQuery): { text: string; values: readonly unknown[] } {
  const values: unknown[] = []
  const parameter = (value: unknown) => `$${values.push(value)}`
  const conditions = words.length === 0 ? [] : [`words @@ ${parameter(wordQuery(words))}::tsquery`]
  if (tags.length > 0) conditions.push(...tagIsOneOf(storableTags(tags), parameter))
  if (after !== undefined) conditions.push(isAfter(order, after, parameter))
  // OFFSET 0 keeps the planner from walking the order, which the rounds before have tried.
  return { text: `SELECT * FROM (${select(conditions, [])} OFFSET 0) AS every`, values }
}

function select(conditions: readonly string[], hits: readonly string[], more = ''): string {
  const where = conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`
  return `SELECT ${COLUMNS}, ${hits.length === 0 ? 'true' : hits.join(' AND ')} AS hit${more} FROM plants ${where}`
}

const tagIs = (tag: string, parameter: Parameter): string[] => [
  `${TAG_KEY} = ${parameter(tagKey(tag))}`,
  `tag = ${parameter(tag)}`,
]

export const tagIsOneOf = (tags: readonly string[], parameter: Parameter): string[] => [
  `${TAG_KEY} = ANY (${parameter(tags.map(tagKey))}::text[])`,
  `tag = ANY (${parameter(tags)}::text[])`,
]

export function isAfter(order: PlantOrder, { key, id }: Position, parameter: Parameter): string {
  const values = isByName(order) ? [parameter(storable(key)), parameter(id)] : [parameter(id)]
  return `(${columns(order).join(', ')}) ${isDescending(order) ? '<' : '>'} (${values.join(', ')})`
}

/** Whether a sort key begins with a word, as a range of its index. */
function beginsWith(word: string, parameter: Parameter): string {
  const start = indexedWord(word)
  const last = Array.from(start).at(-1) ?? ''
  const code = last.codePointAt(0) ?? 0
  // The code point after U+D7FF that text can hold is U+E000; no word contains U+10FFFF.
  const next = String.fromCodePoint(code === 0xd7ff ? 0xe000 : code + 1)
  const end = start.slice(0, start.length - last.length) + next
  return `(sort_key >= ${parameter(start)} AND sort_key < ${parameter(end)})`
}
