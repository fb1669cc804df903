import { compareCodePoints } from '../../domain/fold.ts'
import { isByName, type PlantQuery } from '../../domain/plant-query.ts'
import { wordQuery } from '../search-terms.ts'
import {
  beginsWith,
  hasWords,
  isAfter,
  isInWindow,
  ordering,
  type Parameter,
  storableTags,
  tagIs,
  tagIsOneOf,
} from './search-conditions.ts'
import type { SearchStatistics } from './search-statistics.ts'

/** A SELECT of plants whose column `hit` marks the plants of a query. A LIMIT may follow its text. */
export interface Source {
  /** Whether the plants come in any order. Other sources follow the order of the query, from its position on. */
  readonly isSet: boolean
  /** Whether all plants are hits, so that one page is enough. */
  readonly isExact: boolean
  /** Returns the SELECT. @param more further columns, each after a comma */
  text(parameter: Parameter, more?: string): string
}

/** A source in the order of the query, from its position on. */
export interface Walk extends Source {
  readonly isSet: false
  /** Selects the ids of the plants that the walk reads. An OFFSET may follow it. */
  path(parameter: Parameter): string
}

/** Sources that together find all plants of a query, or all of them in a window. */
export interface SourceGroup {
  readonly sources: readonly Source[]
  /** Whether the sources read only a window: the plants up to the position in the table `edge`. */
  readonly isWindowed: boolean
}

/** Maximum number of words in a query that is searched by ranges of the index of names. */
const MAX_RANGES = 4
/** Maximum number of words for which one statement asks whether any plant has a longer word. */
const MAX_FREQUENT = 4

/** Makes the sources for the plants of a query. */
export class Sources {
  readonly #query: PlantQuery
  readonly #tags: readonly string[]
  /** The words to look up in the index of words, and the other words. */
  #asked: readonly string[]
  #others: readonly string[] = []
  /** Words that many plants have. */
  readonly #frequent: ReadonlySet<string>

  constructor(query: PlantQuery, statistics: SearchStatistics) {
    this.#query = { ...query, words: withoutImplied(query.words) }
    this.#frequent = new Set(this.#query.words.filter((word) => statistics.isFrequent(word)).slice(0, MAX_FREQUENT))
    this.#tags = storableTags(query.tags)
    this.#asked = this.#query.words
  }

  /** Whether no plant can have any of the tags. */
  get isEmpty(): boolean {
    return this.#query.tags.length > 0 && this.#tags.length === 0
  }

  /** The query without words that are prefixes of others. */
  get query(): PlantQuery {
    return this.#query
  }

  /** A walk in the order of the query's only tag, or else in the order of all plants. */
  get walk(): Walk {
    const { words } = this.#query
    return this.#walk(words.length === 0 ? undefined : wordQuery(words))
  }

  /** A tsquery for each word alone, by which the search counts the plants with the word. */
  get eachWord(): readonly string[] {
    const { words } = this.#query
    return words.length > 1 && words.length <= MAX_RANGES ? words.map((word) => wordQuery([word])) : []
  }

  /** Limits the look-ups in the index of words to these words of the query. Sources check plants for the others. */
  ask(words: readonly string[]): void {
    this.#asked = words
    this.#others = this.#query.words.filter((word) => !words.includes(word))
  }

  /** The plants with the words, by the index of words. */
  byWords(isWindowed = false): SourceGroup[] {
    return this.#query.words.length === 0 ? [] : [{ sources: [this.#byWords({ isWindowed })], isWindowed }]
  }

  /**
   * The plants with the words, in the order of names: the names that begin with a word are a range of the order. The
   * other plants are a set.
   */
  inParts(isWindowed = false): SourceGroup[] {
    const { order, words } = this.#query
    if (!isByName(order) || words.length === 0 || words.length > MAX_RANGES) return []
    const ranges = words.map((_, i) => {
      const filter = wordQuery(words.filter((_, other) => other !== i))
      return this.#walk(filter, { beginnings: words.slice(0, i + 1), isWindowed })
    })
    return [{ sources: [this.#byWords({ isWindowed, isRest: true }), ...ranges], isWindowed }]
  }

  /** The plants with one of several tags. */
  byTags(): SourceGroup[] {
    return this.#tags.length > 1 ? [{ sources: [this.#byTags()], isWindowed: false }] : []
  }

  /**
   * @param filter a tsquery that all hits match
   * @param beginnings words: all hits begin with the last of them, and with none of the others
   */
  #walk(
    filter: string | undefined,
    { beginnings = [], isWindowed = false }: { beginnings?: readonly string[]; isWindowed?: boolean } = {},
  ): Walk {
    const conditionsOf = (parameter: Parameter): string[] => {
      const word = beginnings.at(-1)
      return [
        ...(this.#tags.length === 1 ? tagIs(this.#tags[0] ?? '', parameter) : []),
        ...(word === undefined ? [] : [beginsWith(word, parameter)]),
        ...(isWindowed ? isInWindow(this.#query, parameter) : []),
        ...this.#position(parameter),
      ]
    }
    const order = ` ORDER BY ${ordering(this.#query.order)}`
    const text = (parameter: Parameter, more?: string) => {
      const conditions = conditionsOf(parameter)
      const hits = beginnings.slice(0, -1).map((other) => `NOT ${beginsWith(other, parameter)}`)
      if (filter !== undefined && filter !== '') hits.push(`words @@ ${parameter(filter)}::tsquery`)
      if (this.#tags.length > 1) hits.push(`tag = ANY (${parameter(this.#tags)}::text[])`)
      return `${select(conditions, hits, more)}${order}`
    }
    const path = (parameter: Parameter) => `SELECT id FROM plants ${where(conditionsOf(parameter))}${order}`
    const isExact = (filter === undefined || filter === '') && beginnings.length < 2 && this.#tags.length < 2
    return { isSet: false, isExact, text, path }
  }

  /** @param isRest whether to leave out the plants whose names begin with one of the words */
  #byWords({ isWindowed, isRest = false }: { isWindowed: boolean; isRest?: boolean }): Source {
    const text = (parameter: Parameter, more?: string) => {
      const conditions = [hasWords(this.#asked, this.#frequent, parameter, { first: !isRest })]
      // PostgreSQL intersects both indexes before it reads plants.
      if (this.#tags.length > 0) conditions.push(...tagIsOneOf(this.#tags, parameter))
      if (isWindowed) conditions.push(...isInWindow(this.#query, parameter))
      const hits = this.#position(parameter)
      if (this.#others.length > 0)
        hits.push(`words @@ ${parameter(wordQuery(this.#others, { first: !isRest }))}::tsquery`)
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
  // In this order, the words that begin with a word follow it directly.
  return inOrder.filter((word, i) => inOrder[i + 1]?.startsWith(word) !== true)
}

function select(conditions: readonly string[], hits: readonly string[], more = ''): string {
  const hit = hits.length === 0 ? 'true' : hits.join(' AND ')
  return `SELECT id, name, tag, sort_key, ${hit} AS hit${more} FROM plants ${where(conditions)}`
}

const where = (conditions: readonly string[]): string =>
  conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`
