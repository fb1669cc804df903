import { setTimeout as sleep } from 'node:timers/promises'
import { FORGET_TIMES, NEWEST_AT } from '../../records/steady-clock.ts'
import { owedPositions } from '../../records/webhooks.ts'
import type { Run, TextRow } from '../pool/client.ts'
import type { PoolShare } from '../pool/pool-share.ts'
import { postgresClock, runSteps } from '../rows.ts'
import { tickOf } from './read-rows.ts'

export interface RetentionOptions {
  /** Milliseconds and bytes. */
  readonly keep: number
  readonly keepSize: number
}

/** Milliseconds between two rounds: the log is larger than its bounds by what is written meanwhile. */
const INTERVAL = 60_000
/** Ticks, and rows of the log, that one statement removes: it takes a few milliseconds, and holds no lock of a writer. */
const REMOVED_TICKS = 1000
const REMOVED_ROWS = 100

/** Removes the oldest changes, in whole ticks. Of all instances, one at a time does. */
export class Retention {
  readonly #share: PoolShare
  readonly #options: RetentionOptions
  readonly #clock = postgresClock()
  #timer: NodeJS.Timeout | undefined
  #isClosed = false

  constructor(share: PoolShare, options: RetentionOptions) {
    this.#share = share
    this.#options = options
  }

