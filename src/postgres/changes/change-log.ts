import {
  type ChangeEntry,
  type ChangeLog,
  type ChangeLogUse,
  type ChangePage,
  type ChangeRequest,
  type NewestPage,
  type NewestRequest,
  selected,
} from '../../domain/changes.ts'
import { hasTagging } from '../../domain/plant-query.ts'
import type { Run } from '../pool/client.ts'
import type { PoolShare } from '../pool/pool-share.ts'
import { textArray } from '../rows.ts'
import { readActionPage } from './actions.ts'
import { TICK } from './log-sql.ts'
import { newestChanges } from './newest.ts'
import { endOf, headOf, makeTick, plantHistory, positionOf, rowsAfter } from './read-rows.ts'

/** Milliseconds for which one read goes on, through entries that its filter leaves out. */
const READ_TIME = 500
/** Rows of the log that one statement looks at. Most rows have many changes, so the first looks at few. */
const FIRST_ROWS = 64
const LATER_ROWS = 1000
/** Changes of which one statement returns those with a tag. */
const FILTERED = 20_000
/** Changes that one statement returns for another filter on tags, which is applied here: 2 MB of the longest plants. */
const UNFILTERED = 1000

/** Changes of one instance after which it makes a tick: a reader looks for each page through all rows of its tick. */
const TICK_CHANGES = 10_000
/** Changes for which each commit counts besides its own, as it has a row at least. */
const COMMIT_CHANGES = 100

/** The log of changes (sql/postgres/000001.sql). */
export class PostgresChangeLog implements ChangeLog {
  readonly #share: PoolShare
  #changes = 0
  #ticking: Promise<void> | undefined

  constructor(share: PoolShare) {
    this.#share = share
  }

  async end(): Promise<string> {
    const run = this.#run()
    await makeTick(run)
    const { history, last } = await headOf(run, undefined)
    return positionOf(history, endOf(last))
  }

  read(request: ChangeRequest, signal?: AbortSignal): Promise<ChangePage> {
    const run = this.#run(signal)
    return request.action === undefined ? readPage(run, request, signal) : readActionPage(run, request, signal)
  }

  async history(id: bigint, before: string | undefined, limit: number, signal?: AbortSignal): Promise<ChangeEntry[]> {
    const run = this.#run(signal)
    const { history, place } = await headOf(run, before)
    return plantHistory(run, history, id, before === undefined ? undefined : place, limit, signal)
  }

  newest(request: NewestRequest, signal?: AbortSignal): Promise<NewestPage> {
    return newestChanges(this.#run(signal), request, signal)
  }

  async usage(): Promise<ChangeLogUse> {
    const run = this.#run()
    await makeTick(run)
    const [[entries = 0, bytes = 0, oldest = null] = []] = (await run({ name: 'change-use', text: USE })).rows
    return { entries: Number(entries), bytes: Number(bytes), oldest: oldest === null ? undefined : Number(oldest) }
  }

  /** Call it after each write of changes. */
  wrote(changes: number): void {
    this.#changes += changes + COMMIT_CHANGES
    void this.ticked()
  }

  /** Makes a tick if one is due. Long work awaits it, as it could be faster than the ticks. */
  ticked(): Promise<void> | undefined {
    if (this.#changes >= TICK_CHANGES) this.#ticking ??= this.#tick()
    return this.#ticking
  }

  /** If the last tick is too young, the next commit tries again. */
  async #tick(): Promise<void> {
    const counted = this.#changes
    const made = await this.#share.run({ text: TICK }).catch(() => undefined)
    if (made?.rows[0]?.[0] != null) this.#changes -= counted
    this.#ticking = undefined
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
  const { limit, tags } = request
  const atOnce = tags.length > 0 ? FILTERED : hasTagging(request) ? UNFILTERED : 0
  const until = performance.now() + READ_TIME
  const filter = tags.length === 0 ? null : textArray(tags)
  const entries: ChangeEntry[] = []
  let { after } = request
  let isFresh = false
  for (let maxRows = FIRST_ROWS; ; maxRows = Math.min(LATER_ROWS, 4 * maxRows)) {
    const enough = { rows: maxRows, changes: Math.max(limit - entries.length, atOnce) }
    const { head, rows, isAll } = await rowsAfter(run, after, enough, filter)
    for (const row of rows) {
      for (const entry of row.entries) {
        const own = selected(request, entry)
        if (own === undefined) continue
        entries.push(own)
        if (entries.length === limit) return { entries, next: entry.position, isEnd: false }
      }
    }
    const last = rows.at(-1)
    if (isAll) after = positionOf(head.history, endOf(head.upTo))
    else if (last !== undefined) after = positionOf(head.history, { ...last, element: last.changes - 1 })
    const isEnd = isAll && head.isLast
    if ((isEnd && isFresh) || performance.now() > until) return { entries, next: after ?? '', isEnd: isEnd && isFresh }
    if (!isEnd) continue
    await makeTick(run, signal)
    isFresh = true
  }
}

const USE = `SELECT last.entries - base.entries, last.bytes - base.bytes,
    (SELECT round(extract(epoch FROM at) * 1000) FROM changes ORDER BY xid LIMIT 1)
  FROM (SELECT * FROM change_ticks ORDER BY tick LIMIT 1) AS base
  CROSS JOIN (SELECT * FROM change_ticks ORDER BY tick DESC LIMIT 1) AS last`
