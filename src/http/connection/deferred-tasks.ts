/** The most consecutive turns of the event loop that deferred work skips. */
const MAX_SKIPPED = 7

/** Milliseconds that deferred tasks may take in one turn of the event loop. */
const MAX_TIME = 5

/**
 * Keeps turns of the event loop short while clients connect. Node.js accepts one connection per turn, so a client
 * behind a thousand others waits for a thousand turns.
 */
export class AcceptBurst {
  #turns = 0
  #skipped = 0

  /** Takes note of a new connection. */
  add(): void {
    if (this.#turns === 0) setImmediate(this.#endTurn)
    this.#turns = 2
  }

  /** Whether a client connected in this turn, or in the one before: its request is read a turn after it connects. */
  get isOn(): boolean {
    return this.#turns > 0
  }

  /** Whether deferred work should skip this turn. Call it once per turn. */
  skipsTurn(): boolean {
    const skips = this.isOn && this.#skipped < MAX_SKIPPED
    this.#skipped = skips ? this.#skipped + 1 : 0
    return skips
  }

  readonly #endTurn = (): void => {
    if (--this.#turns > 0) setImmediate(this.#endTurn)
  }
}

/** Runs tasks in order in later turns of the event loop, for about MAX_TIME milliseconds of each turn. */
export class DeferredTasks {
  #tasks: (() => void)[] = []
  readonly #burst = new AcceptBurst()

  add(task: () => void): void {
    this.#tasks.push(task)
    if (this.#tasks.length === 1) setImmediate(this.#run)
  }

  /** Makes the tasks wait while new connections arrive. */
  accept(): void {
    this.#burst.add()
  }

  /** Whether new connections arrive. */
  get isAccepting(): boolean {
    return this.#burst.isOn
  }

  readonly #run = (): void => {
    if (this.#burst.skipsTurn()) {
      setImmediate(this.#run)
      return
    }
    const tasks = this.#tasks
    this.#tasks = []
    const end = performance.now() + MAX_TIME
    let done = 0
    do tasks[done++]?.()
    while (done < tasks.length && performance.now() < end)
    const hasNew = this.#tasks.length > 0
    if (done < tasks.length) this.#tasks = tasks.slice(done).concat(this.#tasks)
    if (this.#tasks.length > 0 && !hasNew) setImmediate(this.#run)
  }
}