  start(): void {
    this.#timer = setTimeout(() => {
      // The next round removes what this one has left.
      void this.run()
        .catch(() => {})
        .finally(() => this.#isClosed || this.start())
    }, INTERVAL).unref()
  }

  close(): void {
    this.#isClosed = true
    clearTimeout(this.#timer)
  }

  /**
   * Removes what is older or more than the bounds; what an active webhook has not delivered is never too old. Makes a
   * tick first, so that a tick has the changes of one interval.
   */
  async run(): Promise<void> {
    const { run } = this.#share
    const { keep, keepSize } = this.#options
    await run({ text: "SELECT tick_changes('0', NULL)" })
    const since = (await runSteps(run, this.#clock.now())) - keep
    const owed = await this.#owedTick()
    const rowOf = async (text: string, values: unknown[]) => (await run({ text, values })).rows[0]
    await this.#repeat(() => rowOf(TRIM_TICKS, [since, owed, keepSize, REMOVED_TICKS]))
    await this.#repeat((last) => rowOf(TRIM_CHANGES, [last?.[1] ?? '0', REMOVED_ROWS]))
    await this.#repeat(() => rowOf(TRIM_ACTIONS, [REMOVED_ROWS]))
    await run({ text: FORGET_TIMES, values: [since] })
    await this.#repeat(() => this.#share.transaction('BEGIN', sumAction))
  }

  /** The tick up to which no webhook owes anything; null for none. */
  async #owedTick(): Promise<string | null> {
    const [[history = ''] = []] = (await this.#share.run({ text: 'SELECT identity FROM change_history' })).rows
    const ticks = (await runSteps(this.#share.run, owedPositions())).flatMap(
      (position) => tickOf(position, history ?? '') ?? [],
    )
    const [oldest] = ticks.toSorted((one, other) => Number(one - other))
    return oldest === undefined ? null : String(oldest - 1n)
  }

  /** Repeats a step that returns how many rows it has found, and pauses for as long as it takes. */
  async #repeat(step: (last: TextRow | undefined) => Promise<TextRow | undefined>): Promise<void> {
    for (let last: TextRow | undefined; last?.[0] !== '0' && !this.#isClosed; ) {
      const start = performance.now()
      last = (await step(last)) ?? ['0']
      await sleep(performance.now() - start, undefined, { ref: false })
    }
  }
}

/** The bytes "PLNT" and "TRIM". */
const MY_TURN = '(SELECT pg_try_advisory_xact_lock(5786085745363142989))'

/** Removes the ticks before the one that has all changes that are too old or too many. The last two ticks stay. */
const TRIM_TICKS = `WITH last AS (SELECT tick, bytes FROM change_ticks ORDER BY tick DESC LIMIT 1),
    old AS (SELECT coalesce((${NEWEST_AT}), 0) AS tick),
    small AS (SELECT tick FROM change_ticks
      WHERE bytes >= (SELECT bytes FROM last) - $3::bigint ORDER BY tick LIMIT 1),
    base AS (SELECT least(greatest(least(old.tick, $2::bigint), small.tick), last.tick - 1) AS tick
      FROM last CROSS JOIN small CROSS JOIN old),
    removed AS (DELETE FROM change_ticks WHERE tick = ANY (ARRAY(SELECT tick FROM change_ticks
        WHERE tick < (SELECT tick FROM base) ORDER BY tick LIMIT $4)) AND ${MY_TURN} RETURNING tick)
  SELECT count(*) FROM removed`

/** Removes changes that the first tick has, from a transaction on. @returns their number, and their last transaction */
const TRIM_CHANGES = `WITH base AS (SELECT snapshot FROM change_ticks ORDER BY tick LIMIT 1),
    removed AS (DELETE FROM changes WHERE ctid = ANY (ARRAY(SELECT changes.ctid FROM changes, base
        WHERE xid >= $1::xid8 AND xid < pg_snapshot_xmax(snapshot) AND pg_visible_in_snapshot(xid, snapshot)
        ORDER BY xid LIMIT $2)) AND ${MY_TURN} RETURNING xid, number, ids, names_before, action),
    unindexed AS (DELETE FROM change_plants USING
        (SELECT DISTINCT unnest(ids) AS plant, number FROM removed WHERE names_before IS NOT NULL) AS gone
      WHERE change_plants.plant = gone.plant AND change_plants.number = gone.number),
    unacted AS (DELETE FROM action_rows USING removed
      WHERE action_rows.action = removed.action AND action_rows.number = removed.number),
    partial AS (UPDATE actions SET is_partial = true WHERE id IN (SELECT action FROM removed))
  SELECT count(*), (SELECT xid FROM removed ORDER BY xid DESC LIMIT 1) FROM removed`

/**
 * Removes actions of which the log has no change any more, or never had one: instances of the release before store a name
 * before the changes, and a day tells such actions from those that begin.
 */
const TRIM_ACTIONS = `WITH removed AS (DELETE FROM actions WHERE id = ANY (ARRAY(SELECT id FROM actions
      WHERE (is_partial OR began < (SELECT extract(epoch FROM made_at - interval '1 day') * 1000
          FROM change_ticks ORDER BY tick LIMIT 1))
        AND NOT EXISTS (SELECT FROM action_rows WHERE action = id)
      LIMIT $1)) AND ${MY_TURN} RETURNING id)
  SELECT count(*) FROM removed`

/** Adds up one action from before sums, between two ticks, which add what is new. */
async function sumAction(run: Run): Promise<TextRow | undefined> {
  await run({ text: NO_TICK })
  return (await run({ text: SUM_ACTION })).rows[0]
}

/** The bytes "PLNT" and "TICK", as in tick_changes. */
const NO_TICK = 'SELECT pg_advisory_xact_lock(5786085745362551627)'
/** An undo under way locks its own action. */
const SUM_ACTION = `WITH found AS (UPDATE actions SET is_summed = true WHERE id = ANY (ARRAY(SELECT id FROM actions
      WHERE NOT is_summed ORDER BY began DESC LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED)) RETURNING id),
    summed AS (INSERT INTO action_sums SELECT action, max(at), sum(created), sum(updated), sum(deleted)
      FROM action_rows WHERE action = ANY (ARRAY(SELECT id FROM found))
        AND pg_visible_in_snapshot(xid, (SELECT snapshot FROM change_ticks ORDER BY tick DESC LIMIT 1))
      GROUP BY action)
  SELECT count(*) FROM found`
