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
export class Share<T extends Taker> {
  readonly #taken = new Map<T, number>()
  readonly #refused = new Set<T>()
  #free: number
  readonly #size: number
  readonly #first: number
  readonly #perTurn: number
  #inTurn = 0

  /**
   * @param first what is kept free for each webhook that has nothing
   * @param perTurn parts that it gives in one turn of the event loop, which leaves the rest of the turn to others
   */
  constructor(size: number, first = 0, perTurn = Number.POSITIVE_INFINITY) {
    this.#size = size
    this.#free = size
    this.#first = first
    this.#perTurn = perTurn
  }

  /** Takes a part, or has `retry` called later. Grants a part that is larger than the whole when nobody has any. */
  take(taker: T, part: number): boolean {
    if (this.#inTurn >= this.#perTurn || !this.#fits(taker, part)) {
      this.#refused.add(taker)
      return false
    }
    this.#add(taker, part)
    if (this.#perTurn < Number.POSITIVE_INFINITY && ++this.#inTurn === 1) {
      setImmediate(() => {
        this.#inTurn = 0
        this.#retry()
      })
    }
    return true
  }

  #fits(taker: T, part: number): boolean {
    const taken = this.#taken.get(taker) ?? 0
    if (taken > 0) return taken + part <= this.#left(taker, part) * PART
    return part <= this.#first ? part <= this.#free : this.#left(taker, part) >= 0 || this.#free === this.#size
  }

  /** What is free beyond a part for a taker and the first parts of all others. */
  #left(taker: T, part: number): number {
    const others = MAX_WEBHOOKS - this.#taken.size - (this.#taken.has(taker) ? 0 : 1)
    return this.#free - part - this.#first * Math.max(0, others)
  }

  /** Takes a part in any turn, past all who wait. Returns whether so much was free beyond the first parts. */
  takeNow(taker: T, part: number): boolean {
    if (this.#left(taker, part) < 0) return false
    this.#add(taker, part)
    return true
  }

  #add(taker: T, part: number): void {
    this.#taken.set(taker, (this.#taken.get(taker) ?? 0) + part)
    this.#free -= part
  }

  give(taker: T, part: number): void {
    const left = (this.#taken.get(taker) ?? 0) - part
    if (left > 0) this.#taken.set(taker, left)
    else this.#taken.delete(taker)
    this.#free += part
    this.#retry()
  }

  #retry(): void {
    for (const each of [...this.#refused]) {
      if (this.#inTurn >= this.#perTurn) return
      if (this.#refused.delete(each)) each.retry()
    }
  }

  get bound(): { readonly max: number; readonly used: number } {
    return { max: this.#size, used: this.#size - this.#free }
  }
}
