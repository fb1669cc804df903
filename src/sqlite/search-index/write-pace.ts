/** Writes are slowed down from so many changes on that the index is behind, or from so long on that it needs for them. */
const FREE_CHANGES = 5000
const FREE_TIME = 2000
/** How many times as far behind it may be before next to nothing is written; ten times FREE_CHANGES are 50,000. */
const LIMIT = 10
/** A write waits no longer than this, in milliseconds: not as long as clients wait for an answer. */
const LONGEST = 20_000
/** Steps of so many plants, or so long, tell how quick the index is. */
const TELLING_PLANTS = 500
const TELLING_TIME = 50
/** Plants per millisecond that are assumed before any such step. */
const FIRST_RATE = 30
/** How long a step counts, in milliseconds. */
const MEMORY = 1000

/**
 * How much writes are slowed down, so that the index stays a bounded number of changes behind: not at all while it is near
 * enough, then to half again as many as it takes, and to a tenth of them when it is ten times as far behind.
 */
export class WritePace {
  readonly #now: () => number
  /** Plants that the index takes per millisecond. */
  #rate = FIRST_RATE
  /** When the writes that were admitted so far are due. */
  #due = 0

  /** @param now milliseconds */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now
  }

  /** Told of a step of the index that took so many milliseconds. */
  learn(plants: number, time: number): void {
    if (plants === 0 || (plants < TELLING_PLANTS && time < TELLING_TIME)) return
    this.#rate += (1 - Math.exp(-time / MEMORY)) * (plants / Math.max(time, 1) - this.#rate)
  }

  /** How long a write of so many plants waits, in milliseconds, while the index is so many changes behind. */
  delay(plants: number, behind: number): number {
    const pressure = this.pressure(behind)
    const now = this.#now()
    if (pressure <= 1) {
      this.#due = now
      return 0
    }
    const rate = this.#rate * Math.max(0.1, 1.5 * (1 - (pressure - 1) / (LIMIT - 1)))
    this.#due = Math.max(now, this.#due) + plants / rate
    return Math.min(LONGEST, this.#due - now)
  }

  /** From 1 on writes are slowed down. */
  pressure(behind: number): number {
    return Math.max(behind / FREE_CHANGES, behind / this.#rate / FREE_TIME)
  }
}
