/** Consecutive turns of the event loop that postponable work leaves to new connections. */
const GIVEN = 7

/**
 * Keeps turns of the event loop short while clients connect. Node accepts one connection per turn, so a client behind a
 * thousand others waits for a thousand turns.
 */
export class Arrivals {
  #hasNew = false
  #given = 0

  /** Takes note of a new connection. */
  add(): void {
    this.#hasNew = true
  }

  /** Whether postponable work should skip this turn. Call it once per turn. */
  giveWay(): boolean {
    const gives = this.#hasNew && this.#given < GIVEN
    this.#given = gives ? this.#given + 1 : 0
    this.#hasNew = false
    return gives
  }
}
