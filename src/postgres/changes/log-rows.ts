import type { NewPlant } from '../../domain/plant.ts'
import type { StatementResult } from '../pool/client.ts'
import { bigintArray, textArray, textsOf } from '../rows.ts'

/** A change of one plant, for the log; undefined where no plant has the id. */
export interface LoggedChange {
  readonly before: NewPlant | undefined
  readonly after: NewPlant | undefined
  readonly token: string
  /** The id of its action. */
  readonly action: string | undefined
}

/** A plant before and after changes of it; undefined where no plant has the id. */
export interface Swap {
  readonly id: bigint
  readonly before: NewPlant | undefined
  readonly after: NewPlant | undefined
  /** The changes between the two, in their order and of one action; none while the log is switched off. */
  readonly changes: readonly LoggedChange[]
}

/** Changes in one row of the log, unless those of a single plant are more. A reader reads whole rows. */
export const MAX_ROW_CHANGES = 1000

/** Divides swaps so that each part makes one row of the log. Without a log, all are one part. */
export function* logParts(swaps: readonly Swap[]): Iterable<readonly Swap[]> {
  if (swaps.every((swap) => actionOf(swap) === undefined)) yield* partsOf(swaps)
  else for (const some of Map.groupBy(swaps, actionOf).values()) yield* partsOf(some)
}

export const actionOf = ({ changes }: Swap): string | undefined => changes[0]?.action

function* partsOf(swaps: readonly Swap[]): Iterable<readonly Swap[]> {
  let part: Swap[] = []
  let count = 0
  for (const swap of swaps) {
    if (part.length > 0 && count + swap.changes.length > MAX_ROW_CHANGES) {
      yield part
      part = []
      count = 0
    }
    part.push(swap)
    count += swap.changes.length
  }
  if (part.length > 0) yield part
}

export const logValues = (changes: readonly LoggedChange[]): Buffer[] => [
  bigintArray(changes.map(({ before, after }) => (after ?? before)?.id ?? 0n)),
  ...textsOf(changes.map(({ after }) => after)),
  ...textsOf(changes.map(({ before }) => before)),
  tokensOf(changes),
]

/** Ends a statement with `logged` or `loggedCreates`. */
export const RETURN_WRITTEN = `SELECT CASE WHEN plants < cardinality($1::bigint[])
  THEN coalesce((SELECT array_agg(id) FROM done), '{}') END FROM written`

/**
 * Returns the ids that RETURN_WRITTEN returns. The server returns no list of all ids, as it would take a twentieth of a
 * create.
 *
 * @param all the ids in $1
 */
export function writtenIn({ rows }: StatementResult, all: readonly bigint[]): readonly bigint[] {
  const list = rows[0]?.[0] ?? undefined
  if (list === undefined) return all
  return list === '{}' ? [] : list.slice(1, -1).split(',').map(BigInt)
}

/** The value for the last parameter of `logged` and of `loggedCreates`. */
export function tokensOf(changes: readonly LoggedChange[]): Buffer {
  const [first] = changes
  const isOne = changes.every(({ token }) => token === first?.token)
  return textArray((isOne ? changes.slice(0, 1) : changes).map(({ token }) => token))
}

/**
 * Parts of a WITH that log the changes of the plants in its part `done (id, created_by)`. It follows parts that write
 * plants, the number of which is the length of $1.
 *
 * @param parameters the numbers of the parameters that hold `logValues`
 * @param action the parameter that holds the id of their action; undefined for changes without one
 */
export function logged(parameters: readonly number[], action?: string): string {
  const columns = parameters.map((parameter, i) => `$${parameter}::${i === 0 ? 'bigint' : 'text'}[]`)
  return `${rowsOf(columns, action)},
    indexed AS (INSERT INTO change_plants (plant, number, xid, created_by)
      SELECT done.id, logged.number, logged.xid, done.created_by FROM logged CROSS JOIN done)`
}

/** Like `logged`, for statements that only create plants; their first parameters are ids, names and tags. */
export const loggedCreates = (tokens: string, action?: string): string =>
  rowsOf(['$1::bigint[]', '$2::text[]', '$3::text[]', 'NULL::text[]', 'NULL::text[]', `${tokens}::text[]`], action)

/**
 * Counts the plants in `done` before a row gets its number, so that the number comes after the locks. When all plants
 * are there, the row has the parameters as they are.
 */
function rowsOf(columns: readonly string[], action: string | undefined): string {
  const [ids = '', names = '', tags = '', namesBefore = '', tagsBefore = '', tokens = ''] = columns
  const isNew = namesBefore.startsWith('NULL')
  const collected = (column: string) => `array_agg(${column} ORDER BY at) AS ${column}`
  return `written AS MATERIALIZED (SELECT count(*) AS plants FROM done),
    logged AS (INSERT INTO changes (ids, names, tags, names_before, tags_before, tokens, size${action ? ', action' : ''})
      SELECT *, pg_column_size(ids) + pg_column_size(names) + pg_column_size(tags) + pg_column_size(tokens)
          + coalesce(pg_column_size(names_before) + pg_column_size(tags_before), 0)${action ? `, ${action}::text` : ''} FROM (
        SELECT ${ids} AS ids, ${names} AS names, ${tags} AS tags, ${namesBefore} AS names_before,
            ${tagsBefore} AS tags_before, ${tokens} AS tokens
          FROM written WHERE plants = cardinality($1::bigint[])
        UNION ALL
        SELECT ${['ids', 'names', 'tags'].map(collected).join(', ')},
            ${isNew ? 'NULL, NULL' : ['names_before', 'tags_before'].map(collected).join(', ')},
            CASE cardinality(${tokens}) WHEN 1 THEN ${tokens} ELSE array_agg(tokens ORDER BY at) END
          FROM unnest(${ids}, ${names}, ${tags}, ${isNew ? '' : `${namesBefore}, ${tagsBefore}, `}${tokens})
            WITH ORDINALITY AS change (ids, names, tags, ${isNew ? '' : 'names_before, tags_before, '}tokens, at)
          WHERE (SELECT plants BETWEEN 1 AND cardinality($1::bigint[]) - 1 FROM written)
            AND ids IN (SELECT id FROM done)
          HAVING count(*) > 0) AS made
      RETURNING number, xid${action ? ', ids, names, names_before' : ''})${action ? acted(action) : ''}`
}

/** A plant without a name is absent. */
const acted = (action: string): string => `,
    acted AS (INSERT INTO action_rows (action, number, xid, created, deleted, updated)
      SELECT ${action}::text, number, xid, created, deleted, cardinality(ids) - created - deleted
      FROM logged CROSS JOIN LATERAL (SELECT
        coalesce(cardinality(array_positions(names_before, NULL)), cardinality(ids)) AS created,
        cardinality(array_positions(names, NULL)) AS deleted) AS counts)`
