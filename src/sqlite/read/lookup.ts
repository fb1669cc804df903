import type { NewPlant } from '../../domain/plant.ts'
import {
  comparePositions,
  isDescending,
  type PlantFilter,
  type PlantQuery,
  type Position,
  positionOf,
  SORT_KEY_LENGTH,
} from '../../domain/plant-query.ts'
import { type PageLimit, plantOf, ResultPage, type StatementCache } from '../rows.ts'
import { SQL_WORK } from '../search-index/index-file.ts'
import { STEP, type Task, Turn } from '../worker/cooperative.ts'

/** Plants that a read looks up in the store, because the index lacks them or has an old state of them. */
export interface Unindexed {
  readonly ids: ReadonlySet<bigint>
  /** The tags in the old states; undefined for a state without a tag. */
  readonly tags: ReadonlyMap<bigint, string | undefined>
}

export const NONE_UNINDEXED: Unindexed = { ids: new Set(), tags: new Map() }

/** Ids that one statement looks up, in 0.7 µs each. A statement for each id takes 3 µs. */
const IDS_PER_STATEMENT = 500

/**
 * Has SQLite exclude plants that can't match, so that most of them never reach JavaScript. It excludes by words only
 * short ASCII texts, which `lower` folds. An ASCII text has as many characters as bytes.
 */
const CANDIDATES = `SELECT plants.id, name, tag FROM json_each(?1) AS wanted CROSS JOIN plants ON plants.id = wanted.value
  WHERE (?2 IS NULL OR tag IN (SELECT value FROM json_each(?2)))
    AND (?3 IS NULL OR octet_length(name) > 1000 OR octet_length(tag) > 1000
      OR octet_length(name) <> length(name) OR octet_length(tag) <> length(tag)
      OR instr(lower(name), ?3) > 0 OR instr(lower(tag), ?3) > 0)`

/** Yields the plants with these ids that may match a filter, and undefined after each chunk, where a task can yield. */
export function* candidates(
  statements: StatementCache,
  ids: Iterable<bigint>,
  { tags, words }: PlantFilter,
  perStatement = IDS_PER_STATEMENT,
): Iterable<NewPlant | undefined> {
  const [longest] = words.toSorted((a, b) => b.length - a.length)
  for (const some of chunks(ids, perStatement)) {
    const values = [`[${some.join()}]`, tags.length === 0 ? null : JSON.stringify(tags), longest ?? null]
    for (const row of statements.iterate(CANDIDATES, ...values)) yield plantOf(row)
    yield undefined
  }
}

/** Yields the work that the plants with these ids are for the index, chunk by chunk. */
export function* worksOf(statements: StatementCache, ids: Iterable<bigint>): Iterable<number> {
  const sql = `SELECT sum(${SQL_WORK}) FROM json_each(?) AS wanted CROSS JOIN plants ON plants.id = wanted.value`
  for (const some of chunks(ids)) yield Number(statements.get(sql, `[${some.join()}]`)?.[0] ?? 0)
}

/** Yields the tags of the plants with these ids, and undefined after each chunk, where a task can yield. */
export function* tagsOf(statements: StatementCache, ids: Iterable<bigint>): Iterable<string | undefined> {
  const sql =
    'SELECT tag FROM json_each(?) AS wanted CROSS JOIN plants ON plants.id = wanted.value WHERE tag IS NOT NULL'
  for (const some of chunks(ids)) {
    for (const { 0: tag } of statements.iterate(sql, `[${some.join()}]`)) yield tag as string
    yield undefined
  }
}

function* chunks(ids: Iterable<bigint>, perStatement = IDS_PER_STATEMENT): Iterable<bigint[]> {
  let some: bigint[] = []
  for (const id of ids) {
    some.push(id)
    if (some.length === perStatement) {
      yield some
      some = []
    }
  }
  if (some.length > 0) yield some
}

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

/** The first and the last sort key of a range; undefined for an open end. */
export interface KeyRange {
  readonly from: string | undefined
  readonly to: string | undefined
}

/**
 * Finds the first plants in an order by name among all plants that may match. Once the page is full, SQLite compares
 * names with the last name of the page, so that few further plants reach JavaScript.
 */
export class FirstByName {
  readonly #statements: StatementCache
  readonly #query: PlantQuery
  readonly #limit: PageLimit
  readonly #isFound: (plant: NewPlant) => boolean
  readonly #end: Position | undefined

  /**
   * @param isFound whether a plant matches the query, and is not to be left out
   * @param end a position that all plants must precede
   */
  constructor(
    statements: StatementCache,
    query: PlantQuery,
    limit: PageLimit,
    isFound: (plant: NewPlant) => boolean,
    end?: Position,
  ) {
    this.#statements = statements
    this.#query = query
    this.#limit = limit
    this.#isFound = isFound
    this.#end = end
  }

  /**
   * Returns the page. It keeps the positions of at most a few pages.
   *
   * @param lists yields JSON arrays of the ids of all plants that may match, in any order; it may leave out plants whose
   * keys are outside of the range at that time
   * @param source makes the statement's text unique, as iterations of one text must not overlap
   */
  *of(lists: (range: () => KeyRange) => Iterable<string>, source: number): Task<ResultPage> {
    const { order, after } = this.#query
    const compare = (a: Position, b: Position) => comparePositions(order, a, b)
    let first: Position[] = []
    let last = this.#end
    const range = () =>
      isDescending(order) ? { from: last?.key, to: after?.key } : { from: after?.key, to: last?.key }
    const turn = new Turn()
    for (const ids of lists(range)) {
      const { from, to } = range()
      const sql = `/* ${source} */ ${BETWEEN}`
      for (const row of this.#statements.iterate(sql, ids, from ?? null, to ?? null)) {
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
