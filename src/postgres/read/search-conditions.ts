import type { NewPlant } from '../../domain/plant.ts'
import {
  compareCodePoints,
  endOfPrefix,
  hasTagging,
  isByName,
  isDescending,
  type PlantFilter,
  type PlantOrder,
  type PlantQuery,
  type Position,
  positionOf,
  type TagFilter,
  wantedTags,
} from '../../domain/plant-query.ts'
import {
  indexedWord,
  lexemesOf,
  longerQuery,
  otherNamesQuery,
  prefixQuery,
  wholeQuery,
  wordQuery,
} from '../search-terms.ts'
import type { SearchStatistics } from './search-statistics.ts'

/** The number of plants with longer words from which a search looks up the prefix: it has to read them. */
const MAX_LONGER_PLANTS = 500
/** Maximum number of longer words. PostgreSQL compares each entry with those of all words. */
const MAX_LONGER = 8

/** Adds a value to the parameters of a statement. Returns its name, such as `$3`. */
export type Parameter = (value: unknown) => string

/** The tags that a plant can have: PostgreSQL refuses U+0000. */
export const storableTags = (tags: readonly string[]): string[] =>
  [...new Set(tags)].filter((tag) => !tag.includes('\0'))
/** Replaces U+0000, which PostgreSQL refuses. Only a forged cursor has it, and may lead to any position. */
export const storable = (text: string): string => text.replaceAll('\0', '\u0001')

export const ordering = (order: PlantOrder, table = ''): string =>
  columns(order)
    .map((column) => `${table}${column} ${isDescending(order) ? 'DESC' : 'ASC'}`)
    .join(', ')

const columns = (order: PlantOrder): ['id'] | ['sort_key', 'id'] => (isByName(order) ? ['sort_key', 'id'] : ['id'])

/**
 * The condition of a filter on tags; undefined for a filter without any. An index has the plants in the order of `id` and
 * of names where it is one tag, or none.
 */
export function tagging(filter: TagFilter, parameter: Parameter): string | undefined {
  const wanted = wantedTags(filter)
  if (wanted === undefined) return filter.untagged === true ? 'tag IS NULL' : undefined
  const { tags, prefixes } = wanted
  const all = prefixes.map((prefix) => tagRange(prefix, parameter))
  if (tags.length === 1) all.unshift(`tag = ${parameter(tags[0])}`)
  if (tags.length > 1) all.unshift(`tag = ANY (${parameter(tags)}::text[])`)
  return all.length > 1 ? `(${all.join(' OR ')})` : (all[0] ?? 'false')
}

/** The conditions of a filter. The index of words may add a few plants that do not match. */
export function conditionsOf({ words, tags, ...filter }: PlantFilter, parameter: Parameter): string[] {
  const tagged = tagging({ ...filter, tags: storableTags(tags) }, parameter)
  const conditions = [tagged ?? (tags.length > 0 ? 'false' : [])].flat()
  if (words.length > 0) conditions.push(`words @@ ${parameter(wordQuery(words))}::tsquery`)
  return conditions
}

/** The condition of a tag that begins with a text. */
function tagRange(prefix: string, parameter: Parameter): string {
  const end = endOfPrefix(prefix)
  const until = end === undefined ? '' : ` AND tag < ${parameter(storable(end))}`
  return `tag >= ${parameter(storable(prefix))}${until}`
}

export function isAfter(order: PlantOrder, { key, id }: Position, parameter: Parameter): string {
  const values = isByName(order) ? [parameter(storable(key)), parameter(id)] : [parameter(id)]
  return `(${columns(order).join(', ')}) ${isDescending(order) ? '<' : '>'} (${values.join(', ')})`
}

/**
 * A condition that the index of words answers: plants with all of these words as prefixes, and perhaps others.
 *
 * PostgreSQL reads the entries of a prefix in five times the time of those of a word, as it collects and sorts them
 * first. So for a word that many plants have, the statement lists the longer words of the plants that have one. If these
 * are few, it searches for exactly this word and those. Both are in one statement, and so in one snapshot.
 *
 * @param frequent words for which the statement does that
 * @param starts leaves out the plants whose first word begins with one of these, and has a mark
 */
