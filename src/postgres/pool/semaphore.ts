import { type Budget, within } from './budget.ts'

/** A number of places, each for one at a time. Callers that find none wait in line. */
export class Places {
  readonly #limit: () => number
  readonly #late: () => Error
  readonly #line: (() => void)[] = []
  #taken = 0

  /**
   * @param limit how many there are now; it may change at any time
   * @param late the error of a caller whose time ends in the line
   */
  constructor(limit: () => number, late: () => Error) {
    this.#limit = limit
    this.#late = late
  }

  get taken(): number {
    return this.#taken
  }

  /**
   * Takes a place, or waits for one until the end of the budget.
   *
   * @param ahead at the head of the line
   */
  async take(budget: Budget, { ahead = false } = {}): Promise<void> {
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
      if (at === -1) this.giveBack()
      else this.#line.splice(at, 1)
      throw error
    }
  }

  giveBack(): void {
    this.#taken--
    this.admit()
  }

  /** Lets in as many of the line as there are places for, also after the limit was raised. */
  admit(): void {
    while (this.#taken < this.#limit()) {
      const next = this.#line.shift()
      if (next === undefined) return
      this.#taken++
      next()
    }
  }
}
