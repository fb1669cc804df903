import { type ChangeEntry, changeText } from '../../domain/changes.ts'
import type { NewPlant } from '../../domain/plant.ts'
import { PAGE_TEXT } from '../../domain/plant-query.ts'
import type { Row, Run } from '../pool/client.ts'
import { bigintArray } from '../rows.ts'
import { type Place, positionOf, type Tick } from './place.ts'

/** A row of the log in its tick, without its entries. */
export interface LogRow extends Tick {
  readonly number: bigint
  readonly xid: string
  readonly changes: number
  /** Bytes, at least as many as UTF-16 units. */
  readonly size: number
}

/** The entries of a row; undefined where a filter leaves all of them out. */
interface RowEntries {
  readonly time: number
  readonly ids: readonly string[]
  readonly names: Texts
  readonly tags: Texts
  readonly namesBefore: Texts
  readonly tagsBefore: Texts
  readonly tokens: readonly string[]
}
type Texts = readonly (string | null)[]

/**
 * Returns rows from a place on, in the order of the log, until they have enough changes or text.
 *
 * @returns `isAll` when there are no more rows up to the tick
 */
export async function rowsAfter(
  run: Run,
  { place, upTo }: { readonly place: Place; readonly upTo: Tick },
  limit: number,
  enough: { readonly changes: number; readonly text: number },
): Promise<{ rows: LogRow[]; isAll: boolean }> {
  const values = [place.tick, upTo.tick, place.number].map(String)
  const found = (await run({ name: 'changes-after', text: ROWS, values: [...values, limit] })).rows.map(logRowOf)
  const rows: LogRow[] = []
  let changes = 0
  let text = 0
  for (const row of found) {
    rows.push(row)
    const rest = row.changes - firstElement(place, row)
    changes += rest
    // The text of a row that was read to its end must not end the page before the next row.
    if (rest > 0) text += row.size
    if (changes >= enough.changes || text >= enough.text) break
  }
  return { rows, isAll: rows.length === found.length && found.length < limit }
}

/** The first element of a row after a place. */
const firstElement = ({ tick, number, element }: Place, row: LogRow): number =>
  row.tick === tick && row.number === number ? element + 1 : 0

const logRowOf = ([tick, mark, number, xid, changes, size]: Row): LogRow => ({
  tick: BigInt(tick ?? 0),
  mark: BigInt(mark ?? 0),
  number: BigInt(number ?? 0),
  xid: xid ?? '',
  changes: Number(changes),
  size: Number(size),
})

/** A nested loop over the ticks $1 to $2, in their order: OFFSET 0 and LATERAL leave the planner no other. */
const ROWS = `SELECT tick.tick, tick.mark, row.* FROM
    (SELECT * FROM change_ticks WHERE tick BETWEEN $1::bigint AND $2::bigint ORDER BY tick OFFSET 0) AS tick
    CROSS JOIN LATERAL (SELECT snapshot FROM change_ticks WHERE tick = tick.tick - 1 OFFSET 0) AS base
    CROSS JOIN LATERAL (SELECT number, xid, cardinality(ids), size FROM changes_between(base.snapshot, tick.snapshot)
      WHERE tick.tick > $1::bigint OR number >= $3::bigint ORDER BY number LIMIT $4) AS row
  LIMIT $4`

/**
 * Returns the entries of rows, by the numbers of the rows; undefined if one of the rows was removed.
 *
 * @param tags an array of tags, one of which a row must have; null for any row
 */
export async function selectEntries(
  run: Run,
  rows: readonly LogRow[],
  tags: Buffer | null,
): Promise<Map<bigint, RowEntries | undefined> | undefined> {
  if (rows.length === 0) return new Map()
  const values = [...keysOf(rows), tags]
  const found = (await run({ name: 'change-entries', text: ENTRIES, values })).rows
  if (found.length < rows.length) return undefined
  return new Map(found.map((row) => [BigInt(row[0] ?? 0), rowEntriesOf(row)]))
}

/** The values for unnest($1::bigint[], $2::xid8[]), which are keys of rows. */
const keysOf = (rows: readonly Pick<LogRow, 'number' | 'xid'>[]): (Buffer | string)[] => [
  bigintArray(rows.map(({ number }) => number)),
  `{${rows.map(({ xid }) => xid).join()}}`,
]
const KEYS = 'unnest($1::bigint[], $2::xid8[]) AS key (number, xid) JOIN changes USING (number, xid)'

/** JSON is the form of an array of texts that JavaScript reads fastest. */
const ENTRIES = `SELECT number, round(extract(epoch FROM at) * 1000), entries.* FROM ${KEYS}
  LEFT JOIN LATERAL (SELECT array_to_json(ids::text[]), array_to_json(names), array_to_json(tags),
      array_to_json(names_before), array_to_json(tags_before), array_to_json(tokens)
    WHERE $3::text[] IS NULL OR tags && $3::text[] OR tags_before && $3::text[]) AS entries ON true`

function rowEntriesOf([, time, ids, names, tags, namesBefore, tagsBefore, tokens]: Row): RowEntries | undefined {
  if (ids == null) return undefined
  const parse = (json: string | null | undefined) => (json == null ? [] : JSON.parse(json))
  return {
    time: Number(time),
    ids: parse(ids),
    names: parse(names),
    tags: parse(tags),
    namesBefore: parse(namesBefore),
    tagsBefore: parse(tagsBefore),
    tokens: parse(tokens),
  }
}

