import { setImmediate } from 'node:timers/promises'

/** Milliseconds that long work may hold the event loop at a time. */
const MAX_TURN = 10

/** Divides long work on the event loop into turns, between which other work runs. */
export class Turns {
  #began = performance.now()

  get isOver(): boolean {
    return performance.now() - this.#began >= MAX_TURN
  }

  async next(): Promise<void> {
    await setImmediate()
    this.#began = performance.now()
  }
}
