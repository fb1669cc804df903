import { type NewPlant, textLength } from '../../plant.ts'
import {
  comparePositions,
  isByName,
  isDescending,
  matches,
  type PlantQuery,
  type Position,
  positionOf,
} from '../../plant-query.ts'
import { type PageLimit, ResultPage } from '../read/result-page.ts'
import { plantOf } from '../rows.ts'
import type { StatementCache } from '../statement-cache.ts'
import { race, type Task } from '../worker/cooperative.ts'
import { IdSet } from './id-set.ts'
import type { IndexView } from './index-view.ts'
import { matchExpression } from './terms.ts'

/** Bounds of the plants that one step reads, in plants and in UTF-16 units. */
const STEP = 64
const STEP_TEXT = 100_000
/** Ids that one step reads without their plants. */
const IDS = 500
/** Maximum number of ids by which `namesOfIds` filters all names. */
const MAX_FILTER_IDS = 50_000
/** Ids that one round of `byTags` reads for all tags together. */
const IDS_OF_ALL_TAGS = 2000

/**
 * Finds plants by the search index, in the snapshots of both connections. It does not guess the best table of the
 * index: the candidates take turns until one has found the page. With n candidates this costs at most n times as much
 * as the best of them. It verifies every plant before it returns it.
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
    const everywhere = { ...query, order: 'id', after: undefined } as const
    const [source, ...others] = this.#filtered(everywhere)
    if (source === undefined) return verified(this.#byName(query))
    const sorted = [source, ...others].map((ids) => this.#sorted(without(unindexed, ids), query, limit))
    const [filter = source] = this.#filtered(everywhere, 'id filter')
    return race([...sorted, this.#namesOfIds(filter, query, limit, unindexed)])
  }

  get(id: bigint): NewPlant | undefined {
    const row = this.#statements.get('SELECT id, name, tag FROM plants WHERE id = ?', id)
    return row === undefined ? undefined : plantOf(row)
  }

  /** Finds the first of these plants that match the query. @param ids in the order of the query */
  *#verified(ids: Iterable<bigint | undefined>, query: PlantQuery, limit: PageLimit): Task<ResultPage> {
    const found = new ResultPage(limit)
    const turn = new Turn()
    for (const id of ids) {
      // IdSet.among yields undefined after many ids that the set does not contain.
      if (id === undefined) {
        yield
        continue
      }
      const plant = this.get(id)
      if (plant !== undefined && matches(query, plant)) found.add(plant)
      if (found.isFull) break
      if (turn.isOverAfter(plant)) yield
    }
    return found
  }

  /**
   * Finds the first of these plants by sorting them. Keeps the positions of at most a few pages.
   *
   * @param ids in any order
   */
  *#sorted(ids: Iterable<bigint>, query: PlantQuery, limit: PageLimit): Task<ResultPage> {
    const { order, after } = query
    const compare = (a: Position, b: Position) => comparePositions(order, a, b)
    let first: Position[] = []
    let last: Position | undefined
    const turn = new Turn()
    for (const id of ids) {
      const plant = this.get(id)
      if (plant !== undefined) {
        const position = positionOf(order, plant)
        // Most plants lie after the last wanted position, and need no verification.
        const isWanted = (!after || compare(position, after) > 0) && (!last || compare(position, last) < 0)
        if (isWanted && matches(query, plant)) first.push(position)
      }
      if (first.length >= limit.plants * 2 + STEP) {
        first = first.sort(compare).slice(0, limit.plants)
        last = first.at(-1)
      }
      if (turn.isOverAfter(plant)) yield
    }
    const found = new ResultPage(limit)
    for (const { id } of first.sort(compare)) {
      if (found.isFull) break
      const plant = this.get(id)
      if (plant !== undefined) found.add(plant)
    }
    return found
  }

  /**
   * Finds the first of these plants by reading all names in their order, filtered by the ids.
   *
   * @param ids in any order
   */
  *#namesOfIds(
    ids: Iterable<bigint>,
    query: PlantQuery,
    limit: PageLimit,
    unindexed: ReadonlySet<bigint>,
  ): Task<ResultPage> {
    const wanted = new IdSet()
    const names = without(unindexed, this.#byName(query))
    let seen = 0
    for (const id of ids) {
      wanted.add(id)
      // With more ids, the filter saves no time.
      if (seen === MAX_FILTER_IDS) return yield* this.#verified(names, query, limit)
      if (++seen % IDS === 0) yield
    }
    return yield* this.#verified(wanted.among(names, IDS), query, limit)
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
   *
   * @param purpose makes the statement's text unique, as iterations of one text must not overlap
   */
  #filtered(query: PlantQuery, purpose = 'candidates'): Iterable<bigint>[] {
    const expression = matchExpression(query)
    return [
      ...(expression === undefined ? [] : [this.#byWords(expression, query, purpose)]),
      ...(query.tags.length === 0 ? [] : [this.#byTags(query)]),
    ]
  }

  *#byWords(expression: string, query: PlantQuery, purpose: string): Iterable<bigint> {
    const { condition, direction, values } = range(query, 'rowid')
    yield* this.#indexed(
      `SELECT /* ${purpose} */ rowid FROM words WHERE words MATCH ? AND ${condition} ORDER BY rowid ${direction}`,
      expression,
      ...values,
    )
  }

  *#byName({ order, after }: PlantQuery): Iterable<bigint> {
    const [sign, direction] = isDescending(order) ? ['<', 'DESC'] : ['>', 'ASC']
    const condition = after === undefined ? 'TRUE' : `(key, id) ${sign} (?, ?)`
    const values = after === undefined ? [] : [after.key, after.id]
    // SQLite merges both tables in the order of their primary keys, and reads neither to its end.
    const from = (table: string) => `SELECT key, id FROM ${table} WHERE ${condition}`
    yield* this.#indexed(
      `SELECT id FROM (${from('names')} UNION ALL ${from('recent_names')} ORDER BY key ${direction}, id ${direction})`,
      ...values,
      ...values,
    )
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

/** Decides when a task yields to other tasks. */
export class Turn {
  #seen = 0
  #text = 0

  /** @param plant the plant that the task has just read */
  isOverAfter(plant: NewPlant | undefined): boolean {
    this.#seen++
    this.#text += plant === undefined ? 0 : textLength(plant)
    const isOver = this.#seen >= STEP || this.#text >= STEP_TEXT
    if (isOver) this.#seen = this.#text = 0
    return isOver
  }
}

function* without(unwanted: ReadonlySet<bigint>, ids: Iterable<bigint>): Iterable<bigint> {
  for (const id of ids) if (!unwanted.has(id)) yield id
}

/** The SQL for the ids after the query's position, in a column. */
function range(
  { order, after }: PlantQuery,
  column: string,
): { condition: string; direction: string; values: bigint[] } {
  const [sign, direction] = isDescending(order) ? ['<', 'DESC'] : ['>', 'ASC']
  return after === undefined
    ? { condition: 'TRUE', direction, values: [] }
    : { condition: `${column} ${sign} ?`, direction, values: [after.id] }
}
