import type { NewPlant } from '../../plant.ts'
import type { PlantFilter } from '../../plant-query.ts'
import { plantOf } from '../rows.ts'
import type { StatementCache } from '../statement-cache.ts'

/** What a reader looks up in the store itself: the index does not have it, or as it was. */
export interface Unindexed {
  readonly ids: ReadonlySet<bigint>
  /** Those that the index has as they were: the tag that each had then. */
  readonly tags: ReadonlyMap<bigint, string | undefined>
}

export const NOTHING: Unindexed = { ids: new Set(), tags: new Map() }

/** Ids that one statement looks up: 0.7 µs each, where one statement for each takes 3 µs. */
const AT_ONCE = 500

/**
 * Leaves out in SQLite what a filter can't mean, as most of the plants never reach JavaScript then. It tells only for short
 * texts in ASCII, whose folding is `lower`. SQLite takes the length of a text with a NUL to end there.
 */
const CANDIDATES = `SELECT plants.id, name, tag FROM json_each(?1) AS wanted CROSS JOIN plants ON plants.id = wanted.value
  WHERE (?2 IS NULL OR tag IN (SELECT value FROM json_each(?2)))
    AND (?3 IS NULL OR octet_length(name) > 1000 OR octet_length(tag) > 1000
      OR octet_length(name) <> length(name) OR octet_length(tag) <> length(tag)
      OR instr(lower(name), ?3) > 0 OR instr(lower(tag), ?3) > 0)`

/** Those of the plants with these ids that a filter may mean, and undefined now and then, after so many others. */
export function* candidates(
  statements: StatementCache,
  ids: Iterable<bigint>,
  { tags, words }: PlantFilter,
): Iterable<NewPlant | undefined> {
  const [longest] = words.toSorted((a, b) => b.length - a.length)
  for (const some of chunks(ids)) {
    const values = [`[${some.join()}]`, tags.length === 0 ? null : JSON.stringify(tags), longest ?? null]
    for (const row of statements.iterate(CANDIDATES, ...values)) yield plantOf(row)
    yield undefined
  }
}

/** The tags of the plants with these ids, of those that have one; undefined now and then. */
export function* tagsOf(statements: StatementCache, ids: Iterable<bigint>): Iterable<string | undefined> {
  const sql =
    'SELECT tag FROM json_each(?) AS wanted CROSS JOIN plants ON plants.id = wanted.value WHERE tag IS NOT NULL'
  for (const some of chunks(ids)) {
    for (const [tag] of statements.iterate(sql, `[${some.join()}]`)) yield tag as string
    yield undefined
  }
}

function* chunks(ids: Iterable<bigint>): Iterable<bigint[]> {
  let some: bigint[] = []
  for (const id of ids) {
    some.push(id)
    if (some.length === AT_ONCE) {
      yield some
      some = []
    }
  }
  if (some.length > 0) yield some
}
