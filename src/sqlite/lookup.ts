import { type NewPlant, textLength } from '../domain/plant.ts'
import {
  comparePositions,
  isByName,
  isDescending,
  type PlantFilter,
  type PlantOrder,
  type PlantQuery,
  type Position,
  positionOf,
  SORT_KEY_LENGTH,
} from '../domain/plant-query.ts'
import { SQL_WORK, UnreadyIndex } from './indexed.ts'
import { plantOf, type StatementCache } from './rows.ts'
import { STEP, type Task, Turn } from './worker/cooperative.ts'

/** Plants that may match, and undefined where a task can yield. */
export type Candidates = Iterable<NewPlant | undefined>

/** Ids that one statement looks up, in 0.7 µs each. A statement for each id takes 3 µs. */
const IDS_PER_STATEMENT = 500

/**
 * Has SQLite exclude plants that can't match, so that most of them never reach JavaScript. It excludes by words only
 * ASCII texts, which `lower` folds. An ASCII text has as many characters as bytes. Without hyphens a text has its words
 * still, and those that hyphens join.
 */
const mayMatch = ({ tagPrefix, untagged }: PlantFilter): string => `${
  untagged === true
    ? '?1 IS NULL AND tag IS NULL'
    : tagPrefix === undefined
      ? '(?1 IS NULL OR tag IN (SELECT value FROM json_each(?1)))'
      : 'substr(tag, 1, length(?1)) = ?1'
}
    AND (?2 IS NULL OR octet_length(name) <> length(name) OR octet_length(tag) <> length(tag)
      OR instr(replace(lower(name), '-', ''), ?2) > 0 OR instr(replace(lower(tag), '-', ''), ?2) > 0)`

function filterValues({ tags, tagPrefix, words }: PlantFilter): [tags: string | null, longest: string | null] {
  const [longest = null] = words.toSorted((a, b) => b.length - a.length)
  return [tagPrefix ?? (tags.length === 0 ? null : JSON.stringify(tags)), longest]
}

/** Yields the plants with these ids that may match a filter. @param name tells statements that overlap apart */
export function* candidates(
  statements: StatementCache,
  ids: Iterable<bigint>,
  filter: PlantFilter,
  { perStatement = IDS_PER_STATEMENT, name = '' } = {},
): Candidates {
  const sql = `/* ${name} */ SELECT plants.id, name, tag FROM json_each(?3) AS wanted
    CROSS JOIN plants ON plants.id = wanted.value WHERE ${mayMatch(filter)}`
  const values = filterValues(filter)
  for (const some of chunks(ids, perStatement)) {
    for (const row of statements.iterate(sql, ...values, `[${some.join()}]`)) yield plantOf(row)
    yield undefined
  }
}

/**
 * Yields the plants that may match a query by id, from all plants behind its position.
 *
 * @throws UnreadyIndex when the plants so far are more work for the index than `max`
 */
export function* scan(statements: StatementCache, query: PlantQuery, max?: number): Candidates {
  const { condition, direction, values } = idsAfter(query.after?.id, query.order)
  const sql = `SELECT id, iif(${mayMatch(query)}, name, NULL), tag${max === undefined ? '' : `, ${SQL_WORK}`} FROM plants
    WHERE ${condition} ORDER BY id ${direction}`
  let work = 0
  let rows = 0
  for (const row of statements.iterate(sql, ...filterValues(query), ...values)) {
    work += max === undefined ? 0 : Number(row[3])
    if (max !== undefined && work > max) throw new UnreadyIndex('a search has to look at too many plants')
    if (row[1] !== null) yield plantOf(row)
    if (++rows % STEP === 0) yield undefined
  }
}

export function* forEach(plants: Candidates, take: (plant: NewPlant) => boolean): Task<void> {
  const turn = new Turn()
  for (const plant of plants) {
    if (plant !== undefined && take(plant)) return
    if (plant === undefined || turn.isOver(textLength(plant))) yield
  }
}

export function* firstOf(plants: Candidates, limit: number, isFound: (plant: NewPlant) => boolean): Task<NewPlant[]> {
  const found: NewPlant[] = []
  yield* forEach(plants, (plant) => {
    if (isFound(plant)) found.push(plant)
    return found.length >= limit
  })
  return found
}

