import { addressGroup } from '../../settings/network.ts'

/** Lines per second about one error number. */
const MAX_LINES = 20
/** Lines per second about one error number and one address. */
const MAX_LINES_PER_ADDRESS = 5
/** Milliseconds. */
const WINDOW = 1000

/**
 * Limits the log lines about refusals, and the share of one address in them. The next line about the same error number
 * has the number of suppressed lines.
 */
export class LogThrottle {
  readonly #errors = new Map<number, { lines: number; suppressed: number }>()
  /** Lines of the present second by error number and address: at most MAX_LINES entries for each error number. */
  readonly #each = new Map<string, number>()
  #ends = 0

  /** Whether this second has no line left for the error, whatever the address. Counts a suppressed line if so. */
  isSpent(error: number): boolean {
    if (performance.now() >= this.#ends) return false
    const count = this.#errors.get(error)
    if (count === undefined || count.lines < MAX_LINES) return false
    count.suppressed++
    return true
  }

  /** @returns undefined for a suppressed line, else the number of lines suppressed since the error's last line */
  admit(error: number, address: string): number | undefined {
    const now = performance.now()
    if (now >= this.#ends) this.#begin(now)
    const count = this.#errors.get(error) ?? { lines: 0, suppressed: 0 }
    this.#errors.set(error, count)
    const key = `${error} ${addressGroup(address)}`
    const own = this.#each.get(key) ?? 0
    if (count.lines >= MAX_LINES || own >= MAX_LINES_PER_ADDRESS) {
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
