/**
 * The statements that read the log of changes (sql/postgres/000001.sql), of which decision 41 has the figures.
 *
 * Tried for the order, with eight writers and 6,368 changes: rows by their number lose 1,861 of them, those of finished
 * transactions by number 3,265, and by transaction and number 1,076 come in the wrong order. Ticks lose and turn none.
 *
 * Tried for a page: head, rows and entries by a statement each, between which another instance may remove a row; a
 * statement for each tick, of which a busy store has 20 a second; all rows of 1,000 ticks, so that after an import each
 * page cost as much as the import.
 */

/** Milliseconds between two ticks: each takes a row, and a statement of every reader at the end of the log. */
export const REST = 50

export const TICK = `SELECT tick_changes('${REST} ms', NULL)`

/** The most ticks of a statement. */
const MAX_TICKS = 1000

/** @param enough changes, as a part of SQL, after which the ticks end: a statement reads all rows of a tick */
const head = (
  enough: string,
): string => `SELECT identity, base.tick AS base, base.mark, last.tick, last.mark, up_to.tick AS up_to, up_to.mark, here.mark
  FROM change_history
  CROSS JOIN (SELECT tick, mark, entries FROM change_ticks ORDER BY tick LIMIT 1) AS base
  CROSS JOIN (SELECT tick, mark FROM change_ticks ORDER BY tick DESC LIMIT 1) AS last
  LEFT JOIN change_ticks AS here ON here.tick = $1::bigint
  LEFT JOIN change_ticks AS up_to ON up_to.tick = least(last.tick, coalesce($1::bigint, base.tick) + ${MAX_TICKS},
    (SELECT tick FROM change_ticks WHERE tick > coalesce($1::bigint, base.tick)
      AND entries >= coalesce(here.entries, base.entries) + ${enough} ORDER BY tick LIMIT 1))`
export const HEAD = head('NULL::bigint')

/**
 * A nested loop over the ticks, in their order: OFFSET 0 and LATERAL leave the planner no other. It also keeps the server
 * from making the texts of rows that have no entry to show. JSON is the form of an array of texts that JavaScript reads
 * fastest.
 */
export const ROWS = `WITH head AS MATERIALIZED (${head('$5::bigint')}),
    found AS MATERIALIZED (SELECT tick.tick, tick.mark, row.* FROM head
      CROSS JOIN LATERAL (SELECT * FROM change_ticks WHERE tick BETWEEN coalesce($1::bigint, base) AND up_to
        ORDER BY tick OFFSET 0) AS tick
      CROSS JOIN LATERAL (SELECT snapshot FROM change_ticks WHERE tick = tick.tick - 1 OFFSET 0) AS earlier
      CROSS JOIN LATERAL (SELECT number, xid, cardinality(ids) AS changes
        FROM changes_between(earlier.snapshot, tick.snapshot)
        WHERE tick.tick > coalesce($1::bigint, base) OR number > $2::bigint OR number = $2 AND cardinality(ids) > $3
        ORDER BY number LIMIT $4) AS row
      LIMIT $4),
    measured AS (SELECT *, count(*) OVER () AS total, sum(changes) OVER before AS changes_before FROM found
      WINDOW before AS (ORDER BY tick, number ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING))
  SELECT head.*, total, taken.tick, taken.mark, taken.number, changes, round(extract(epoch FROM at) * 1000), entries.*
  FROM head
  LEFT JOIN (SELECT * FROM measured JOIN changes AS log USING (number, xid)
    WHERE coalesce(changes_before, 0) < $5) AS taken ON true
  LEFT JOIN LATERAL (SELECT array_to_json(ids::text[]), array_to_json(names), array_to_json(tags),
      array_to_json(names_before), array_to_json(tags_before), array_to_json(tokens), action
    WHERE $6::text[] IS NULL OR tags && $6::text[] OR tags_before && $6::text[] OFFSET 0) AS entries ON true
  ORDER BY taken.tick, taken.number`

/** The rows that change the plant, and those that create it: each change names the transaction that created its plant. */
export const HISTORY = `WITH changed AS MATERIALIZED (SELECT number, xid, created_by FROM change_plants
      WHERE plant = $1::bigint AND number <= $2::bigint ORDER BY number DESC LIMIT $3),
    creations AS (SELECT number, xid FROM changes
      WHERE xid = ANY (ARRAY(SELECT created_by FROM changed UNION SELECT created_by FROM plants WHERE id = $1::bigint))
        AND number <= $2::bigint AND ids @> ARRAY[$1::bigint])
  SELECT number, xid FROM (SELECT number, xid FROM changed UNION SELECT number, xid FROM creations) AS row
    ORDER BY number DESC LIMIT $3`

/** The first tick that has the changes of the transaction `xid`. */
export const TICK_OF = `SELECT tick, mark FROM change_ticks
    WHERE pg_snapshot_xmax(snapshot) > xid AND pg_visible_in_snapshot(xid, snapshot)
    ORDER BY pg_snapshot_xmax(snapshot), tick LIMIT 1`

/** The values are keys of rows. */
const KEYS = 'unnest($1::bigint[], $2::xid8[]) AS key (number, xid) JOIN changes USING (number, xid)'

export const HISTORY_ENTRIES = `SELECT tick.tick, tick.mark, number, element - 1, round(extract(epoch FROM at) * 1000),
    names[element], tags[element], names_before[element], tags_before[element],
    tokens[CASE cardinality(tokens) WHEN 1 THEN 1 ELSE element END], action
  FROM ${KEYS}
  CROSS JOIN LATERAL unnest(array_positions(ids, $3::bigint)) AS element
  LEFT JOIN LATERAL (${TICK_OF}) AS tick ON true
  ORDER BY number DESC, element DESC`

/**
 * Rows before a place, the newest first, until they have enough changes. No row that only creates leaves a plant deleted,
 * so for deleted plants it counts as one change, and comes without entries. As for ROWS, the planner must go through the
 * ticks in their order.
 */
export const NEWEST_ROWS = `WITH found AS MATERIALIZED (SELECT tick.tick, tick.mark, row.* FROM
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
    WHERE NOT $6 OR names_before IS NOT NULL OFFSET 0) AS entries ON true
  ORDER BY taken.tick DESC, taken.number DESC`

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

/** Changes, by the ids of their plants and the numbers of their rows, behind which no other one has their plant. */
export const NEWEST_STORED = unlessLater(LATER)
/** Those of them whose plant is not there now. */
export const NEWEST_DELETED = unlessLater(LATER, STORED)
/** The same, of a store with the tags of $3 and the beginnings of tags of $4 alone. */
export const NEWEST_LEFT = unlessLater(LATER_WITHIN, STORED_WITHIN)
