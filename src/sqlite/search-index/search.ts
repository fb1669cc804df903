import type { NewPlant } from '../../domain/plant.ts'
import {
  compareCodePoints,
  isByName,
  isDescending,
  isWord,
  matches,
  type PlantFilter,
  type PlantQuery,
  positionOf,
} from '../../domain/plant-query.ts'
import {
  type Candidates,
  candidates,
  firstByName,
  firstInOrder,
  firstOf,
  idsAfter,
  type KeyRange,
  type Search,
  scan,
} from '../lookup.ts'
import type { StatementCache } from '../rows.ts'
import { race, STEP, type Task } from '../worker/cooperative.ts'
import type { IndexView } from './index-file.ts'
import {
  AFTER_ALL,
  countedTags,
  idsByName,
  matchExpression,
  nameStart,
  type Places,
  truncate,
  UNTAGGED,
  unique,
  within,
} from './plant-index.ts'

/** Names that one step of a walk reads, in 0.4 of the time of a step of `firstByName`. */
const WALKED = 200
/** Where many plants match, the walk ends within these steps. Otherwise it mostly ends late, and takes fewer turns. */
const PROMPT_STEPS = 16
/** After PROMPT_STEPS, the walk takes every fourth turn. */
const PAUSES = [undefined, undefined, undefined]
/**
 * Ids that one query of the index reads, in 10 ms at most. Each query begins at the first id again, and merges the lists
 * of a long prefix again: with 1000 ids each, the word of 417,000 of five million plants took 0.5 s instead of 0.06 s.
 */
const MAX_IDS = 32_000
/** Ids of the first query. The plants that it finds bound the keys of the next ones. */
const FIRST_IDS = 1000
/** Ids that such a query reads in the time of a step of the walk. */
const IDS_OF_A_STEP = 2000
/** UTF-16 units of a list of a thousand ids, which one step compares in 2 ms. */
const LIST_LENGTH = 8000
/** Ids that the first round of `#byTags` reads for all tags together, and those that later rounds may add to it. */
const IDS_OF_ALL_TAGS = 2000
const MORE_IDS_OF_TAGS = 8000

/** Tags whose ids a search by id merges. Plants with one of more tags are many, and a walk finds a page of them. */
const MAX_MERGED = 500

interface TaggedSearch extends Search {
  /** As the index has them: `#tagsOf`. */
  readonly tags: readonly string[]
}

/** A query of the index for ids, whose parameters have the numbers from `first` on. */
interface IdQuery {
  readonly sql: (first: number) => string
  /** @param keys of the plants that it has to find */
  readonly values: (keys: KeyRange) => readonly string[]
}

const ANY_KEYS: KeyRange = { from: undefined, to: undefined }

/**
 * Finds plants by the search index, in the snapshots of both connections. It does not guess the best table of the
 * index: the candidates take turns until one has found the page. With n candidates this costs at most n times as much
 * as the best of them, if all turns take the same time. It verifies every plant before it returns it.
 */
export class PlantSearch {
  readonly #statements: StatementCache
  readonly #index: IndexView

  constructor(statements: StatementCache, index: IndexView) {
    this.#statements = statements
    this.#index = index
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
    const tags = this.#tagsOf(query)
    if (tags !== undefined && tags.length === 0) return []
    const search = { query, limit, isFound, tags: tags ?? [] }
    if (!isByName(query.order)) return yield* this.#byId(search)
    const isOneWord = query.words.length === 1 && tags === undefined
    return yield* isOneWord ? this.#byNameInParts(search) : this.#byName(search)
  }

