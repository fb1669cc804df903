import type { NewPlant } from '../../domain/plant.ts'
import {
  compareCodePoints,
  isByName,
  isDescending,
  isWord,
  matches,
  type PlantFilter,
  type PlantQuery,
  type Position,
  positionOf,
  wantedTags,
} from '../../domain/plant-query.ts'
import {
  type Candidates,
  candidates,
  firstInOrder,
  firstOf,
  firstOfLists,
  idsAfter,
  type PositionRange,
  type Search,
  scan,
} from '../lookup.ts'
import type { StatementCache } from '../rows.ts'
import { race, STEP, type Task } from '../worker/cooperative.ts'
import type { IndexView } from './index-file.ts'
import { type Entry, GREATEST_ID, type IdQuery, type IndexQueries, LEAST_ID } from './index-queries.ts'
import { idsByName, nameStart, truncate } from './name-index.ts'
import {
  AFTER_ALL,
  type Expression,
  matchExpression,
  type Places,
  rangeOf,
  rangeOfPrefix,
  type TagRange,
  UNTAGGED,
  unique,
} from './plant-index.ts'

/** Names that one step of a walk reads, in 0.4 of the time of a step of `firstByName`. */
const WALKED = 200
/** Where many plants match, the walk ends within these steps. Otherwise it mostly ends late, and takes fewer turns. */
const PROMPT_STEPS = 16
/** After PROMPT_STEPS, the walk takes every fourth turn. */
const PAUSES = [undefined, undefined, undefined]
/**
 * Ids that one query of the index reads, in 3 ms. Each query merges the lists of a long prefix again: with 1000 ids each,
 * the word of 417,000 of five million plants took 0.5 s instead of 0.06 s.
 */
const MAX_IDS = 6000
/** Ids of the first query. The plants that it finds bound the keys of the next ones. */
const FIRST_IDS = 1000
/** Ids that such a query reads in the time of a step of the walk. */
const IDS_OF_A_STEP = 2000
/** UTF-16 units of a list of a thousand ids, which one step compares in 2 ms. */
const LIST_LENGTH = 8000
/** Ids that the first round of `#byTags` reads for all tags together, and those that later rounds may add to it. */
const IDS_OF_ALL_TAGS = 2000
const MORE_IDS_OF_TAGS = 8000

/** Tags whose ids a search by id merges, each by a statement of its own. */
const MAX_MERGED = 500

/** Ids of several words that a step looks up, in a millisecond. */
const IDS_OF_A_LIST = 1000
/** What a filter demands of tags. */
interface Tagged {
  /** All entries that it demands. A prefix may have any number of tags, so no step reads them all. */
  readonly ranges: readonly TagRange[]
  /** The tags in the index; one more than MAX_MERGED of a prefix with more. */
  readonly tags: readonly string[]
}

interface TaggedSearch extends Search, Tagged {}

/**
 * Finds plants by the search index, in the snapshots of both connections. It does not guess the best table of the
 * index: the candidates take turns until one has found the page. With n candidates this costs at most n times as much
 * as the best of them, if all turns take the same time. It verifies every plant before it returns it.
 */
export class PlantSearch {
  readonly #statements: StatementCache
  readonly #index: IndexView
  readonly #queries: IndexQueries

  constructor(statements: StatementCache, index: IndexView, queries: IndexQueries) {
    this.#statements = statements
    this.#index = index
    this.#queries = queries
  }

  /**
   * Finds the first indexed plants that match the query, which has words or tags, or is by name.
   *
   * @param unindexed plants to leave out, because the index may have an old state of them
   */
  *find(query: PlantQuery, limit: number, unindexed: ReadonlySet<bigint>): Task<NewPlant[]> {
    // No plant has other words, and an expression must not contain other characters.
    if (!query.words.every(isWord)) return []
    const isFound = (plant: NewPlant) => !unindexed.has(plant.id) && matches(query, plant)
    const tagged = this.#tagged(query)
    if (tagged !== undefined && tagged.tags.length === 0) return []
    const search = { query, limit, isFound, ...(tagged ?? { ranges: [], tags: [] }) }
    if (!isByName(query.order)) return yield* this.#byId(search)
    const isOneWord = query.words.length === 1 && tagged === undefined
    return yield* isOneWord ? this.#byNameInParts(search) : this.#byName(search)
  }

  /** Returns undefined for a filter that demands nothing of tags. */
  #tagged(filter: PlantFilter): Tagged | undefined {
    const wanted = wantedTags(filter)
    const none = filter.untagged === true ? [UNTAGGED] : undefined
    const own = wanted === undefined ? none : unique(wanted.tags)
    if (own === undefined) return undefined
    const further = wanted?.prefixes.map(rangeOfPrefix) ?? []
    const tags = [...own]
    for (const range of further) {
      const sql = `SELECT tag FROM tag_counts WHERE tag >= ? AND tag < ? LIMIT ${MAX_MERGED + 1}`
      if (tags.length <= MAX_MERGED)
        tags.push(...this.#index.statements.all(sql, range.from, range.before).map((row) => row[0] as string))
    }
    return { ranges: [...own.map(rangeOf), ...further], tags }
  }

