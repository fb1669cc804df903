const WINDOW = 60_000
const MAX_ADDRESSES = 10_000

/** Counts failed authentications per address in windows of a minute, by a clock that nobody can set back. */
export class FailureLimit {
  readonly #limit: number
  readonly #windows = new Map<string, { failures: number; readonly ends: number }>()

  constructor(limit: number) {
    this.#limit = limit
  }

  note(address: string): void {
    const window = this.#current(address)
    if (window !== undefined) window.failures++
    else this.#windows.set(address, { failures: 1, ends: performance.now() + WINDOW })
    if (this.#windows.size > MAX_ADDRESSES) this.#windows.delete(this.#windows.keys().next().value as string)
  }

  isBlocked(address: string): boolean {
    return (this.#current(address)?.failures ?? 0) >= this.#limit
  }

  /** Until the address may try again; 0 when it may now. */
  secondsLeft(address: string): number {
    const window = this.#current(address)
    return window === undefined ? 0 : Math.ceil((window.ends - performance.now()) / 1000)
  }

  #current(address: string): { failures: number; readonly ends: number } | undefined {
    const window = this.#windows.get(address)
    if (window === undefined || performance.now() < window.ends) return window
    this.#windows.delete(address)
    return undefined
  }
}