export function hasWords(
  words: readonly string[],
  frequent: ReadonlySet<string>,
  parameter: Parameter,
  withFirst: boolean,
  starts: readonly string[],
): string {
  const asked = words.filter((word) => frequent.has(word))
  const queries = asked.map((word) => wholeOrPrefix(word, parameter, withFirst))
  const others = words.filter((word) => !frequent.has(word))
  if (others.length > 0) queries.push(parameter(wordQuery(others, withFirst)))
  if (starts.length > 0) queries.push(parameter(otherNamesQuery(starts)))
  const all = queries.map((query) => `(${query})::tsquery`).join(' && ')
  return `words @@ (${all})`
}

/** Selects a tsquery for the words with a prefix: by each word if they are few, and else by the prefix. */
function wholeOrPrefix(word: string, parameter: Parameter, withFirst: boolean): string {
  const [longer, prefix, whole] = [longerQuery, prefixQuery, wholeQuery].map((of) => parameter(of(word, withFirst)))
  const bound = parameter(MAX_LONGER_PLANTS)
  const starts = lexemesOf(indexedWord(word), withFirst).map((start) => `starts_with(lexeme, ${parameter(start)})`)
  // With a bound that it does not know, the planner uses the index of words. All listed plants count against the bound,
  // also those of which only a first word is longer.
  return `SELECT CASE WHEN plants < ${bound} AND count <= ${MAX_LONGER} THEN ${whole} || more ELSE ${prefix} END
    FROM (SELECT count(DISTINCT id) AS plants, count(DISTINCT lexeme) AS count,
        coalesce(string_agg(DISTINCT ' | ''' || lexeme || '''', ''), '') AS more
      FROM (SELECT id, words FROM plants WHERE words @@ ${longer}::tsquery LIMIT ${bound}) AS longer
        LEFT JOIN LATERAL unnest(words) ON ${starts.join(' OR ')}) AS found`
}

/** A condition for a sort key, as a range of the index of names. */
const isIn = ({ start, end }: ReturnType<typeof rangeOf>, parameter: Parameter): string =>
  `(sort_key >= ${parameter(start)} AND sort_key < ${parameter(end)})`

/** The texts that begin with a word: from `start` on, and before `end`. */
function rangeOf(word: string): { start: string; end: string } {
  const start = indexedWord(word)
  const last = Array.from(start).at(-1) ?? ''
  const code = last.codePointAt(0) ?? 0
  // U+D800 to U+DFFF are surrogates, which text can't hold. No word contains U+10FFFF.
  const next = String.fromCodePoint(code === 0xd7ff ? 0xe000 : code + 1)
  return { start, end: start.slice(0, start.length - last.length) + next }
}

/** Maximum number of starts of a Within. PostgreSQL compares each entry of the words with all of them. */
const MAX_STARTS = 12

/** The names of a query by name up to one of its plants, as the statement of a set selects them. */
export interface Within {
  readonly last: Position
  /** The first characters of the last name and of those behind it: most plants have them in the mark of a first word. */
  readonly starts: readonly string[]
  /** The names up to the last one that begin with the same character. */
  readonly range: ReturnType<typeof rangeOf>
}

/** Maximum number of words for which one statement asks whether any plant has a longer word. */
const MAX_FREQUENT = 4

/** The plants that statements of a query read, as SELECTs with a column `hit`, which marks the plants of the query. */
export class Sources {
  /** The query without words that are prefixes of others. */
  readonly query: PlantQuery
  /** What the query demands of tags, as far as a plant can have it. */
  readonly #tagging: TagFilter
  readonly #frequent: ReadonlySet<string>

  constructor(query: PlantQuery, statistics: SearchStatistics) {
    const words = withoutImplied(query.words)
    this.query = { ...query, words }
    this.#frequent = new Set(words.filter((word) => statistics.isFrequent(word)).slice(0, MAX_FREQUENT))
    const { tagPrefix, untagged, part } = query
    this.#tagging = { tags: storableTags(query.tags), tagPrefix, untagged, part }
  }

