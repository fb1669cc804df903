/** The minimum speed of the client of an import or export. */
export interface RateOptions {
  /** Milliseconds within which the client must send or read a byte; 0 for no limit, whatever `leastSpeed` is. */
  readonly stallTimeout: number
  /** Bytes per second, on average; undefined for no minimum. */
  readonly leastSpeed: number | undefined
}

/**
 * Holds a client to a minimum speed. The client begins with a credit of twice the stall timeout, which is also the
 * maximum. Each wait for the client lowers the credit, and each byte that moves raises it.
 */
export class MinimumRate {
  readonly #options: RateOptions
  readonly #maxCredit: number
  #credit: number

  constructor(options: RateOptions) {
    this.#options = options
    this.#maxCredit = options.stallTimeout === 0 ? Number.POSITIVE_INFINITY : 2 * options.stallTimeout
    this.#credit = this.#maxCredit
  }

  /** The credit in milliseconds; Infinity without a limit. */
  get left(): number {
    return Math.max(0, this.#credit)
  }

  /** Counts a wait for the client, and the bytes that it sent or read. */
  moved(milliseconds: number, bytes: number): void {
    const { leastSpeed } = this.#options
    const earned = leastSpeed === undefined && bytes > 0 ? this.#maxCredit : (bytes * 1000) / (leastSpeed ?? 1)
    this.#credit = Math.min(this.#maxCredit, this.#credit - milliseconds + earned)
  }
}
