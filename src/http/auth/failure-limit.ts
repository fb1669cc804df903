import { addressGroup } from '../../network.ts'
import { BoundedMap } from './bounded-map.ts'

const WINDOW = 60_000
const MAX_ADDRESSES = 10_000

/**
 * Counts failed authentications per address, or IPv6 network of 64 bits, in windows of a minute of the monotonic clock.
 */
export class FailureLimit {
  readonly #limit: number
  readonly #windows = new BoundedMap<string, { failures: number; readonly ends: number }>(MAX_ADDRESSES)

  constructor(limit: number) {
    this.#limit = limit
  }

  /** @returns 0 while the address is below the limit, else the seconds until it is again */
  note(address: string): number {
    const group = addressGroup(address)
    const now = performance.now()
    let window = this.#windows.get(group)
    if (window === undefined || now >= window.ends) {
      window = { failures: 0, ends: now + WINDOW }
      this.#windows.set(group, window)
    }
    window.failures++
    return window.failures > this.#limit ? Math.ceil((window.ends - now) / 1000) : 0
  }
}
