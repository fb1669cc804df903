import { addressGroup } from '../../settings/network.ts'
import { BoundedMap } from './bounded-map.ts'

/** Milliseconds. */
const WINDOW = 60_000
const MAX_ADDRESSES = 10_000

/** Counts failed authentications per address (per /64 network of IPv6) in windows of one minute. */
export class FailureLimit {
  readonly #limit: number
  readonly #windows = new BoundedMap<string, { failures: number; readonly ends: number }>(MAX_ADDRESSES)

  constructor(limit: number) {
    this.#limit = limit
  }

  /** Counts a failure. @returns 0 up to the limit of the address, and beyond it the seconds until the window ends */
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
