import { setTimeout as sleep } from 'node:timers/promises'
import {
  type ChangeEntry,
  type ChangeLog,
  type ChangeLogUse,
  type ChangePage,
  type ChangeRequest,
  changeText,
  isSelected,
  otherHistory,
  positionGone,
} from '../../domain/changes.ts'
import { PAGE_TEXT } from '../../domain/plant-query.ts'
import { outOfReach } from '../errors.ts'
import type { Row, Run } from '../pool/client.ts'
import type { PoolShare } from '../pool/pool-share.ts'
import { textArray } from '../rows.ts'
import { endOf, isEndOfTick, type Place, placeOf, positionOf, type Tick } from './place.ts'
import { entriesOf, plantHistory, rowsAfter, selectEntries } from './read-rows.ts'

/** Milliseconds between two ticks: each takes a row, and a statement of every reader at the end of the log. */
const REST = 50
/** Milliseconds for which one read goes on, through entries that its filter leaves out. */
const READ_TIME = 500
/** Ticks and rows of the log that one statement looks at. Most rows have many changes, so the first looks at few. */
const MAX_TICKS = 1000
const FIRST_ROWS = 64
const MAX_ROWS = 1000
/** Changes of which one statement returns those with a tag. */
const FILTERED = 20_000

/** Commits of one instance in one tick. */
const MAX_COMMITS = 1000

/** The log between a position and the last tick. */
interface Head {
  readonly history: string
  readonly oldest: Place
  readonly place: Place
  /** The tick up to which to read. */
  readonly upTo: Tick
  readonly isLast: boolean
}

/** The log of changes (sql/postgres/000011.sql) of a store that is not distributed. */
export class PostgresChangeLog implements ChangeLog {
  readonly #share: PoolShare
  #commits = 0

  constructor(share: PoolShare) {
    this.#share = share
  }

  async end(): Promise<string> {
    const run = this.#run()
    await makeTick(run)
    const { history, upTo } = await headOf(run, undefined)
    return positionOf(history, endOf(upTo))
  }

