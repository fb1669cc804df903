import { addressGroup } from '../../network.ts'

/** Lines in one second about one error number, and how many of them about one address. */
const LINES = 20
const LINES_OF_ONE = 5
const WINDOW = 1000

/**
 * Keeps a flood of refusals from becoming a flood of log, and one address from taking the lines of all others. What is
 * left out is counted, and the next line about the same error number tells it.
 */
export class LogThrottle {
  readonly #errors = new Map<number, { lines: number; suppressed: number }>()
  /** Lines of the present second by error number and address; never more than there are lines. */
  readonly #each = new Map<string, number>()
  #ends = 0

  /** Whether no line about this error is to be written, whatever its address. It is counted as suppressed then. */
  isSpent(error: number): boolean {
    if (performance.now() >= this.#ends) return false
    const count = this.#errors.get(error)
    if (count === undefined || count.lines < LINES) return false
    count.suppressed++
    return true
  }

  /** @returns undefined when no line is to be written, else how many were not written since the last one */
  admit(error: number, address: string): number | undefined {
    const now = performance.now()
    if (now >= this.#ends) this.#begin(now)
    const count = this.#errors.get(error) ?? { lines: 0, suppressed: 0 }
    this.#errors.set(error, count)
    const key = `${error} ${addressGroup(address)}`
    const own = this.#each.get(key) ?? 0
    if (count.lines >= LINES || own >= LINES_OF_ONE) {
      count.suppressed++
      return undefined
    }
    this.#each.set(key, own + 1)
    count.lines++
    const { suppressed } = count
    count.suppressed = 0
    return suppressed
  }

  #begin(now: number): void {
    this.#ends = now + WINDOW
    this.#each.clear()
    for (const count of this.#errors.values()) count.lines = 0
  }
}
