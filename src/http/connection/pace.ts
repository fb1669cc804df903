/** The least pace of the client of an import or export. */
export interface PaceOptions {
  /** Milliseconds in which it has to send or take a byte; 0: no limit, at any speed. */
  readonly stallTimeout: number
  /** Bytes a second, on average; undefined: any. */
  readonly leastSpeed: number | undefined
}

/**
 * Holds a client to a least speed. It begins with a credit of twice the stall timeout, which is also the maximum.
 * Waiting for the client takes from the credit, and every byte that moves adds to it.
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

  /** The credit in milliseconds; Infinity without a limit. */
  get left(): number {
    return Math.max(0, this.#left)
  }

  /** Counts a wait for the client, and the bytes that have moved. */
  moved(milliseconds: number, bytes: number): void {
    const { leastSpeed } = this.#options
    const given = leastSpeed === undefined && bytes > 0 ? this.#most : (bytes * 1000) / (leastSpeed ?? 1)
    this.#left = Math.min(this.#most, this.#left - milliseconds + given)
  }
}