  /** Whether no plant can have any of the tags. */
  get isEmpty(): boolean {
    const { tags, tagPrefix = '' } = this.query
    const { tags: own, prefixes } = wantedTags(this.#tagging) ?? { tags: [''], prefixes: [] }
    const hasNone = own.length === 0 && prefixes.length === 0
    return hasNone || (tags.length > 0 && this.#tagging.tags.length === 0) || tagPrefix.includes('\0')
  }

  /** Plants from the position on, in the order of the query's only tag, or else of all plants. */
  walk(parameter: Parameter): string {
    const { words } = this.query
    const conditions = this.#path(parameter)
    const hits = words.length === 0 ? [] : [`words @@ ${parameter(wordQuery(words))}::tsquery`]
    if (!this.isOneTag) hits.push(...this.#tagged(parameter))
    return `${select(conditions, hits)} ORDER BY ${ordering(this.query.order)}`
  }

  path(parameter: Parameter): string {
    return `SELECT id FROM plants ${where(this.#path(parameter))} ORDER BY ${ordering(this.query.order)}`
  }

  /**
   * All plants of the query, apart from those in `range`, in any order.
   *
   * @param within leaves out most plants with other names, and none with these
   */
  set(parameter: Parameter, within?: Within): string {
    const { words } = this.query
    const word = this.#firstWord
    const hits = this.#position(parameter)
    if (words.length === 0) return select(this.#tagged(parameter), hits)
    const matching = (starts: readonly string[]) =>
      hasWords(words, this.#frequent, parameter, word === undefined, starts)
    // PostgreSQL unites the entries of both before it reads plants.
    const conditions = [
      within === undefined
        ? matching([])
        : `(${matching(within.starts)} OR ${matching([])} AND ${isIn(within.range, parameter)})`,
    ]
    // PostgreSQL intersects both indexes before it reads plants. Of plants without a tag it would read all, by the index
    // that has their order, so it must not see that the condition fits that index.
    conditions.push(...(this.#tagging.untagged === true ? ['num_nulls(tag) = 1'] : this.#tagged(parameter)))
    if (word !== undefined) hits.push(`NOT ${isIn(rangeOf(word), parameter)}`)
    return select(conditions, hits)
  }

  /**
   * Returns the names up to the last one of a page that some plants of the set fill; undefined where that saves no time.
   *
   * @param starts the first characters of the names of the set
   */
  within(page: readonly NewPlant[], starts: string): Within | undefined {
    const { order, words } = this.query
    const plant = page.at(-1)
    const last = plant && positionOf(order, plant)
    // The key is empty by id.
    const [own] = /^[a-z0-9]/.exec(last?.key ?? '') ?? []
    if (last === undefined || own === undefined || words.length === 0) return undefined
    const behind =
      starts.match(/[a-z0-9]/g)?.filter((start) => (isDescending(order) ? start <= own : start >= own)) ?? []
    if (behind.length === 0 || behind.length > MAX_STARTS) return undefined
    const { start, end } = rangeOf(own)
    const range = isDescending(order) ? { start: last.key, end } : { start, end: `${last.key}\u0001` }
    return { last, starts: behind, range }
  }

  /** The plants whose names begin with the only word: a range of the order by name. All of them are hits. */
  range(parameter: Parameter): string | undefined {
    const word = this.#firstWord
    if (word === undefined) return undefined
    const conditions = [...this.#path(parameter), isIn(rangeOf(word), parameter)]
    return `${select(conditions, [])} ORDER BY ${ordering(this.query.order)}`
  }

  get #firstWord(): string | undefined {
    const { order, words } = this.query
    const isPath = this.isOneTag || !hasTagging(this.#tagging)
    return isByName(order) && words.length === 1 && isPath ? words[0] : undefined
  }

  #path(parameter: Parameter): string[] {
    return [...(this.isOneTag ? this.#tagged(parameter) : []), ...this.#position(parameter)]
  }

  /** Whether an index has the plants with the tag of the query, or without one, in the order of the query. */
  get isOneTag(): boolean {
    return this.#tagging.tags.length === 1 || this.#tagging.untagged === true
  }

  #tagged(parameter: Parameter): string[] {
    return [tagging(this.#tagging, parameter) ?? []].flat()
  }

  #position(parameter: Parameter): string[] {
    const { order, after } = this.query
    return after === undefined ? [] : [isAfter(order, after, parameter)]
  }
}

/** Leaves out words that are prefixes of others: a plant with the longer word has the shorter one too. */
function withoutImplied(words: readonly string[]): string[] {
  const inOrder = [...new Set(words)].sort(compareCodePoints)
  // In this order, the words that begin with a word follow it directly.
  return inOrder.filter((word, i) => inOrder[i + 1]?.startsWith(word) !== true)
}

function select(conditions: readonly string[], hits: readonly string[]): string {
  const hit = hits.length === 0 ? 'true' : hits.join(' AND ')
  return `SELECT id, name, tag, sort_key, ${hit} AS hit FROM plants ${where(conditions)}`
}

export const where = (conditions: readonly string[]): string =>
  conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`
