/** Lines in one second about one error number; what comes beyond is counted and told of in the next line. */
const LINES = 20
const WINDOW = 1000

/** Keeps a flood of refusals, such as those of a full disk or of a client that won't slow down, from becoming a flood of log. */
export class LogThrottle {
  readonly #windows = new Map<number, { ends: number; lines: number; suppressed: number }>()

  /** @returns undefined when no line is to be written, else how many were not written since the last one */
  admit(error: number): number | undefined {
    const now = performance.now()
    const window = this.#windows.get(error)
    if (window === undefined || now >= window.ends) {
      this.#windows.set(error, { ends: now + WINDOW, lines: 1, suppressed: 0 })
      return window?.suppressed ?? 0
    }
    if (window.lines < LINES) {
      window.lines++
      return 0
    }
    window.suppressed++
    return undefined
  }
}
