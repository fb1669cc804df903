import { setTimeout as sleep } from 'node:timers/promises'
import {
  type ChangeEntry,
  entryOf,
  otherHistory,
  positionGone,
  readPosition,
  writePosition,
} from '../../domain/changes.ts'
import { outOfReach } from '../../domain/errors.ts'
import type { Run, TextRow } from '../pool/client.ts'
import { bigintArray, plantIn } from '../rows.ts'
import { HEAD, HISTORY, HISTORY_ENTRIES, REST, ROWS, TICK } from './log-sql.ts'

/** A tick (sql/postgres/000001.sql). */
interface Tick {
  readonly tick: bigint
  readonly mark: bigint
}

/** The place of an entry: in the tick in which it became visible, the row with this number, and its element. */
export interface Place extends Tick {
  readonly number: bigint
  readonly element: number
}

/** Hexadecimal digits of the members of a place, in the order in which they compare. */
const DIGITS = { tick: 12, mark: 8, number: 14, element: 4 } as const
const PLACE = new RegExp(
  `^${Object.values(DIGITS)
    .map((digits) => `([0-9a-f]{${digits}})`)
    .join('')}$`,
)
const LAST_NUMBER = 16n ** BigInt(DIGITS.number) - 1n
const LAST_ELEMENT = 16 ** DIGITS.element - 1

/** The place after all entries of a tick. */
export const endOf = ({ tick, mark }: Tick): Place => ({ tick, mark, number: LAST_NUMBER, element: LAST_ELEMENT })

export const isEndOfTick = ({ number }: Place): boolean => number === LAST_NUMBER

export function positionOf(history: string, { tick, mark, number, element }: Place): string {
  const hex = (value: bigint | number, digits: number) => value.toString(16).padStart(digits, '0')
  const place = hex(tick, DIGITS.tick) + hex(mark, DIGITS.mark) + hex(number, DIGITS.number)
  return writePosition({ history, place: place + hex(element, DIGITS.element) })
}

/**
 * Reads a position. Its history may be another one.
 *
 * @throws AppError 40003 for a malformed position
 */
function placeOf(position: string): { readonly history: string; readonly place: Place | undefined } {
  const { history, place } = readPosition(position)
  const [whole, tick, mark, number, element] = PLACE.exec(place) ?? []
  if (whole === undefined) return { history, place: undefined }
  const value = (digits: string | undefined) => BigInt(`0x${digits}`)
  return {
    history,
    place: { tick: value(tick), mark: value(mark), number: value(number), element: Number(value(element)) },
  }
}

/** The tick of a position; undefined for one of another history. */
export function tickOf(position: string, own: string): bigint | undefined {
  const { history, place } = placeOf(position)
  return history === own ? place?.tick : undefined
}

/** Resolves when the last tick has every change that was committed before the call. */
export async function makeTick(run: Run, signal?: AbortSignal): Promise<void> {
  const tick = async () => (await run({ name: 'tick', text: TICK })).rows[0]?.[0] ?? undefined
  if ((await tick()) !== undefined) return
  await sleep(REST * 1.1, undefined, { signal }).catch(() => signal?.throwIfAborted())
  // If the last tick is too young again, another reader has made it during the pause.
  await tick()
}

/** The log between a position and the last tick. */
interface Head {
  readonly history: string
  readonly oldest: Place
  readonly place: Place
  readonly upTo: Tick
  readonly last: Tick
  readonly isLast: boolean
}

/**
 * @param after undefined for the oldest entry
 * @throws AppError 40003 when the position is malformed, 41001 when it is of another history
 */
export async function headOf(run: Run, after: string | undefined): Promise<Head> {
  const given = after === undefined ? undefined : placeOf(after)
  const [row] = (await run({ name: 'change-head', text: HEAD, values: [tickIn(given)] })).rows
  return headIn(row, given)
}

type Given = ReturnType<typeof placeOf> | undefined

const tickIn = (given: Given): string | null => (given?.place === undefined ? null : String(given.place.tick))

function headIn(row: TextRow | undefined, given: Given): Head {
  if (row === undefined) throw outOfReach(new Error('another instance has switched the log of changes off'))
  const tickAt = (at: number): Tick => ({ tick: BigInt(row[at] ?? 0), mark: BigInt(row[at + 1] ?? 0) })
  const [history, last, upTo, oldest] = [row[0] ?? '', tickAt(3), tickAt(5), endOf(tickAt(1))]
  const place = given?.place ?? oldest
  // Another past of this database may have had this tick, before a restore.
  const isOther = row[7] !== null && BigInt(row[7] ?? 0) !== place.mark
  if (
    given !== undefined &&
    (given.history !== history || given.place === undefined || isOther || place.tick > last.tick)
  )
    throw otherHistory(positionOf(history, oldest))
  return { history, oldest, place, upTo, last, isLast: upTo.tick === last.tick }
}

interface LogRow extends Tick {
  readonly number: bigint
  readonly changes: number
  /** The entries of the row from a place on, which it makes as they are read; none where a filter leaves all out. */
  readonly entries: Iterable<ChangeEntry>
}

