/** The lag, in changes and in milliseconds of work, at which the pressure is 1. */
const FREE_CHANGES = 5000
const FREE_TIME = 2000
/** The pressure at which writes are slowest: 50,000 changes. */
const MAX_PRESSURE = 10
/** Maximum delay of a write in milliseconds: less than the time for which clients wait. */
const MAX_DELAY = 20_000
/** A step counts for the rate from this number of plants on, or from this number of milliseconds on. */
const MIN_STEP_PLANTS = 500
const MIN_STEP_TIME = 50
/** Plants per millisecond before the first such step. */
const FIRST_RATE = 30
/** Milliseconds of work after which the weight of earlier steps has fallen to 1/e. */
const DECAY_TIME = 1000

/**
 * Delays writes so that the lag of the index stays bounded. Below pressure 1 it delays none. Above, it allows one and a
 * half times the rate of the index, falling to a tenth of the rate at pressure MAX_PRESSURE.
 */
export class WritePace {
  readonly #now: () => number
  /** Plants that the index adds per millisecond. */
  #rate = FIRST_RATE
  /** The time until which the admitted writes use the allowed rate. */
  #due = 0

  /** @param now milliseconds */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now
  }

  /** Call it after each step of the index. @param time milliseconds of the step */
  learn(plants: number, time: number): void {
    if (plants === 0 || (plants < MIN_STEP_PLANTS && time < MIN_STEP_TIME)) return
    this.#rate += (1 - Math.exp(-time / DECAY_TIME)) * (plants / Math.max(time, 1) - this.#rate)
  }

  /** Returns the delay, in milliseconds, of a write of this many plants while the index is this many changes behind. */
  delay(plants: number, behind: number): number {
    const pressure = this.pressure(behind)
    const now = this.#now()
    if (pressure <= 1) {
      this.#due = now
      return 0
    }
    const rate = this.#rate * Math.max(0.1, 1.5 * (1 - (pressure - 1) / (MAX_PRESSURE - 1)))
    this.#due = Math.max(now, this.#due) + plants / rate
    return Math.min(MAX_DELAY, this.#due - now)
  }

  /** Returns the lag in proportion to the lag at which writes slow down. */
  pressure(behind: number): number {
    return Math.max(behind / FREE_CHANGES, behind / this.#rate / FREE_TIME)
  }
}
