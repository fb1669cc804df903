/** Turns of the event loop in a row that work leaves to new connections. */
const GIVEN = 7

/**
 * Makes turns of the event loop short while clients connect: Node accepts one connection in each of them, so a thousand
 * connections before that of another client take as long as a thousand turns.
 */
export class Arrivals {
  #hasNew = false
  #given = 0

  /** Takes note of a new connection. */
  add(): void {
    this.#hasNew = true
  }

  /** Whether work that can wait shall leave this turn out. To be asked once in a turn. */
  giveWay(): boolean {
    const gives = this.#hasNew && this.#given < GIVEN
    this.#given = gives ? this.#given + 1 : 0
    this.#hasNew = false
    return gives
  }
}