  /** Finds the first plants by id: by words and tags in this order, or by all entries of many tags and a walk. */
  *#byId(search: TaggedSearch): Task<NewPlant[]> {
    const { query, limit, isFound, tags } = search
    const expression = this.#expression(search)
    const isMany = tags.length > MAX_MERGED
    const sources = [
      ...(expression === undefined ? [] : [this.#queries.ids(expression, query)]),
      ...(tags.length === 0 || isMany ? [] : [this.#byTags(query, tags)]),
    ]
    const plants = sources.map((ids, i) =>
      candidates(this.#statements, ids, query, { perStatement: STEP, name: `${i}` }),
    )
    if (isMany) plants.push(scan(this.#statements, query))
    const tasks = plants.map((some) => firstOf(some, limit, isFound))
    if (isMany)
      tasks.push(
        this.#firstOf(
          search.ranges.map((range) => this.#queries.ofTags(range)),
          search,
        ),
      )
    return yield* race(tasks)
  }

  /**
   * Finds the first plants by name with one word. Names that begin with it are adjacent in the index of names, and most
   * plants with the name of a genus have it there; the others are found as for several words.
   */
  *#byNameInParts(search: TaggedSearch): Task<NewPlant[]> {
    const { query, limit } = search
    const range = yield* this.#walk(this.#namesFrom(query, truncate(query.words[0] ?? '')), search)
    const last = range.length >= limit ? range.at(-1) : undefined
    const end = last && positionOf(query.order, last)
    const others = yield* this.#byName({ ...search, end }, 'behind the first')
    const plants = new Map([...range, ...others].map((plant) => [plant.id, plant]))
    return firstInOrder([...plants.values()], query.order, limit)
  }

  /** Finds the first plants by name, by the index of words and of tags, and by a walk through the names. */
  #byName(search: TaggedSearch, places?: Places): Task<NewPlant[]> {
    const expression = this.#expression(search, places)
    const tasks = [this.#walk(this.#names(search), search)]
    if (search.ranges.length > 0)
      tasks.unshift(
        this.#firstOf(
          search.ranges.map((range) => this.#queries.ofTags(range)),
          search,
        ),
      )
    if (expression?.words === 1) tasks.unshift(this.#firstOf([this.#queries.ofWord(expression)], search, 'words'))
    else if (expression !== undefined) {
      tasks.unshift(firstOfLists(this.#statements, search, () => this.#listsOfAll(expression), 'words'))
    }
    return race(tasks)
  }

  #firstOf(queries: readonly IdQuery[], search: Search, name?: string): Task<NewPlant[]> {
    return firstOfLists(this.#statements, search, (range) => this.#lists(queries, search.query, range), name)
  }

  /** Finds the first of these plants. @param ids in the order of the query */
  #walk(ids: Iterable<bigint>, { query, limit, isFound }: Search): Task<NewPlant[]> {
    const plants = candidates(this.#statements, ids, query, { perStatement: WALKED, name: 'walk' })
    return firstOf(patient(plants), limit, isFound)
  }

  #expression({ query, tags }: TaggedSearch, places?: Places): Expression | undefined {
    return matchExpression({ ...query, tags }, this.#queries.terms, places)
  }

  /**
   * Yields lists of the ids that an expression of several words finds. Unlike `#lists` it reads on in one query, as the
   * next one would seek the place of each word again.
   */
  *#listsOfAll(expression: Expression): Iterable<string> {
    let list: bigint[] = []
    let end = this.#queries.endOfMarks(LEAST_ID)
    for (const id of this.#queries.ids(expression, { order: 'id', after: undefined })) {
      if (list.push(id) < IDS_OF_A_LIST && id < end) continue
      yield `[${list.join()}]`
      list = []
      if (id >= end && id < GREATEST_ID) end = this.#queries.endOfMarks(id + 1n)
    }
    yield `[${list.join()}]`
  }

  /**
   * Yields lists of the ids that queries find, in the order of names or of ids, and without those that can't be in the
   * range. SQLite makes the lists in a third less time than ids one by one.
   */
  *#lists(queries: readonly IdQuery[], { order }: PlantQuery, range: () => PositionRange): Iterable<string> {
    const [place, join] = isByName(order) ? ['start', 'LEFT JOIN name_starts USING (id)'] : ['id', '']
    const at = (end: Position | undefined) => end && (isByName(order) ? nameStart(end.key) : end.id)
    for (const ids of queries) {
      let from: Entry | undefined
      for (let count = FIRST_IDS; ; count = Math.min(MAX_IDS, count * 4)) {
        const wanted = range()
        const part = ids.part(from, count, wanted)
        const row = this.#index.statements.get(
          `SELECT json_group_array(id ORDER BY ${place} ${isDescending(order) ? 'DESC' : 'ASC'})
              FILTER (WHERE (${place} < ?1) IS NOT TRUE AND (${place} > ?2) IS NOT TRUE), count(*), max(id)
            FROM (${part.sql}) ${join}`,
          at(wanted.from) ?? null,
          at(wanted.to) ?? null,
          ...part.values,
        )
        yield* partsOf(String(row?.[0]))
        from = part.next(Number(row?.[1]), row?.[2] as bigint)
        if (from === undefined) break
        // The other ways of the race get as many steps as the query took.
        for (let ids = 0; ids < count; ids += IDS_OF_A_STEP) yield '[]'
      }
    }
  }

  /** Yields the ids of all names, in the query's order, up to its end. */
  *#names({ query: { order, after }, end }: Search): Iterable<bigint> {
    const [sign, direction] = isDescending(order) ? (['<', 'DESC'] as const) : (['>', 'ASC'] as const)
    const values = [...(end === undefined ? [] : [end.key]), ...(after === undefined ? [] : [after.key, after.id])]
    const until = end === undefined ? '' : ` AND key ${isDescending(order) ? '>=' : '<='} ?1`
    const from = after === undefined ? 'TRUE' : `(key, id) ${sign} (?${values.length - 1}, ?${values.length})`
    yield* this.#indexed(idsByName(from + until, direction), ...values)
  }

  /** Yields the ids of the names that begin with a text, in the query's order. */
  *#namesFrom({ order, after }: PlantQuery, word: string): Iterable<bigint> {
    const end = word + AFTER_ALL
    // SQLite seeks one bound of each side, so the nearer one.
    if (isDescending(order)) {
      const isWithin = after !== undefined && compareCodePoints(after.key, end) < 0
      const condition = `key >= ?1 AND ${isWithin ? '(key, id) < (?2, ?3)' : 'key < ?2'}`
      yield* this.#indexed(idsByName(condition, 'DESC'), word, ...(isWithin ? [after.key, after.id] : [end]))
    } else {
      const isWithin = after !== undefined && compareCodePoints(after.key, word) >= 0
      const condition = `key < ?1 AND ${isWithin ? '(key, id) > (?2, ?3)' : 'key >= ?2'}`
      yield* this.#indexed(idsByName(condition, 'ASC'), end, ...(isWithin ? [after.key, after.id] : [word]))
    }
  }

  /**
   * Merges the ids of several tags. It reads some ids of each tag, and more where they were used up first: a frequent tag
   * would otherwise take a round, and a look at all others, for each few of its ids.
   */
  *#byTags({ order, after }: PlantQuery, tags: readonly string[]): Iterable<bigint> {
    const compare = (a: bigint, b: bigint) => (isDescending(order) === a > b ? -1 : 1)
    const count = Math.max(16, Math.trunc(IDS_OF_ALL_TAGS / tags.length))
    let parts = tags.map((tag) => ({ tag, count, ids: [] as bigint[], last: after?.id }))
    for (let more = MORE_IDS_OF_TAGS; parts.length > 0; ) {
      for (const part of parts.filter(({ ids }) => ids.length === 0)) {
        const { condition, direction, values } = idsAfter(part.last, order)
        const sql = `SELECT id FROM tags WHERE tag = ? AND ${condition} ORDER BY id ${direction} LIMIT ?`
        const rows = this.#index.statements.all(sql, part.tag, ...values, part.count)
        part.ids = rows.map((row) => row[0] as bigint)
        part.last = part.ids.length < part.count ? undefined : part.ids.at(-1)
        const extra = Math.min(part.count, more)
        part.count += extra
        more -= extra
      }
      // Ids after the first end of a part that goes on may still lack others before them.
      const [end] = parts.flatMap(({ last }) => last ?? []).sort(compare)
      const isReady = (id: bigint) => end === undefined || id === end || compare(id, end) < 0
      yield* parts.flatMap(({ ids }) => ids.filter(isReady)).sort(compare)
      for (const part of parts) part.ids = part.ids.filter((id) => !isReady(id))
      parts = parts.filter(({ ids, last }) => ids.length > 0 || last !== undefined)
    }
  }

  *#indexed(sql: string, ...values: (string | bigint)[]): Iterable<bigint> {
    for (const { 0: id } of this.#index.statements.iterate(sql, ...values)) yield id as bigint
  }
}

/** Has a task yield more often after its first steps. */
function* patient(plants: Candidates): Candidates {
  let steps = 0
  for (const plant of plants) {
    yield plant
    if (plant === undefined && ++steps > PROMPT_STEPS) yield* PAUSES
  }
}

function* partsOf(ids: string): Iterable<string> {
  for (let start = 1, end = start; end < ids.length - 1; start = end + 1) {
    const comma = ids.indexOf(',', start + LIST_LENGTH)
    end = comma < 0 ? ids.length - 1 : comma
    yield `[${ids.slice(start, end)}]`
  }
}
