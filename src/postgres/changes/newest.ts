import { inTurns } from '../../base/time-slice.ts'
import {
  type ChangeEntry,
  MAX_NEWEST_SEEN,
  NewestEntries,
  type NewestPage,
  type NewestRequest,
} from '../../domain/changes.ts'
import { isBeginning, type Part } from '../../domain/part.ts'
import type { Run } from '../pool/client.ts'
import { bigintArray, textArray } from '../rows.ts'
import { endOf, entriesOf, headOf, makeTick, positionOf } from './read-rows.ts'

/** Rows of the log that one statement looks at. Most rows have many changes, so the first looks at few. */
const FIRST_ROWS = 64
const LATER_ROWS = 1000
/** Changes of which one statement returns the entries, unless a single row has more. */
const STATEMENT_CHANGES = 1000
/** Ticks of one statement. */
const MAX_TICKS = 1000

interface Seen {
  readonly entry: ChangeEntry
  /** The number of its row. */
  readonly number: bigint
}

/** Reads plants by their newest changes, from the last tick back (ChangeLog.newest). */
export async function newestChanges(
  run: Run,
  request: NewestRequest,
  signal: AbortSignal | undefined,
): Promise<NewestPage> {
  const { of, before, limit } = request
  if (before === undefined) await makeTick(run, signal)
  const { history, place: given, last } = await headOf(run, before)
  const newest = new NewestEntries(request)
  const entries: ChangeEntry[] = []
  let place = before === undefined ? endOf(last) : given
  let seen = 0
  for (let maxRows = FIRST_ROWS; ; maxRows = Math.min(LATER_ROWS, 4 * maxRows)) {
    const { tick, number, element } = place
    const values = [tick, number, element, maxRows, STATEMENT_CHANGES].map(String)
    const { rows } = await run({ name: 'newest-rows', text: ROWS, values: [...values, of === 'deleted' ? 't' : 'f'] })
    const [[since = null] = []] = rows
    const oldest = since === null ? undefined : Number(since)
    const found: Seen[] = []
    for (const [, rowTick, mark, rowNumber, changes, time, ...columns] of rows) {
      if (rowTick == null) continue
      const row = { tick: BigInt(rowTick), mark: BigInt(mark ?? 0), number: BigInt(rowNumber ?? 0) }
      const isOfPlace = row.tick === place.tick && row.number === place.number
      const all = [...entriesOf({ history, place: endOf(row) }, row, Number(time), columns)]
      // Entries behind the position have had their page, and may be later ones of plants before it.
      if (isOfPlace) for (const entry of all.splice(place.element).reverse()) newest.candidate(entry)
      found.push(...all.reverse().map((entry) => ({ entry, number: row.number })))
      seen += Number(changes)
    }
    const picked = await inTurns(found, ({ entry, number }) => {
      const own = newest.candidate(entry)
      return own === undefined ? [] : [{ entry: own, number }]
    })
    for (const entry of await withoutLater(run, request, picked.flat())) {
      entries.push(entry)
      if (entries.length === limit) return { entries, next: entry.position, since: oldest }
    }
    const end = rows.at(-1)
    if (end?.[1] == null) return { entries, next: undefined, since: oldest }
    place = { tick: BigInt(end[1]), mark: BigInt(end[2] ?? 0), number: BigInt(end[3] ?? 0), element: 0 }
    if (seen >= MAX_NEWEST_SEEN) return { entries, next: positionOf(history, place), since: oldest }
  }
}

/**
 * Rows before a place, the newest first, until they have enough changes. No row that only creates leaves a plant deleted,
 * so for deleted plants it counts as one change, and comes without entries. As for ROWS of log-sql.ts, the planner must
 * go through the ticks in their order.
 */