/** Makes entries of rows, from a place on. */
export function* entriesOf(
  history: string,
  place: Place,
  rows: readonly LogRow[],
  found: ReadonlyMap<bigint, RowEntries | undefined>,
): Iterable<ChangeEntry> {
  for (const row of rows) {
    const entries = found.get(row.number)
    if (entries === undefined) continue
    const { time, ids, names, tags, namesBefore, tagsBefore, tokens } = entries
    for (let element = firstElement(place, row); element < ids.length; element++) {
      const id = BigInt(ids[element] ?? 0)
      const plant = plantOf(id, names[element], tags[element])
      const before = plantOf(id, namesBefore[element], tagsBefore[element])
      const token = (tokens.length === 1 ? tokens[0] : tokens[element]) ?? ''
      yield entryOf(positionOf(history, { ...row, element }), time, plant, before, token)
    }
  }
}

const plantOf = (id: bigint, name: string | null | undefined, tag: string | null | undefined): NewPlant | undefined =>
  name == null ? undefined : { id, name, tag: tag ?? undefined }

function entryOf(
  position: string,
  time: number,
  plant: NewPlant | undefined,
  before: NewPlant | undefined,
  token: string,
): ChangeEntry {
  const type = before === undefined ? 'plant.created' : plant === undefined ? 'plant.deleted' : 'plant.updated'
  return { position, type, time, plant, before, token }
}

/** Rows in the first statement; the others have as many as their text allows. */
const FIRST_ROWS = 4

/**
 * Returns the entries of one plant, newest first.
 *
 * @param makeTick resolves when every entry has a tick
 */
export async function plantHistory(
  run: Run,
  request: {
    readonly history: string
    readonly id: bigint
    readonly before: Place | undefined
    readonly limit: number
  },
  makeTick: () => Promise<void>,
): Promise<ChangeEntry[]> {
  const { history, id, before, limit } = request
  // The row of the position may have older entries of the plant, and may tell which transaction created it.
  const values = [String(id), String(before?.number ?? MAX_NUMBER), limit + 1]
  const { rows: found } = await run({ name: 'history', text: HISTORY, values })
  const keys = found.map(([number, xid]) => ({ number: BigInt(number ?? 0), xid: xid ?? '' }))
  const entries: ChangeEntry[] = []
  let text = 0
  for (let at = 0, size = FIRST_ROWS; at < keys.length; ) {
    const some = [...keysOf(keys.slice(at, at + size)), String(id)]
    const { rows } = await run({ name: 'history-entries', text: HISTORY_ENTRIES, values: some })
    if (rows.some(([tick]) => tick === null)) {
      await makeTick()
      continue
    }
    for (const row of rows) {
      const place = placeIn(row)
      if (before !== undefined && place.number === before.number && place.element >= before.element) continue
      const [, , , , time, name, tag, nameBefore, tagBefore, token] = row
      const [plant, plantBefore] = [plantOf(id, name, tag), plantOf(id, nameBefore, tagBefore)]
      entries.push(entryOf(positionOf(history, place), Number(time), plant, plantBefore, token ?? ''))
      // The one entry that is too much shows that there is another page.
      if (entries.length === limit || text >= PAGE_TEXT) return entries
      text += changeText({ plant, before: plantBefore })
    }
    at += size
    size = Math.max(1, Math.min(keys.length, Math.floor((at * PAGE_TEXT) / (text + 1))))
  }
  return entries
}

const placeIn = ([tick, mark, number, element]: Row): Place => ({
  tick: BigInt(tick ?? 0),
  mark: BigInt(mark ?? 0),
  number: BigInt(number ?? 0),
  element: Number(element),
})

const MAX_NUMBER = 2n ** 63n - 1n

/** The rows that change the plant, and those that create it: each change names the transaction that created its plant. */
const HISTORY = `WITH changed AS MATERIALIZED (SELECT number, xid, created_by FROM change_plants
      WHERE plant = $1::bigint AND number <= $2::bigint ORDER BY number DESC LIMIT $3),
    creations AS (SELECT number, xid FROM changes
      WHERE xid = ANY (ARRAY(SELECT created_by FROM changed UNION SELECT created_by FROM plants WHERE id = $1::bigint))
        AND number <= $2::bigint AND ids @> ARRAY[$1::bigint])
  SELECT number, xid FROM (SELECT number, xid FROM changed UNION SELECT number, xid FROM creations) AS row
    ORDER BY number DESC LIMIT $3`

const HISTORY_ENTRIES = `SELECT tick.tick, tick.mark, number, element - 1, round(extract(epoch FROM at) * 1000),
    names[element], tags[element], names_before[element], tags_before[element],
    tokens[CASE cardinality(tokens) WHEN 1 THEN 1 ELSE element END]
  FROM ${KEYS}
  CROSS JOIN LATERAL unnest(array_positions(ids, $3::bigint)) AS element
  LEFT JOIN LATERAL (SELECT tick, mark FROM change_ticks
    WHERE pg_snapshot_xmax(snapshot) > xid AND pg_visible_in_snapshot(xid, snapshot)
    ORDER BY pg_snapshot_xmax(snapshot), tick LIMIT 1) AS tick ON true
  ORDER BY number DESC, element DESC`
