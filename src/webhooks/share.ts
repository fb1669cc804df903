import { MAX_WEBHOOKS } from '../domain/webhook.ts'

/** A webhook that takes requests of a share. */
export interface Taker {
  /** Called when one has become free after a refusal. */
  retry(): void
}

/** A taker may have as much as this part of what is free beyond the first ones: 32 of 256 requests, while it is alone. */
const PART = 1 / 3

/**
 * Divides a number of requests among webhooks. Each of them always finds one. What it may have beyond that depends on what
 * is still free, so that receivers that hang leave something for all others.
 */
export class Share {
  readonly max: number
  used = 0
  readonly #taken = new Map<Taker, number>()
  readonly #refused = new Set<Taker>()
  readonly #pause: ((goOn: () => void) => void) | undefined
  #isPaused = false

  /** @param pause called after each one that was taken; nobody gets another one until it calls `goOn`, perhaps at once */
  constructor(max: number, pause?: (goOn: () => void) => void) {
    this.max = max
    this.#pause = pause
  }

  /** Takes one, or has `retry` called later. */
  take(taker: Taker): boolean {
    if (this.#isPaused || !this.#fits(taker)) {
      this.#refused.add(taker)
      return false
    }
    this.#taken.set(taker, (this.#taken.get(taker) ?? 0) + 1)
    this.used++
    // Before the pause, which may end at once: nobody retries while they take.
    this.#refused.delete(taker)
    if (this.#pause === undefined) return true
    this.#isPaused = true
    this.#pause(() => {
      this.#isPaused = false
      this.#retry()
    })
    return true
  }

  give(taker: Taker): void {
    const left = (this.#taken.get(taker) ?? 0) - 1
    if (left > 0) this.#taken.set(taker, left)
    else this.#taken.delete(taker)
    this.used--
    this.#retry()
  }

  #fits(taker: Taker): boolean {
    const taken = this.#taken.get(taker) ?? 0
    if (taken === 0) return this.used < this.max
    const firstOnes = Math.max(0, MAX_WEBHOOKS - this.#taken.size)
    return taken + 1 <= (this.max - this.used - firstOnes - 1) * PART
  }

  #retry(): void {
    for (const each of [...this.#refused]) {
      if (this.#isPaused) return
      if (this.#refused.delete(each)) each.retry()
    }
  }
}
