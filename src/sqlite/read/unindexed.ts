import type { NewPlant } from '../../domain/plant.ts'
import type { PlantFilter } from '../../domain/plant-query.ts'
import { plantOf } from '../rows.ts'
import { SQL_WORK } from '../search-index/index-throttle.ts'
import type { StatementCache } from '../statement-cache.ts'

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
