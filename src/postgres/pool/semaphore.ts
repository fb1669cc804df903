import { type Budget, within } from './budget.ts'

/** The present use of a semaphore: its limit, the permits taken, and the callers that wait. */
export interface SemaphoreUse {
  readonly limit: number
  readonly taken: number
  readonly waiting: number
}

/** A counting semaphore whose limit may change. Callers wait in FIFO order, each until the end of its budget. */
export class Semaphore implements SemaphoreUse {
  readonly #limit: () => number
  readonly #late: () => Error
  readonly #line: (() => void)[] = []
  #taken = 0

  /**
   * @param limit returns the present limit
   * @param late makes the error for a caller whose budget ends while it waits
   */
  constructor(limit: () => number, late: () => Error) {
    this.#limit = limit
    this.#late = late
  }

  get limit(): number {
    return this.#limit()
  }

  get taken(): number {
    return this.#taken
  }

  get waiting(): number {
    return this.#line.length
  }

  /**
   * Takes one of the permits, or waits for one until the budget ends.
   *
   * @param ahead whether this caller waits before all others
   */
  async acquire(budget: Budget, { ahead = false } = {}): Promise<void> {
    if (this.#line.length === 0 && this.#taken < this.#limit()) {
      this.#taken++
      return
    }
    const { promise, resolve } = Promise.withResolvers<void>()
    if (ahead) this.#line.unshift(resolve)
    else this.#line.push(resolve)
    try {
      await within(promise, budget, this.#late)
    } catch (error) {
      const at = this.#line.indexOf(resolve)
      if (at === -1) this.release()
      else this.#line.splice(at, 1)
      throw error
    }
  }

  release(): void {
    this.#taken--
    this.admit()
  }

  /** Admits waiting callers up to the limit. Call it after the limit has risen. */
  admit(): void {
    while (this.#taken < this.#limit()) {
      const next = this.#line.shift()
      if (next === undefined) return
      this.#taken++
      next()
    }
  }
}
