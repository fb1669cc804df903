import type { Steps } from './steps.ts'

/** Milliseconds between two stored times. Between two starts, no more counts, whatever the wall clock says. */
const STEP = 5 * 60_000

/**
 * The clock of a store, in milliseconds. It counts the time for which programs have the store open, and no step of the
 * wall clock: a machine may begin in 1970, or be set to 2040 for a while. All processes of a store share it. It begins
 * with the wall clock of the first start.
 */
export class SteadyClock {
  readonly #store: string
  #time: number | undefined
  /** `performance.now()` at `#time`. */
  #readAt = 0

  /** @param newest the statement for the newest position of the log, or for its newest tick */
  constructor(newest: string) {
    this.#store = `INSERT INTO steady_times (time, wall, newest) VALUES ($1, $2, coalesce((${newest}), 0))
      ON CONFLICT (time) DO NOTHING`
  }

  /** Reads the clock, and stores its time if the last stored one is old. */
  *now(): Steps<number> {
    const [row] = yield ['SELECT time, wall FROM steady_times ORDER BY time DESC LIMIT 1']
    const [wall, readAt] = [Date.now(), performance.now()]
    const stored = row === undefined ? undefined : { time: Number(row[0]), wall: Number(row[1]) }
    const began = stored === undefined ? wall : stored.time + Math.min(Math.max(0, wall - stored.wall), STEP)
    const time = this.#time === undefined ? began : Math.max(this.#time + readAt - this.#readAt, stored?.time ?? 0)
    this.#time = time
    this.#readAt = readAt
    if (stored === undefined || time - stored.time >= STEP) yield [this.#store, Math.round(time), wall]
    return Math.round(time)
  }
}

/** What was the newest position or tick at a time of the clock, $1. */
export const NEWEST_AT = 'SELECT max(newest) FROM steady_times WHERE time <= $1'
/** Forgets the times before the last one up to $1. */
export const FORGET_TIMES =
  'DELETE FROM steady_times WHERE time < (SELECT max(time) FROM steady_times WHERE time <= $1)'