/** Returns the ids behind one in an order, all ids behind none, as parts of an SQL query. */
export function idsAfter(id: bigint | undefined, order: PlantOrder = 'id') {
  const [sign, direction] = isDescending(order) ? ['<', 'DESC'] : ['>', 'ASC']
  return { condition: id === undefined ? 'TRUE' : `id ${sign} ?`, direction, values: id === undefined ? [] : [id] }
}

/** Yields the tags of the plants with these ids, and undefined after each chunk, where a task can yield. */
export function* tagsOf(
  statements: StatementCache,
  ids: Iterable<bigint>,
  perStatement = IDS_PER_STATEMENT,
): Iterable<string | undefined> {
  const sql =
    'SELECT tag FROM json_each(?) AS wanted CROSS JOIN plants ON plants.id = wanted.value WHERE tag IS NOT NULL'
  for (const some of chunks(ids, perStatement)) {
    for (const { 0: tag } of statements.iterate(sql, `[${some.join()}]`)) yield tag as string
    yield undefined
  }
}

function* chunks(ids: Iterable<bigint>, size: number): Iterable<bigint[]> {
  let some: bigint[] = []
  for (const id of ids) {
    if (some.push(id) < size) continue
    yield some
    some = []
  }
  if (some.length > 0) yield some
}

/**
 * Selects the plants of a list of ids whose sort keys lie within two bounds, and perhaps others. SQLite compares only
 * short ASCII names, whose keys are their `lower`. SQLite's `length` of a text ends at a NUL.
 */
const BETWEEN = `SELECT plants.id, name, tag FROM json_each(?1) AS listed CROSS JOIN plants ON plants.id = listed.value
  WHERE octet_length(name) > ${SORT_KEY_LENGTH} OR octet_length(name) <> length(name)
    OR ((?2 IS NULL OR lower(name) >= ?2) AND (?3 IS NULL OR lower(name) <= ?3))`

/** A range of an order, from the lower to the upper position; undefined for an open end. */
export interface PositionRange {
  readonly from: Position | undefined
  readonly to: Position | undefined
}

export interface Search {
  readonly query: PlantQuery
  readonly limit: number
  /** Whether a plant matches the query, and is not to be left out. */
  readonly isFound: (plant: NewPlant) => boolean
  /** A position that all plants must precede. */
  readonly end?: Position | undefined
}

/**
 * Finds the first plants in an order among all plants that may match. Once the page is full, SQLite compares names with
 * the last name of the page, so that few further plants reach JavaScript. It keeps the plants of at most a few pages.
 *
 * @param lists yields JSON arrays of the ids of all plants that may match, in any order; it may leave out plants that
 * are outside of the range at that time
 * @param name tells statements that overlap apart
 */
export function* firstOfLists(
  statements: StatementCache,
  { query: { order, after }, limit, isFound, end }: Search,
  lists: (range: () => PositionRange) => Iterable<string>,
  name = '',
): Task<NewPlant[]> {
  const compare = (a: Position, b: Position) => comparePositions(order, a, b)
  let first: PlacedPlant[] = []
  let last = end
  const range = () => (isDescending(order) ? { from: last, to: after } : { from: after, to: last })
  const keyOf = (end: Position | undefined) => (isByName(order) ? end?.key : undefined) ?? null
  const turn = new Turn()
  for (const ids of lists(range)) {
    const { from, to } = range()
    for (const row of statements.iterate(`/* ${name} */ ${BETWEEN}`, ids, keyOf(from), keyOf(to))) {
      const plant = plantOf(row)
      const position = positionOf(order, plant)
      const isWanted = (!after || compare(position, after) > 0) && (!last || compare(position, last) < 0)
      if (isWanted && isFound(plant)) first.push({ plant, ...position })
      if (first.length >= limit * 2 + STEP) {
        first = first.sort(compare).slice(0, limit)
        last = first.at(-1)
      }
      if (turn.isOver(textLength(plant))) yield
    }
    yield
  }
  return firstPlaced(first, order, limit)
}

/** A plant with its position, which takes longer to find than to compare. */
type PlacedPlant = Position & { readonly plant: NewPlant }

const firstPlaced = (plants: PlacedPlant[], order: PlantOrder, limit: number): NewPlant[] =>
  plants
    .sort((a, b) => comparePositions(order, a, b))
    .slice(0, limit)
    .map(({ plant }) => plant)

export const firstInOrder = (plants: readonly NewPlant[], order: PlantOrder, limit: number): NewPlant[] =>
  firstPlaced(
    plants.map((plant) => ({ plant, ...positionOf(order, plant) })),
    order,
    limit,
  )
