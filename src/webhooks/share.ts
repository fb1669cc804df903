import { MAX_WEBHOOKS } from '../domain/webhook.ts'

/** Somebody who takes parts of a share. */
export interface Taker {
  /** Called when a part has become free after a refusal. */
  retry(): void
}

/** A taker may have as much as this part of what is free beyond the first parts: 32 of 256 requests, while it is alone. */
const PART = 1 / 3

/**
 * Divides a number, such as of requests, among webhooks. Each of them always finds a first part, if it is small. What it
 * may have beyond that depends on what is still free, so that receivers that hang leave something for all others.
 */
export class Share {
  readonly max: number
  readonly #taken = new Map<Taker, number>()
  readonly #refused = new Set<Taker>()
  readonly #first: number
  readonly #pause: ((goOn: () => void) => void) | undefined
  #free: number
  #isPaused = false

  /**
   * @param first what is kept free for each webhook that has nothing
   * @param pause called after each part that was taken; nobody gets another one until it calls `goOn`, perhaps at once
   */
  constructor(max: number, first: number, pause?: (goOn: () => void) => void) {
    this.max = max
    this.#free = max
    this.#first = first
    this.#pause = pause
  }

  get used(): number {
    return this.max - this.#free
  }

  /** Takes a part, or has `retry` called later. Grants a part that is larger than the whole when nobody has any. */
  take(taker: Taker, part: number): boolean {
    if (this.#isPaused || !this.#fits(taker, part)) {
      this.#refused.add(taker)
      return false
    }
    this.#add(taker, part)
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

  /** Takes a part past all who wait, also in a pause. Returns whether so much was free beyond the first parts. */
  takeNow(taker: Taker, part: number): boolean {
    if (this.#left(taker, part) < 0) return false
    this.#add(taker, part)
    return true
  }

  give(taker: Taker, part: number): void {
    const left = (this.#taken.get(taker) ?? 0) - part
    if (left > 0) this.#taken.set(taker, left)
    else this.#taken.delete(taker)
    this.#free += part
    this.#retry()
  }

  #fits(taker: Taker, part: number): boolean {
    const taken = this.#taken.get(taker) ?? 0
    if (taken > 0) return taken + part <= this.#left(taker, part) * PART
    return part <= this.#first ? part <= this.#free : this.#left(taker, part) >= 0 || this.#free === this.max
  }

  /** What is free beyond a part for a taker and the first parts of all others. */
  #left(taker: Taker, part: number): number {
    const others = MAX_WEBHOOKS - this.#taken.size - (this.#taken.has(taker) ? 0 : 1)
    return this.#free - part - this.#first * Math.max(0, others)
  }

  #add(taker: Taker, part: number): void {
    this.#taken.set(taker, (this.#taken.get(taker) ?? 0) + part)
    this.#free -= part
  }

  #retry(): void {
    for (const each of [...this.#refused]) {
      if (this.#isPaused) return
      if (this.#refused.delete(each)) each.retry()
    }
  }
}