  read(request: ChangeRequest, signal?: AbortSignal): Promise<ChangePage> {
    return readPage(this.#run(signal), request, signal)
  }

  async history(id: bigint, before: string | undefined, limit: number, signal?: AbortSignal): Promise<ChangeEntry[]> {
    const run = this.#run(signal)
    const { history, oldest, place } = await headOf(run, before, 'any')
    if (before !== undefined && place === oldest) throw otherHistory(positionOf(history, oldest))
    return plantHistory(run, { history, id, before: before === undefined ? undefined : place, limit }, () =>
      makeTick(run, signal),
    )
  }

  /** Other instances write too, so this waits for as long as no tick may be made. */
  async grown(signal: AbortSignal): Promise<void> {
    await sleep(REST, undefined, { signal }).catch(() => {})
  }

  async usage(): Promise<ChangeLogUse> {
    const run = this.#run()
    await makeTick(run)
    const [[entries = 0, bytes = 0, oldest = null] = []] = (await run({ name: 'change-use', text: USE })).rows
    return { entries: Number(entries), bytes: Number(bytes), oldest: oldest === null ? undefined : Number(oldest) }
  }

  /** Call it after each commit of changes. A reader of a tick with very many rows would sort them for each page. */
  wrote(): void {
    if (++this.#commits % MAX_COMMITS === 0) this.#share.run({ text: TICK }).catch(() => {})
  }

  /**
   * Makes a position of the snapshot of another transaction.
   *
   * @returns undefined when there is a tick after the snapshot already
   */
  async positionOfSnapshot(snapshot: string): Promise<string | undefined> {
    const run = this.#run()
    const text = 'SELECT tick_changes(NULL, $1)'
    const [tick = null] = (await run({ name: 'tick-export', text, values: [snapshot] })).rows[0] ?? []
    if (tick === null) return undefined
    const { rows } = await run({
      text: 'SELECT identity, mark FROM change_history, change_ticks WHERE tick = $1',
      values: [tick],
    })
    const [history, mark] = rows[0] ?? []
    return positionOf(history ?? '', endOf({ tick: BigInt(tick), mark: BigInt(mark ?? 0) }))
  }

  #run(signal?: AbortSignal): Run {
    return this.#share.within(this.#share.budget(signal))
  }
}

/** Reads through the ticks, and makes one at their end. */
async function readPage(run: Run, request: ChangeRequest, signal?: AbortSignal): Promise<ChangePage> {
  const { limit, text: maxText = PAGE_TEXT, tags } = request
  const until = performance.now() + READ_TIME
  const entries: ChangeEntry[] = []
  const filter = tags.length === 0 ? null : textArray(tags)
  let text = 0
  let maxRows = FIRST_ROWS
  let after = request.after
  for (let isFresh = false; ; ) {
    const head = await headOf(run, after)
    const { history, upTo, isLast } = head
    const changes = filter === null ? limit - entries.length : FILTERED
    const { rows, isAll } = await rowsAfter(run, head, maxRows, { changes, text: maxText - text })
    maxRows = Math.min(MAX_ROWS, 4 * maxRows)
    const found = await selectEntries(run, rows, filter)
    // The oldest entries were removed meanwhile; if they follow the position, the head says so.
    if (found === undefined && entries.length === 0) continue
    if (found === undefined) return { entries, next: after ?? '', isEnd: false }
    for (const entry of entriesOf(history, head.place, rows, found)) {
      after = entry.position
      if (!isSelected(request, entry)) continue
      entries.push(entry)
      text += changeText(entry)
      if (entries.length === limit || text >= maxText) return { entries, next: entry.position, isEnd: false }
    }
    const last = rows.at(-1)
    if (isAll) after = positionOf(history, endOf(upTo))
    else if (last !== undefined) after = positionOf(history, { ...last, element: last.changes - 1 })
    if (isAll && isLast && isFresh) return { entries, next: after ?? '', isEnd: true }
    if (performance.now() > until) return { entries, next: after ?? '', isEnd: false }
    if (isAll && isLast) {
      await makeTick(run, signal)
      isFresh = true
    }
  }
}

/** Resolves when the last tick has every change that was committed before the call. */
async function makeTick(run: Run, signal?: AbortSignal): Promise<void> {
  const tick = async () => (await run({ name: 'tick', text: TICK })).rows[0]?.[0] ?? undefined
  if ((await tick()) !== undefined) return
  await sleep(REST * 1.1, undefined, { signal })
  // If the last tick is too young again, another reader has made it during the pause.
  await tick()
}

const TICK = `SELECT tick_changes('${REST} ms', NULL)`

/**
 * @param after undefined for the oldest entry
 * @param kept whether the entries after the position must be there
 * @throws AppError 40003 and 41001, as ChangeLog.read
 */
async function headOf(run: Run, after: string | undefined, kept: 'kept' | 'any' = 'kept'): Promise<Head> {
  const given = after === undefined ? undefined : placeOf(after)
  const values = [given?.place === undefined ? null : String(given.place.tick)]
  const [row] = (await run({ name: 'change-head', text: HEAD, values })).rows
  if (row === undefined) throw outOfReach(new Error('another instance has switched the log of changes off'))
  const [history, base, last, upTo] = [row[0] ?? '', tickOf(row, 1), tickOf(row, 3), tickOf(row, 5)]
  const oldest = endOf(base)
  const place = given?.place ?? oldest
  if (given !== undefined) {
    // Another past of this database may have had this tick, before a restore.
    const isOther = row[7] !== null && BigInt(row[7] ?? 0) !== place.mark
    if (given.history !== history || given.place === undefined || isOther || place.tick > last.tick) {
      throw otherHistory(positionOf(history, oldest))
    }
    const isGone = place.tick < base.tick || (place.tick === base.tick && !isEndOfTick(place))
    if (kept === 'kept' && isGone) throw positionGone(positionOf(history, oldest))
  }
  return { history, oldest, place, upTo, isLast: upTo.tick === last.tick }
}

const tickOf = (row: Row, at: number): Tick => ({ tick: BigInt(row[at] ?? 0), mark: BigInt(row[at + 1] ?? 0) })

const HEAD = `SELECT identity, base.tick, base.mark, last.tick, last.mark, up_to.tick, up_to.mark, here.mark
  FROM change_history
  CROSS JOIN (SELECT tick, mark FROM change_ticks ORDER BY tick LIMIT 1) AS base
  CROSS JOIN (SELECT tick, mark FROM change_ticks ORDER BY tick DESC LIMIT 1) AS last
  LEFT JOIN change_ticks AS here ON here.tick = $1::bigint
  LEFT JOIN change_ticks AS up_to ON up_to.tick = least(last.tick, coalesce($1::bigint, base.tick) + ${MAX_TICKS})`

const USE = `SELECT last.entries - base.entries, last.bytes - base.bytes,
    (SELECT round(extract(epoch FROM at) * 1000) FROM changes ORDER BY xid LIMIT 1)
  FROM (SELECT * FROM change_ticks ORDER BY tick LIMIT 1) AS base
  CROSS JOIN (SELECT * FROM change_ticks ORDER BY tick DESC LIMIT 1) AS last`