  /** The tags in the index that a filter demands, as the index has them; undefined for a filter without any. */
  #tagsOf({ tags, tagPrefix, untagged }: PlantFilter): readonly string[] | undefined {
    if (untagged === true) return [UNTAGGED]
    if (tagPrefix === undefined) return tags.length === 0 ? undefined : unique(tags)
    const [condition, ...values] = countedTags({ tags, tagPrefix })
    const rows = this.#index.statements.all(`SELECT tag FROM tag_counts WHERE ${condition}`, ...values)
    return rows.map((row) => row[0] as string)
  }

  *#byId({ query, limit, isFound, tags }: TaggedSearch): Task<NewPlant[]> {
    const words = this.#ofWords({ ...query, tags })
    const isMany = tags.length > MAX_MERGED
    const sources = [
      ...(words === undefined ? [] : [this.#ids(words, query)]),
      ...(tags.length === 0 || isMany ? [] : [this.#byTags(query, tags)]),
    ]
    const plants = sources.map((ids, i) =>
      candidates(this.#statements, ids, query, { perStatement: STEP, name: `${i}` }),
    )
    if (isMany) plants.push(scan(this.#statements, query))
    return yield* race(plants.map((some) => firstOf(some, limit, isFound)))
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
    const { query, tags } = search
    const words = this.#ofWords({ ...query, tags }, places)
    const sources = [words === undefined ? [] : [words], tags.map(ofTag)].filter(({ length }) => length > 0)
    const tasks = sources.map((ids, i) =>
      firstByName(this.#statements, search, (keys) => this.#lists(ids, query, keys), `${i}`),
    )
    return race([...tasks, this.#walk(this.#names(search), search)])
  }

  /** Finds the first of these plants. @param ids in the order of the query */
  #walk(ids: Iterable<bigint>, { query, limit, isFound }: Search): Task<NewPlant[]> {
    const plants = candidates(this.#statements, ids, query, { perStatement: WALKED, name: 'walk' })
    return firstOf(patient(plants), limit, isFound)
  }

  /** Looks in the index for an id below 0 that matches an expression. Reads one row, as FTS5 finds them in order. */
  readonly #hasNegative = (expression: string): boolean =>
    this.#index.statements.get('SELECT 1 FROM words WHERE words MATCH ? AND rowid < 0 LIMIT 1', expression) !==
    undefined

  /** Returns a query for all plants that may match a filter by its words; undefined for a filter without words. */
  #ofWords(filter: PlantFilter, places?: Places): IdQuery | undefined {
    const expression = matchExpression(filter, this.#hasNegative, places)
    if (expression === undefined) return undefined
    return {
      sql: (first) => `SELECT rowid AS id FROM words WHERE words MATCH ?${first}`,
      values: (keys) => [within(expression, keys)],
    }
  }

  /** Yields the ids of a query, in the order of a search by id. */
  *#ids(ids: IdQuery, { order, after }: PlantQuery): Iterable<bigint> {
    const { condition, direction, values } = idsAfter(after?.id, order)
    const sql = `SELECT id FROM (${ids.sql(1)}) WHERE ${condition} ORDER BY id ${direction}`
    yield* this.#indexed(sql, ...ids.values(ANY_KEYS), ...values)
  }

  /**
   * Yields lists of the ids that queries find, in the order of names, and without those whose sort keys can't be in the
   * range. SQLite makes the lists in a third less time than ids one by one.
   */
  *#lists(queries: readonly IdQuery[], { order }: PlantQuery, keys: () => KeyRange): Iterable<string> {
    for (const ids of queries) {
      let after: bigint | null = null
      for (let count = FIRST_IDS; ; count = Math.min(MAX_IDS, count * 4)) {
        const range = keys()
        const [start = null, end = null] = [range.from, range.to].map((key) => key && nameStart(key))
        const row = this.#index.statements.get(
          `SELECT json_group_array(id ORDER BY start ${isDescending(order) ? 'DESC' : 'ASC'})
              FILTER (WHERE (start < ?2) IS NOT TRUE AND (start > ?3) IS NOT TRUE), count(*), max(id)
            FROM (SELECT id FROM (${ids.sql(4)}) WHERE ${after === null ? '?1 IS NULL' : 'id > ?1'} ORDER BY id LIMIT ${count})
              LEFT JOIN name_starts USING (id)`,
          after,
          start,
          end,
          ...ids.values(range),
        )
        yield* partsOf(String(row?.[0]))
        if (Number(row?.[1]) < count) break
        // The other ways of the race get as many steps as the query took.
        for (let ids = 0; ids < count; ids += IDS_OF_A_STEP) yield '[]'
        after = row?.[2] as bigint
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

const ofTag = (tag: string): IdQuery => ({
  sql: (first) => `SELECT id FROM tags WHERE tag = ?${first}`,
  values: () => [tag],
})

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
