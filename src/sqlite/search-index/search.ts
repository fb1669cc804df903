import { compareCodePoints } from '../../domain/fold.ts'
import { type NewPlant, textLength } from '../../domain/plant.ts'
import {
  isByName,
  isDescending,
  MAX_WORDS_TEXT,
  matches,
  type PlantQuery,
  type Position,
} from '../../domain/plant-query.ts'
import { type PageLimit, ResultPage } from '../read/result-page.ts'
import { candidates } from '../read/unindexed.ts'
import { plantOf } from '../rows.ts'
import type { Row, StatementCache } from '../statement-cache.ts'
import { race, type Task } from '../worker/cooperative.ts'
import { FirstByName, listsOf, partsOf } from './first-by-name.ts'
import type { IndexView } from './index-view.ts'
import { countOfNames, idsByName } from './name-index.ts'
import { AFTER_ALL, isExact, matchExpression, negativeIn, WIDE_EXPRESSION, wideRanges } from './terms.ts'
import { STEP, Turn } from './turn.ts'

/** Names that one step of `#inOrder` reads, in 0.4 of the time of a step of FirstByName. */
const WALKED = 200
/** Where many plants match, the walk ends within these steps. Otherwise it mostly ends late, and takes fewer turns. */
const PROMPT_STEPS = 32
/** After PROMPT_STEPS, the walk takes one turn of this many. */
const TURNS_OF_A_STEP = 4
/** After this many steps, the walk asks whether it may begin at the names that begin with the asked word. */
const STEPS_FROM_START = 8
/** With fewer names that begin with it, FirstByName has read all plants with a word as soon as the walk knows that. */
const MANY_NAMES = 10_000
/**
 * Ids that one full-text query reads, in 3 ms at most. Each query begins at the first id again, and merges the lists of
 * a long prefix again: with 1000 ids each, the word of 417,000 of five million plants took 0.5 s instead of 0.06 s.
 */
const IDS_OF_WORDS = 32_000
/** Words with which a key begins only if they begin the first word of its name. */
const ASCII_WORD = /^[a-z0-9]+$/
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
    if (!isFiltered) return verified(this.#byName(query))
    const isFound = (plant: NewPlant) => !unindexed.has(plant.id) && this.#matches(query, plant)
    const first = new FirstByName(this.#statements, query, limit, isFound)
    return race([...this.#lists(query).map((lists, i) => first.of(lists, i)), this.#inOrder(query, limit, unindexed)])
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

  /** Finds the first plants by a walk through all plants in the order of their names. */
  *#inOrder(query: PlantQuery, limit: PageLimit, unindexed: ReadonlySet<bigint>): Task<ResultPage> {
    const found = new ResultPage(limit)
    const turn = new Turn()
    const ids = without(unindexed, this.#byName(query))
    let steps = 0
    for (const plant of candidates(this.#statements, ids, query, WALKED)) {
      if (plant !== undefined && this.#matches(query, plant)) found.add(plant)
      if (found.isFull) break
      if (plant === undefined) {
        steps++
        if (steps === STEPS_FROM_START && (yield* this.#areFirstWords(query))) {
          const [word] = query.words
          return yield* this.#verified(without(unindexed, this.#byFirstWord(query, word ?? '')), query, limit)
        }
        for (let turns = steps > PROMPT_STEPS ? TURNS_OF_A_STEP : 1; turns > 0; turns--) yield
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

  /** Returns the candidates for an order by name: each yields JSON arrays of LISTED ids. */
  #lists(query: PlantQuery): Iterable<string>[] {
    const expression = matchExpression(query, negativeIn(this.#index.statements))
    return [
      ...(expression === undefined ? [] : [this.#listsByWords(expression, query)]),
      ...(query.tags.length === 0 ? [] : [listsOf(this.#byTags({ ...query, order: 'id', after: undefined }))]),
    ]
  }

  /** SQLite makes the lists in a third less time than ids one by one. */
  *#listsByWords(expression: string, query: PlantQuery): Iterable<string> {
    for (const { 0: ids } of this.#readWords('json_group_array(rowid)', expression)) yield* partsOf(ids as string)
    yield* listsOf(this.#wide({ ...query, order: 'id', after: undefined }))
  }

  /** Yields an aggregate of each IDS_OF_WORDS ids that an expression finds, and their number. */
  *#readWords(aggregate: string, expression: string): Iterable<Row> {
    let after: Position | undefined
    for (let count = IDS_OF_WORDS; count === IDS_OF_WORDS; ) {
      const { condition, values } = range({ order: 'id', after }, 'rowid')
      const row = this.#index.statements.get(
        `SELECT ${aggregate}, count(*), max(rowid)
          FROM (SELECT rowid FROM words WHERE words MATCH ? AND ${condition} ORDER BY rowid LIMIT ${IDS_OF_WORDS})`,
        expression,
        ...values,
      )
      if (row === undefined) return
      yield row
      count = Number(row[1])
      after = { key: '', id: row[2] as bigint }
    }
  }

  /**
   * Whether all plants that match the query, and they are many, have names that begin with its only word. Then the walk
   * need not read all names before those. It compares the number of these names with the number of plants with the word.
   */
  *#areFirstWords(query: PlantQuery): Task<boolean> {
    const [word, ...others] = query.words
    if (word === undefined || others.length + query.tags.length > 0 || !ASCII_WORD.test(word)) return false
    const hasNegative = negativeIn(this.#index.statements)
    const expression = matchExpression(query, hasNegative)
    if (expression === undefined || !isExact(query.words, hasNegative)) return false
    const names = yield* countOfNames(this.#index.statements, word, word + AFTER_ALL)
    if (names < MANY_NAMES) return false
    let plants = 0
    for (const { 1: count } of this.#readWords('NULL', expression)) {
      plants += Number(count)
      if (plants > names) return false
      yield
    }
    for (const _ of this.#wide({ ...query, order: 'id', after: undefined })) plants++
    return plants === names
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

  *#byName({ order, after }: PlantQuery): Iterable<bigint> {
    const [sign, direction] = isDescending(order) ? (['<', 'DESC'] as const) : (['>', 'ASC'] as const)
    const condition = after === undefined ? 'TRUE' : `(key, id) ${sign} (?1, ?2)`
    yield* this.#indexed(idsByName(condition, direction), ...(after === undefined ? [] : [after.key, after.id]))
  }

  /** Yields the ids of the names that begin with a word, in the query's order. */
  *#byFirstWord({ order, after }: PlantQuery, word: string): Iterable<bigint> {
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