/**
 * Returns rows of the log from a position on, in order, until they have enough rows or changes.
 *
 * @param tags an array of tags, one of which a row must have to come with its entries; null for any row
 * @returns `isAll` when there are no more rows up to the tick of the head
 * @throws AppError 40003 and 41001, as ChangeLog.read
 */
export async function rowsAfter(
  run: Run,
  after: string | undefined,
  enough: { readonly rows: number; readonly changes: number },
  tags: Buffer | null,
): Promise<{ head: Head; rows: LogRow[]; isAll: boolean }> {
  const given = after === undefined ? undefined : placeOf(after)
  const { number, element } = given?.place ?? endOf({ tick: 0n, mark: 0n })
  const values = [tickIn(given), String(number), element + 1, enough.rows, enough.changes, tags]
  const found = (await run({ name: 'changes-after', text: ROWS, values })).rows
  const head = headIn(found[0], given)
  const { place, oldest } = head
  const isGone = place.tick < oldest.tick || (place.tick === oldest.tick && !isEndOfTick(place))
  if (given !== undefined && isGone) throw positionGone(positionOf(head.history, oldest))
  const rows = found.map((row) => row.slice(8)).filter(([total]) => total !== null)
  const total = Number(rows[0]?.[0] ?? 0)
  return { head, rows: rows.map((row) => logRowOf(head, row)), isAll: rows.length === total && total < enough.rows }
}

function logRowOf(head: Head, [, tick, mark, number, changes, time, ...columns]: TextRow): LogRow {
  const at = { tick: BigInt(tick ?? 0), mark: BigInt(mark ?? 0), number: BigInt(number ?? 0) }
  return { ...at, changes: Number(changes), entries: entriesOf(head, at, Number(time), columns) }
}

export function* entriesOf(
  { history, place }: Pick<Head, 'history' | 'place'>,
  row: Omit<Place, 'element'>,
  time: number,
  columns: TextRow,
): Iterable<ChangeEntry> {
  const action = columns.at(-1) ?? undefined
  const [ids = [], names = [], tags = [], namesBefore = [], tagsBefore = [], tokens = []] = columns
    .slice(0, -1)
    .map((json) => (json === null ? [] : (JSON.parse(json) as (string | null)[])))
  const first = row.tick === place.tick && row.number === place.number ? place.element + 1 : 0
  for (let element = first; element < ids.length; element++) {
    const id = BigInt(ids[element] ?? 0)
    const plant = plantIn(id, names[element], tags[element])
    const before = plantIn(id, namesBefore[element], tagsBefore[element])
    const token = (tokens.length === 1 ? tokens[0] : tokens[element]) ?? ''
    yield entryOf(positionOf(history, { ...row, element }), time, before, plant, token, action)
  }
}

/** The values for unnest($1::bigint[], $2::xid8[]), which are keys of rows. */
const keysOf = (rows: readonly TextRow[]): (Buffer | string)[] => [
  bigintArray(rows.map(([number]) => BigInt(number ?? 0))),
  `{${rows.map(([, xid]) => xid).join()}}`,
]
/** Rows in one statement. */
const HISTORY_ROWS = 100

/**
 * Returns the entries of one plant, newest first.
 *
 * @param before the place before which to begin; undefined for the newest entry
 */
export async function plantHistory(
  run: Run,
  history: string,
  id: bigint,
  before: Place | undefined,
  limit: number,
  signal: AbortSignal | undefined,
): Promise<ChangeEntry[]> {
  // The row of the position may have older entries of the plant, and may tell which transaction created it.
  const values = [String(id), String(before?.number ?? MAX_NUMBER), limit + 1]
  const { rows: keys } = await run({ name: 'history', text: HISTORY, values })
  const entries: ChangeEntry[] = []
  for (let at = 0; at < keys.length; ) {
    const some = [...keysOf(keys.slice(at, at + HISTORY_ROWS)), String(id)]
    const { rows } = await run({ name: 'history-entries', text: HISTORY_ENTRIES, values: some })
    if (rows.some(([tick]) => tick === null)) {
      await makeTick(run, signal)
      continue
    }
    for (const row of rows) {
      const place = placeIn(row)
      if (before !== undefined && place.number === before.number && place.element >= before.element) continue
      const [, , , , time, name, tag, nameBefore, tagBefore, token, action] = row
      const [plant, plantBefore] = [plantIn(id, name, tag), plantIn(id, nameBefore, tagBefore)]
      entries.push(
        entryOf(positionOf(history, place), Number(time), plantBefore, plant, token ?? '', action ?? undefined),
      )
      if (entries.length === limit) return entries
    }
    at += HISTORY_ROWS
  }
  return entries
}

const placeIn = ([tick, mark, number, element]: TextRow): Place => ({
  tick: BigInt(tick ?? 0),
  mark: BigInt(mark ?? 0),
  number: BigInt(number ?? 0),
  element: Number(element),
})

const MAX_NUMBER = 2n ** 63n - 1n
