import { SORT_KEY_LENGTH } from '../../domain/fold.ts'
import type { NewPlant } from '../../domain/plant.ts'
import { comparePositions, isDescending, type PlantQuery, type Position, positionOf } from '../../domain/plant-query.ts'
import { type PageLimit, ResultPage } from '../read/result-page.ts'
import { plantOf } from '../rows.ts'
import type { StatementCache } from '../statement-cache.ts'
import type { Task } from '../worker/cooperative.ts'
import { STEP, Turn } from './turn.ts'

/** Ids in a list, which one step compares in 2 ms. Shorter lists cost more, as each list takes a query. */
const LISTED = 1000

/** UTF-16 units of such a list of ids. */
const LIST_LENGTH = 8 * LISTED

/**
 * Selects the plants of a list of ids whose sort keys lie within two bounds, and perhaps others. SQLite compares only
 * short ASCII names, whose keys are their `lower`. SQLite's `length` of a text ends at a NUL.
 */
const BETWEEN = `SELECT plants.id, name, tag FROM json_each(?1) AS listed CROSS JOIN plants ON plants.id = listed.value
  WHERE octet_length(name) > ${SORT_KEY_LENGTH} OR octet_length(name) <> length(name)
    OR ((?2 IS NULL OR lower(name) >= ?2) AND (?3 IS NULL OR lower(name) <= ?3))`

/**
 * Finds the first plants in an order by name among all plants that may match. Once the page is full, SQLite compares
 * names with the last name of the page, so that few further plants reach JavaScript.
 */
export class FirstByName {
  readonly #statements: StatementCache
  readonly #query: PlantQuery
  readonly #limit: PageLimit
  readonly #isFound: (plant: NewPlant) => boolean

  /** @param isFound whether a plant matches the query, and is not to be left out */
  constructor(statements: StatementCache, query: PlantQuery, limit: PageLimit, isFound: (plant: NewPlant) => boolean) {
    this.#statements = statements
    this.#query = query
    this.#limit = limit
    this.#isFound = isFound
  }

  /**
   * Returns the page. It keeps the positions of at most a few pages.
   *
   * @param lists JSON arrays of the ids of all plants that may match, in any order
   * @param source makes the statement's text unique, as iterations of one text must not overlap
   */
  *of(lists: Iterable<string>, source: number): Task<ResultPage> {
    const { order, after } = this.#query
    const compare = (a: Position, b: Position) => comparePositions(order, a, b)
    let first: Position[] = []
    let last: Position | undefined
    const turn = new Turn()
    for (const ids of lists) {
      const [from, to] = isDescending(order) ? [last, after] : [after, last]
      const sql = `/* ${source} */ ${BETWEEN}`
      for (const row of this.#statements.iterate(sql, ids, from?.key ?? null, to?.key ?? null)) {
        const plant = plantOf(row)
        const position = positionOf(order, plant)
        const isWanted = (!after || compare(position, after) > 0) && (!last || compare(position, last) < 0)
        if (isWanted && this.#isFound(plant)) first.push(position)
        if (first.length >= this.#limit.plants * 2 + STEP) {
          first = first.sort(compare).slice(0, this.#limit.plants)
          last = first.at(-1)
        }
        if (turn.isOverAfter(plant)) yield
      }
      yield
    }
    return this.#page(first.sort(compare))
  }

  #page(positions: readonly Position[]): ResultPage {
    const found = new ResultPage(this.#limit)
    for (const { id } of positions) {
      if (found.isFull) break
      const row = this.#statements.get('SELECT id, name, tag FROM plants WHERE id = ?', id)
      if (row !== undefined) found.add(plantOf(row))
    }
    return found
  }
}

/** Divides ids into lists. */
export function* listsOf(ids: Iterable<bigint>): Iterable<string> {
  const some: bigint[] = []
  for (const id of ids) {
    some.push(id)
    if (some.length === LISTED) yield `[${some.splice(0).join()}]`
  }
  yield `[${some.join()}]`
}

/** Divides a JSON array of ids into lists. */
export function* partsOf(ids: string): Iterable<string> {
  for (let start = 1, end = start; end < ids.length - 1; start = end + 1) {
    const comma = ids.indexOf(',', start + LIST_LENGTH)
    end = comma < 0 ? ids.length - 1 : comma
    yield `[${ids.slice(start, end)}]`
  }
}
