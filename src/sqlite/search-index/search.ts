import { type NewPlant, textLength } from '../../domain/plant.ts'
import {
  compareCodePoints,
  comparePositions,
  isByName,
  isDescending,
  MAX_WORDS_TEXT,
  matches,
  type PlantQuery,
  type Position,
  positionOf,
} from '../../domain/plant-query.ts'
import { candidates, FirstByName, type KeyRange, listsOf, partsOf } from '../read/lookup.ts'
import { type PageLimit, plantOf, ResultPage, type StatementCache } from '../rows.ts'
import { race, STEP, type Task, Turn } from '../worker/cooperative.ts'
import type { IndexView } from './index-file.ts'
import {
  AFTER_ALL,
  idsByName,
  isExact,
  matchExpression,
  nameStart,
  negativeIn,
  type Places,
  truncate,
  WIDE_EXPRESSION,
  wideRanges,
} from './plant-index.ts'

/** Names that one step of `#inOrder` reads, in 0.4 of the time of a step of FirstByName. */
const WALKED = 200
/** Where many plants match, the walk ends within these steps. Otherwise it mostly ends late, and takes fewer turns. */
const PROMPT_STEPS = 16
/** After PROMPT_STEPS, the walk takes one turn of this many. */
const TURNS_OF_A_STEP = 4
/**
 * Ids that one query of the index reads, in 10 ms at most. Each query begins at the first id again, and merges the lists
 * of a long prefix again: with 1000 ids each, the word of 417,000 of five million plants took 0.5 s instead of 0.06 s.
 */
const MAX_IDS = 32_000
/** Ids of the first query. The plants that it finds bound the keys of the next ones. */
const FIRST_IDS = 1000
/** Ids that such a query reads in the time of a step of the walk. */
const IDS_OF_A_STEP = 2000
/** Whether the wide plant of a row of `words` has a word in a range. SQLite makes a join of EXISTS, without MATCH. */
const HAS_WIDE =
  '(SELECT 1 FROM wide_words WHERE plant = words.rowid AND term >= ? AND term < ? LIMIT 1) IS NOT NULL AND '
/** Ids that one round of `byTags` reads for all tags together. */
const IDS_OF_ALL_TAGS = 2000

/**
 * Finds plants by the search index, in the snapshots of both connections. It does not guess the best table of the
 * index: the candidates take turns until one has found the page. With n candidates this costs at most n times as much
 * as the best of them, if all turns take the same time. The walk in the order of names has shorter turns, and fewer
 * after its first steps. It verifies every plant before it returns it.
 */
export class PlantSearch {
  readonly #statements: StatementCache
  readonly #index: IndexView

  constructor(statements: StatementCache, index: IndexView) {
    this.#statements = statements
    this.#index = index
  }

  /**
   * Finds the first indexed plants that match the query. A query by id without a filter needs no index.
   *
   * @param unindexed plants to leave out, because the index may have an old state of them
   */
  find(query: PlantQuery, limit: PageLimit, unindexed: ReadonlySet<bigint>): Task<ResultPage> {
    const isFiltered = query.tags.length + query.words.length > 0
    const verified = (ids: Iterable<bigint>) => this.#verified(without(unindexed, ids), query, limit)
    if (!isByName(query.order)) {
      if (!isFiltered) return this.#page(query, limit)
      const sources = this.#filtered(query)
      return race((sources.length > 0 ? sources : [this.all(query)]).map(verified))
    }
    if (!isFiltered) return verified(this.#names(query))
    return query.words.length === 1 && query.tags.length === 0
      ? this.#inParts(query, limit, unindexed)
      : this.#byName(query, limit, unindexed)
  }

  /**
   * Finds the first plants by name with one word. Names that begin with it are adjacent in the index of names, and most
   * plants with the name of a genus have it there; the others are found as for several words.
   */
  *#inParts(query: PlantQuery, limit: PageLimit, unindexed: ReadonlySet<bigint>): Task<ResultPage> {
    const [word = ''] = query.words
    const range = yield* this.#inOrder(this.#namesFrom(query, truncate(word)), query, limit, unindexed)
    const position = (plant: NewPlant) => ({ plant, ...positionOf(query.order, plant) })
    const last = range.isFull ? range.plants.at(-1) : undefined
    const others = yield* this.#byName(query, limit, unindexed, 'behind the first', last && position(last))
    const plants = new Map([...range.plants, ...others.plants].map((plant) => [plant.id, plant]))
    const found = new ResultPage(limit)
    for (const { plant } of Array.from(plants.values(), position).sort((a, b) => comparePositions(query.order, a, b))) {
      if (found.isFull) break
      found.add(plant)
    }
    return found
  }