const ROWS = `WITH found AS MATERIALIZED (SELECT tick.tick, tick.mark, row.* FROM
      (SELECT * FROM change_ticks WHERE tick <= $1::bigint AND tick > (SELECT min(tick) FROM change_ticks)
        ORDER BY tick DESC LIMIT ${MAX_TICKS}) AS tick
      CROSS JOIN LATERAL (SELECT snapshot FROM change_ticks WHERE tick = tick.tick - 1 OFFSET 0) AS earlier
      CROSS JOIN LATERAL (SELECT number, xid,
          CASE WHEN $6::boolean AND names_before IS NULL THEN 1 ELSE cardinality(ids) END AS changes
        FROM changes_between(earlier.snapshot, tick.snapshot)
        WHERE tick.tick < $1::bigint OR number < $2::bigint OR number = $2 AND $3::integer > 0
        ORDER BY number DESC LIMIT $4) AS row
      LIMIT $4),
    measured AS (SELECT *, sum(changes) OVER (ORDER BY tick DESC, number DESC
      ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS changes_before FROM found)
  SELECT oldest.at, taken.tick, taken.mark, taken.number, changes, round(extract(epoch FROM taken.at) * 1000), entries.*
  FROM (SELECT max(at) AS at FROM
      (SELECT round(extract(epoch FROM at) * 1000) AS at FROM changes ORDER BY xid LIMIT 1) AS first) AS oldest
  LEFT JOIN (SELECT * FROM measured JOIN changes AS log USING (number, xid)
    WHERE coalesce(changes_before, 0) < $5::bigint) AS taken ON true
  LEFT JOIN LATERAL (SELECT array_to_json(ids::text[]), array_to_json(names), array_to_json(tags),
      array_to_json(names_before), array_to_json(tags_before), array_to_json(tokens), action
    WHERE NOT $6 OR names_before IS NOT NULL) AS entries ON true
  ORDER BY taken.tick DESC, taken.number DESC`

/** Leaves out entries behind which a part has another one of their plant. */
async function withoutLater(
  run: Run,
  { of, part }: NewestRequest,
  candidates: readonly Seen[],
): Promise<readonly ChangeEntry[]> {
  if (candidates.length === 0) return []
  const values = [
    bigintArray(candidates.map(({ entry }) => (entry.plant ?? entry.before)?.id ?? 0n)),
    bigintArray(candidates.map(({ number }) => number)),
  ]
  const statement =
    of === 'stored'
      ? { name: 'newest-stored', text: unlessLater(LATER), values }
      : part === undefined
        ? { name: 'newest-deleted', text: unlessLater(LATER, STORED), values }
        : { name: 'newest-left', text: unlessLater(LATER_WITHIN, STORED_WITHIN), values: [...values, ...textsOf(part)] }
  const { rows } = await run(statement)
  return rows.flatMap(([at]) => candidates[Number(at) - 1]?.entry ?? [])
}

const textsOf = (part: Part): Buffer[] => [
  textArray(part.filter((text) => !isBeginning(text))),
  textArray(part.filter(isBeginning)),
]

const unlessLater = (...sources: readonly string[]): string => `SELECT change.at
  FROM unnest($1::bigint[], $2::bigint[]) WITH ORDINALITY AS change (id, number, at)
  WHERE ${sources.map((source) => `NOT EXISTS (SELECT FROM ${source})`).join(' AND ')} ORDER BY change.at`
const LATER = 'change_plants WHERE plant = change.id AND change_plants.number > change.number'
const STORED = 'plants WHERE plants.id = change.id'
const isWithin = (tag: string): string => `(${tag} = ANY ($3::text[])
  OR EXISTS (SELECT FROM unnest($4::text[]) AS beginning WHERE starts_with(${tag}, beginning)))`
const STORED_WITHIN = `${STORED} AND ${isWithin('plants.tag')}`
/** Each change begins with the plant of before. */
const LATER_WITHIN = `change_plants JOIN changes USING (number, xid)
  CROSS JOIN LATERAL unnest(array_positions(ids, change.id)) AS element
  WHERE plant = change.id AND change_plants.number > change.number AND names_before[element] IS NOT NULL
    AND ${isWithin('tags_before[element]')}`
