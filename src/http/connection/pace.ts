/** How fast the client of an import or export has to be. */
export interface PaceOptions {
  /** Milliseconds in which it has to send or take something; 0: for ever, and at any speed. */
  readonly stallTimeout: number
  /** Bytes a second, on average; undefined: any. */
  readonly leastSpeed: number | undefined
}

/**
 * Holds a client to a least speed. At first, and at the most, others may wait for it for twice the stall timeout. Waiting
 * takes from that time, and every byte that moves gives to it.
 */
export class Pace {
  readonly #options: PaceOptions
  readonly #most: number
  #left: number

  constructor(options: PaceOptions) {
    this.#options = options
    this.#most = options.stallTimeout === 0 ? Number.POSITIVE_INFINITY : 2 * options.stallTimeout
    this.#left = this.#most
  }

  /** Milliseconds for which the client may be waited for from now on, all in all; Infinity: for ever. */
  get left(): number {
    return Math.max(0, this.#left)
  }

  /** Takes note of how long the client was waited for, and of how many bytes have moved. */
  moved(milliseconds: number, bytes: number): void {
    const { leastSpeed } = this.#options
    const given = leastSpeed === undefined && bytes > 0 ? this.#most : (bytes * 1000) / (leastSpeed ?? 1)
    this.#left = Math.min(this.#most, this.#left - milliseconds + given)
  }
}
