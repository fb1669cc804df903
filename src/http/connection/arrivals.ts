/** The most consecutive turns of the event loop that postponable work skips. */
const MAX_SKIPPED = 7

/**
 * Keeps turns of the event loop short while clients connect. Node.js accepts one connection per turn, so a client
 * behind a thousand others waits for a thousand turns.
 */
export class Arrivals {
  #turns = 0
  #skipped = 0

  /** Takes note of a new connection. */
  add(): void {
    if (this.#turns === 0) setImmediate(this.#endTurn)
    this.#turns = 2
  }

  /** Whether a client connected in this turn, or in the one before: its request is read a turn after it connects. */
  get areNew(): boolean {
    return this.#turns > 0
  }

  /** Whether postponable work should skip this turn. Call it once per turn. */
  giveWay(): boolean {
    const skips = this.areNew && this.#skipped < MAX_SKIPPED
    this.#skipped = skips ? this.#skipped + 1 : 0
    return skips
  }

  readonly #endTurn = (): void => {
    if (--this.#turns > 0) setImmediate(this.#endTurn)
  }
}
