/** Changes, and milliseconds of work of the index, from which on writes are slowed down. */
const FREE_CHANGES = 5000
const FREE_TIME = 2000
/** The pressure at which writes are slowest: ten times FREE_CHANGES are 50,000 changes. */
const LIMIT = 10
/** Milliseconds of the maximum delay: less than clients wait for an answer. */
const MAX_DELAY = 20_000
/** Plants, or milliseconds, of a step from which on it counts for the rate. */
const TELLING_PLANTS = 500
const TELLING_TIME = 50
/** Plants per millisecond before the first such step. */
const FIRST_RATE = 30
/** Milliseconds after which the weight of earlier steps has fallen to 1/e. */
const MEMORY = 1000

/**
 * Delays writes so that the lag of the index stays bounded: not at all below pressure 1, then to one and a half times
 * the rate of the index, falling to a tenth of it at pressure LIMIT.
 */
export class WritePace {
  readonly #now: () => number
  /** Plants that the index adds per millisecond. */
  #rate = FIRST_RATE
  /** The time at which all admitted writes are due. */
  #due = 0

  /** @param now milliseconds */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now
  }

  /** Called after a step of the index. */
  learn(plants: number, time: number): void {
    if (plants === 0 || (plants < TELLING_PLANTS && time < TELLING_TIME)) return
    this.#rate += (1 - Math.exp(-time / MEMORY)) * (plants / Math.max(time, 1) - this.#rate)
  }

  /** Milliseconds that a write of this many plants waits while the index is this many changes behind. */
  delay(plants: number, behind: number): number {
    const pressure = this.pressure(behind)
    const now = this.#now()
    if (pressure <= 1) {
      this.#due = now
      return 0
    }
    const rate = this.#rate * Math.max(0.1, 1.5 * (1 - (pressure - 1) / (LIMIT - 1)))
    this.#due = Math.max(now, this.#due) + plants / rate
    return Math.min(MAX_DELAY, this.#due - now)
  }

  /** Writes are slowed down from pressure 1 on. */
  pressure(behind: number): number {
    return Math.max(behind / FREE_CHANGES, behind / this.#rate / FREE_TIME)
  }
}
