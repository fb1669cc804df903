import { setImmediate } from 'node:timers/promises'

/** Milliseconds that one piece of long work may hold the event loop. */
const TURN = 10

/** Divides long work on the event loop into turns, between which everything else gets its own. */
export class Turns {
  #began = performance.now()

  /** It is time to await `next`. */
  get isOver(): boolean {
    return performance.now() - this.#began >= TURN
  }

  async next(): Promise<void> {
    await setImmediate()
    this.#began = performance.now()
  }
}
