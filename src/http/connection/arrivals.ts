/** The most consecutive turns of the event loop that postponable work skips. */
const MAX_SKIPPED = 7

/**
 * Keeps turns of the event loop short while clients connect. Node.js accepts one connection per turn, so a client
 * behind a thousand others waits for a thousand turns.
 */
export class Arrivals {
  #hasNew = false
  #skipped = 0

  /** Takes note of a new connection. */
  add(): void {
    this.#hasNew = true
  }

  /** Whether postponable work should skip this turn. Call it once per turn. */
  giveWay(): boolean {
    const skips = this.#hasNew && this.#skipped < MAX_SKIPPED
    this.#skipped = skips ? this.#skipped + 1 : 0
    this.#hasNew = false
    return skips
  }
}