  /**
   * Finds the first plants by name, by the index of words and of tags, and by a walk through the names.
   *
   * @param end leaves out the plants from this position on
   */
  #byName(
    query: PlantQuery,
    limit: PageLimit,
    unindexed: ReadonlySet<bigint>,
    places?: Places,
    end?: Position,
  ): Task<ResultPage> {
    const isFound = (plant: NewPlant) => !unindexed.has(plant.id) && this.#matches(query, plant)
    const first = new FirstByName(this.#statements, query, limit, isFound, end)
    const lists = this.#lists(query, places).map((each, i) => first.of(each, i))
    return race([...lists, this.#inOrder(this.#names(query, end), query, limit, unindexed)])
  }

  get(id: bigint): NewPlant | undefined {
    const row = this.#statements.get('SELECT id, name, tag FROM plants WHERE id = ?', id)
    return row === undefined ? undefined : plantOf(row)
  }

  /** Finds the first of these plants that match the query. @param ids in the order of the query */
  *#verified(ids: Iterable<bigint>, query: PlantQuery, limit: PageLimit): Task<ResultPage> {
    const found = new ResultPage(limit)
    const turn = new Turn()
    for (const id of ids) {
      const plant = this.get(id)
      if (plant !== undefined && this.#matches(query, plant)) found.add(plant)
      if (found.isFull) break
      if (turn.isOverAfter(plant)) yield
    }
    return found
  }

  /** Finds the first of these plants that match the query. SQLite excludes most others. @param ids in its order */
  *#inOrder(
    ids: Iterable<bigint>,
    query: PlantQuery,
    limit: PageLimit,
    unindexed: ReadonlySet<bigint>,
  ): Task<ResultPage> {
    const found = new ResultPage(limit)
    const turn = new Turn()
    let steps = 0
    for (const plant of candidates(this.#statements, without(unindexed, ids), query, WALKED)) {
      if (plant !== undefined && this.#matches(query, plant)) found.add(plant)
      if (found.isFull) break
      if (plant === undefined) {
        for (let turns = ++steps > PROMPT_STEPS ? TURNS_OF_A_STEP : 1; turns > 0; turns--) yield
      } else if (turn.isOverAfter(plant)) yield
    }
    return found
  }

  /** Finds the first plants by id, without a filter. */
  *#page(query: PlantQuery, limit: PageLimit): Task<ResultPage> {
    const { condition, direction, values } = range(query, 'id')
    const found = new ResultPage(limit)
    const sql = `SELECT id, name, tag FROM plants WHERE ${condition} ORDER BY id ${direction} LIMIT ?`
    for (const row of this.#statements.iterate(sql, ...values, limit.plants)) {
      found.add(plantOf(row))
      if (found.isFull) break
      if (found.plants.length % STEP === 0) yield
    }
    return found
  }

  /**
   * Returns the candidates: each yields the ids of all plants that match the filter, and perhaps of others, in the
   * query's order by id.
   */
  #filtered(query: PlantQuery): Iterable<bigint>[] {
    const expression = matchExpression(query, negativeIn(this.#index.statements))
    return [
      ...(expression === undefined ? [] : [merged(this.#byWords(expression, query), this.#wide(query), query.order)]),
      ...(query.tags.length === 0 ? [] : [this.#byTags(query)]),
    ]
  }

  /** Returns the candidates for an order by name: each yields JSON arrays of the ids whose sort keys may be in a range. */
  #lists(query: PlantQuery, places?: Places): ((range: () => KeyRange) => Iterable<string>)[] {
    const expression = matchExpression(query, negativeIn(this.#index.statements), places)
    return [
      ...(expression === undefined ? [] : [(keys: () => KeyRange) => this.#listsByWords(expression, query, keys)]),
      ...(query.tags.length === 0 ? [] : [(keys: () => KeyRange) => this.#listsByTags(query, keys)]),
    ]
  }

  *#listsByWords(expression: string, query: PlantQuery, keys: () => KeyRange): Iterable<string> {
    yield* this.#listsOf('SELECT rowid AS id FROM words WHERE words MATCH ?1', expression, query, keys)
    yield* listsOf(this.#wide({ ...query, order: 'id', after: undefined }))
  }

  *#listsByTags(query: PlantQuery, keys: () => KeyRange): Iterable<string> {
    for (const tag of new Set(query.tags)) {
      yield* this.#listsOf('SELECT id FROM tags WHERE tag = ?1', tag, query, keys)
    }
  }

  /**
   * Yields lists of the ids that a query finds, in the order of names, and without those whose sort keys can't be in the
   * range. SQLite makes the lists in a third less time than ids one by one.
   *
   * @param ids an SQL query for the ids, with `value` as its parameter
   */
  *#listsOf(ids: string, value: string, { order }: PlantQuery, keys: () => KeyRange): Iterable<string> {
    let after: bigint | null = null
    for (let count = FIRST_IDS; ; count = Math.min(MAX_IDS, count * 4)) {
      const { from, to } = keys()
      const [start, end] = [from, to].map((key) => (key === undefined ? null : nameStart(key)))
      const row = this.#index.statements.get(
        `SELECT json_group_array(id ORDER BY start ${isDescending(order) ? 'DESC' : 'ASC'})
            FILTER (WHERE (start < ?3) IS NOT TRUE AND (start > ?4) IS NOT TRUE), count(*), max(id)
          FROM (SELECT id FROM (${ids}) WHERE ${after === null ? '?2 IS NULL' : 'id > ?2'} ORDER BY id LIMIT ${count})
            LEFT JOIN name_starts USING (id)`,
        value,
        after,
        start ?? null,
        end ?? null,
      )
      yield* partsOf(String(row?.[0]))
      if (Number(row?.[1]) < count) return
      // The other ways of the race get as many steps as the query took.
      for (let ids = 0; ids < count; ids += IDS_OF_A_STEP) yield '[]'
      after = row?.[2] as bigint
    }
  }

  *#byWords(expression: string, query: PlantQuery): Iterable<bigint> {
    const { condition, direction, values } = range(query, 'rowid')
    yield* this.#indexed(
      `SELECT rowid FROM words WHERE words MATCH ? AND ${condition} ORDER BY rowid ${direction}`,
      expression,
      ...values,
    )
  }

  /** Yields the wide plants that may have the words of a query, in its order by id. */
  *#wide(query: PlantQuery): Iterable<bigint> {
    const { condition, direction, values } = range(query, 'rowid')
    const ranges = wideRanges(query.words)
    yield* this.#indexed(
      `SELECT rowid FROM words WHERE words MATCH ? AND ${condition} AND ${HAS_WIDE.repeat(ranges.length)} TRUE
        ORDER BY rowid ${direction}`,
      WIDE_EXPRESSION,
      ...values,
      ...ranges.flat(),
    )
  }

  /**
   * Whether an indexed plant matches the query. For a large text, it asks the index for the words: folding a mebibyte
   * takes up to a second.
   */
  #matches(query: PlantQuery, plant: NewPlant): boolean {
    if (query.words.length === 0 || textLength(plant) <= MAX_WORDS_TEXT) return matches(query, plant)
    if (!matches({ ...query, words: [] }, plant)) return false
    const { statements } = this.#index
    const hasNegative = negativeIn(statements)
    const expression = matchExpression({ words: query.words, tags: [] }, hasNegative)
    if (expression === undefined) return matches(query, plant)
    const ranges = wideRanges(query.words)
    const wide = `SELECT 1 WHERE ${`${HAS_WIDE.replaceAll('words.rowid', '?')} `.repeat(ranges.length)} TRUE`
    const isFound =
      statements.get('SELECT 1 FROM words WHERE words MATCH ? AND rowid = ?', expression, plant.id) !== undefined ||
      statements.get(wide, ...ranges.flatMap((range) => [plant.id, ...range])) !== undefined
    return isFound && (isExact(query.words, hasNegative) || matches(query, plant))
  }

  /** Yields the ids of all names, in the query's order. @param end leaves out the names behind this position */
  *#names({ order, after }: PlantQuery, end?: Position): Iterable<bigint> {
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

  /** Yields all ids from the query's position on, in the query's order by id. */
  *all(query: PlantQuery): Iterable<bigint> {
    const { condition, direction, values } = range(query, 'id')
    const sql = `SELECT id FROM plants WHERE ${condition} ORDER BY id ${direction}`
    for (const { 0: id } of this.#statements.iterate(sql, ...values)) yield id as bigint
  }

  /** Merges the ids of several tags. Each round reads some ids of every tag. */
  *#byTags(query: PlantQuery): Iterable<bigint> {
    const tags = Array.from(new Set(query.tags))
    const atOnce = Math.max(16, Math.trunc(IDS_OF_ALL_TAGS / tags.length))
    const compare = isDescending(query.order)
      ? (a: bigint, b: bigint) => (a > b ? -1 : 1)
      : (a: bigint, b: bigint) => (a < b ? -1 : 1)
    let after = query.after
    for (;;) {
      const { condition, direction, values } = range({ ...query, after }, 'id')
      const sql = `SELECT id FROM tags WHERE tag = ? AND ${condition} ORDER BY id ${direction} LIMIT ?`
      const parts = tags.map((tag) =>
        this.#index.statements.all(sql, tag, ...values, atOnce).map((row) => row[0] as bigint),
      )
      // A full part ends before its tag does, so ids after the first such end may still lack others before them.
      const ends = parts.filter((part) => part.length === atOnce).flatMap((part) => part.at(-1) ?? [])
      const [end] = ends.sort(compare)
      const ids = parts.flat().sort(compare)
      yield* end === undefined ? ids : ids.filter((id) => compare(id, end) <= 0 || id === end)
      if (end === undefined) return
      after = { key: '', id: end }
    }
  }

  *#indexed(sql: string, ...values: (string | bigint)[]): Iterable<bigint> {
    for (const { 0: id } of this.#index.statements.iterate(sql, ...values)) yield id as bigint
  }
}

/** Merges ids that are in an order. */
function* merged(some: Iterable<bigint>, others: Iterable<bigint>, order: PlantQuery['order']): Iterable<bigint> {
  const rest = Iterator.from(others)
  let next = rest.next()
  for (const id of some) {
    for (; next.done !== true && (isDescending(order) ? next.value > id : next.value < id); next = rest.next()) {
      yield next.value
    }
    yield id
  }
  if (next.done !== true) yield next.value
  yield* rest
}

function* without(unwanted: ReadonlySet<bigint>, ids: Iterable<bigint>): Iterable<bigint> {
  for (const id of ids) if (!unwanted.has(id)) yield id
}

/** A range of ids in an order, as parts of an SQL query. */
export interface IdRange {
  readonly condition: string
  readonly direction: string
  readonly values: readonly bigint[]
}

/** The ids after the query's position, in a column. */
export function range({ order, after }: Pick<PlantQuery, 'order' | 'after'>, column: string): IdRange {
  const [sign, direction] = isDescending(order) ? ['<', 'DESC'] : ['>', 'ASC']
  return after === undefined
    ? { condition: 'TRUE', direction, values: [] }
    : { condition: `${column} ${sign} ?`, direction, values: [after.id] }
}
