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

/** Plants, and their UTF-16 units, that one step reads. */
const STEP = 64
const STEP_TEXT = 100_000
/** Ids that one step reads without their plants. */
const IDS = 500
/** Maximum number of ids for which `picked` filters all names. */
const MAX_PICKED = 50_000
/** Ids that are read at once for all tags together. */
const TAGGED = 2000

/**
 * Finds plants by the indexes, in the state that this connection sees. It does not guess the best index: the candidates
 * take turns until one has found the page. With n candidates this costs at most n times as much as the best of them.
 * Every plant is verified before it is returned.
 */
export class PlantSearch {
  readonly #statements: StatementCache
  readonly #index: IndexView

  constructor(statements: StatementCache, index: IndexView) {
    this.#statements = statements
    this.#index = index
  }

  /**
   * The first indexed plants that match the query. Without a filter, by id, it reads all plants from the store.
   *
   * @param unindexed plants to leave out, as the index may have an old state of them
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
    const [toPick = source] = this.#filtered(everywhere, 'to pick')
    return race([...sorted, this.#picked(toPick, query, limit, unindexed)])
  }

  get(id: bigint): NewPlant | undefined {
    const row = this.#statements.get('SELECT id, name, tag FROM plants WHERE id = ?', id)
    return row === undefined ? undefined : plantOf(row)
  }

  /** The first of these plants that match the query. The ids are in its order. */
  *#verified(ids: Iterable<bigint | undefined>, query: PlantQuery, limit: PageLimit): Task<ResultPage> {
    const found = new ResultPage(limit)
    const turn = new Turn()
    for (const id of ids) {
      // An id set yields undefined after many ids that it does not have.
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

  /** The same for ids in any order. Keeps the positions of at most a few times as many as the page holds. */
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
        // Most plants come after the last wanted position and need no verification.
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

  /** The same by reading all names in their order, and the plants with these ids only. */
  *#picked(
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
      // With this many ids, reading every plant takes no longer.
      if (seen === MAX_PICKED) return yield* this.#verified(names, query, limit)
      if (++seen % IDS === 0) yield
    }
    return yield* this.#verified(wanted.among(names, IDS), query, limit)
  }

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
   * Ids from each index that has all plants which match the filter, in the query's order by id.
   *
   * @param purpose distinguishes statements that are iterated at the same time
   */
  #filtered(query: PlantQuery, purpose = 'to look at'): Iterable<bigint>[] {
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
    // SQLite merges the two in the order of their primary keys, without reading either to its end.
    const from = (table: string) => `SELECT key, id FROM ${table} WHERE ${condition}`
    yield* this.#indexed(
      `SELECT id FROM (${from('names')} UNION ALL ${from('recent_names')} ORDER BY key ${direction}, id ${direction})`,
      ...values,
      ...values,
    )
  }

  /** All ids from the query's position on, in its order by id. */
  *all(query: PlantQuery): Iterable<bigint> {
    const { condition, direction, values } = range(query, 'id')
    const sql = `SELECT id FROM plants WHERE ${condition} ORDER BY id ${direction}`
    for (const { 0: id } of this.#statements.iterate(sql, ...values)) yield id as bigint
  }

  /** Merges the ids of each tag, reading some of each at a time. */
  *#byTags(query: PlantQuery): Iterable<bigint> {
    const tags = Array.from(new Set(query.tags))
    const atOnce = Math.max(16, Math.trunc(TAGGED / tags.length))
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
      // Past the end of a full part, the other parts may lack ids that precede.
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

/** Decides when a task yields to others. */
export class Turn {
  #seen = 0
  #text = 0

  /** @param plant that was read */
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

/** The ids after the query's position, as SQL for a column. */
function range(
  { order, after }: PlantQuery,
  column: string,
): { condition: string; direction: string; values: bigint[] } {
  const [sign, direction] = isDescending(order) ? ['<', 'DESC'] : ['>', 'ASC']
  return after === undefined
    ? { condition: 'TRUE', direction, values: [] }
    : { condition: `${column} ${sign} ?`, direction, values: [after.id] }
}
