import { setImmediate } from 'node:timers/promises'

/** Milliseconds that one piece of long work may hold the event loop. */
const TURN = 10

/** Divides long work on the event loop into turns. Other work runs between them. */
export class Turns {
  #began = performance.now()

  /** Whether it is time to await `next`. */
  get isOver(): boolean {
    return performance.now() - this.#began >= TURN
  }

  async next(): Promise<void> {
    await setImmediate()
    this.#began = performance.now()
  }
}
