import { compareCodePoints } from '../../fold.ts'
import { isByName, isDescending, type PlantOrder, type PlantQuery, type Position } from '../../plant-query.ts'
import { indexedWord, wordQuery } from '../search-terms.ts'

type Parameter = (value: unknown) => string

/** Plants among which those of a query are found, as a statement that a LIMIT may follow; `hit` tells which they are. */
export interface Source {
  /** Whether they come in any order; else in that of the query, from its position on. */
  readonly isSet: boolean
  /** Whether all are hits, so that no more than a page of them is needed. */
  readonly isExact: boolean
  /** @param more further columns, each behind a comma */
  text(parameter: Parameter, more?: string): string
}

/** The part of a tag that is indexed (sql/postgres/000001.sql), and the same of a tag that is asked for. */
export const TAG_KEY = 'left(tag, 128)'
const tagKey = (tag: string): string => (tag.length <= 128 ? tag : Array.from(tag).slice(0, 128).join(''))
/** PostgreSQL takes no U+0000. No plant has one, so only a made-up cursor holds it, which may lead anywhere. */
export const storableTags = (tags: readonly string[]): string[] =>
  [...new Set(tags)].filter((tag) => !tag.includes('\0'))
export const storable = (text: string): string => text.replaceAll('\0', '\u0001')

/** Words of a query for each of which the names that begin with it are walked through. */
const MAX_RANGES = 4
const COLUMNS = 'id, name, tag, sort_key'

export const ordering = (order: PlantOrder, table = ''): string =>
  columns(order)
    .map((column) => `${table}${column} ${isDescending(order) ? 'DESC' : 'ASC'}`)
    .join(', ')

const columns = (order: PlantOrder): string[] => (isByName(order) ? ['sort_key', 'id'] : ['id'])

/** The ways to the plants of a query. */
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

  /** Whether the walk meets plants that the query does not mean. */
  get isFiltered(): boolean {
    return this.#query.words.length > 0 || this.#tags.length > 1
  }

  /** Along the order: of the tag where there is one, else of all plants. */
  get walk(): Source {
    const { words } = this.#query
    return this.#walk(words.length === 0 ? undefined : wordQuery(words))
  }

  /** The query for each word alone, to learn how frequent it is. */
  get eachWord(): readonly string[] {
    const { words } = this.#query
    return words.length > 1 && words.length <= MAX_RANGES ? words.map((word) => wordQuery([word])) : []
  }

  /**
   * Each of these groups of sources leads to all plants of the query.
   *
   * @param isCommon for each word, whether so many plants have it that the index of words had better not be asked for it
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
    // Names that begin with a word stand together in their order, however many there are. The rest is a set.
    const ranges = words.map((_, i) =>
      this.#walk(wordQuery(words.filter((_, other) => other !== i)), words.slice(0, i + 1)),
    )
    const inParts = [this.#byWords(rare, common, true), ...ranges]
    return words.length === 1 ? [inParts, ...byTags] : [inParts, byWords, ...byTags]
  }

  /**
   * @param filter a tsquery for the plants that are hits
   * @param beginnings only names that begin with the last of these words and with none of the others
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
   * @param asked words that the index is asked for, and those that its plants are looked at for
   * @param isRest without the plants whose name begins with one of all words
   */
  #byWords(asked: readonly string[], others: readonly string[], isRest = false): Source {
    const text = (parameter: Parameter, more?: string) => {
      const conditions = [`words @@ ${parameter(wordQuery(asked, { first: !isRest }))}::tsquery`]
      // Both indexes say where their plants are, so only those in both are read.
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
    return after === undefined ? [] : [behind(order, after, parameter)]
  }
}

/** Without the words that others begin with: whatever has those has these. */
function withoutImplied(words: readonly string[]): string[] {
  const inOrder = [...new Set(words)].sort(compareCodePoints)
  // Words that begin with a word follow it at once.
  return inOrder.filter((word, i) => inOrder[i + 1]?.startsWith(word) !== true)
}

/** All plants of a query, by whatever index, however many there are. */
export function everything({ order, after, tags, words }: PlantQuery): { text: string; values: readonly unknown[] } {
  const values: unknown[] = []
  const parameter = (value: unknown) => `$${values.push(value)}`
  const conditions = words.length === 0 ? [] : [`words @@ ${parameter(wordQuery(words))}::tsquery`]
  if (tags.length > 0) conditions.push(...tagIsOneOf(storableTags(tags), parameter))
  if (after !== undefined) conditions.push(behind(order, after, parameter))
  // Without the OFFSET, they could be looked for along the order, which was tried.
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

export function behind(order: PlantOrder, { key, id }: Position, parameter: Parameter): string {
  const place = isByName(order) ? [parameter(storable(key)), parameter(id)] : [parameter(id)]
  return `(${columns(order).join(', ')}) ${isDescending(order) ? '<' : '>'} (${place.join(', ')})`
}

/** Whether a sort key begins with a word, as a range of its index. */
function beginsWith(word: string, parameter: Parameter): string {
  const start = indexedWord(word)
  const last = Array.from(start).at(-1) ?? ''
  const code = last.codePointAt(0) ?? 0
  // Behind the last letter before the surrogates comes the first one after them; no word holds U+10FFFF.
  const next = String.fromCodePoint(code === 0xd7ff ? 0xe000 : code + 1)
  const end = start.slice(0, start.length - last.length) + next
  return `(sort_key >= ${parameter(start)} AND sort_key < ${parameter(end)})`
}
