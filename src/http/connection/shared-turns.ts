import { Arrivals } from './arrivals.ts'

/** Milliseconds that the tasks may take in one turn of the event loop. */
const MAX_TIME = 5

/** Runs tasks in order in later turns of the event loop, for about MAX_TIME milliseconds of each turn. */
export class SharedTurns {
  #tasks: (() => void)[] = []
  readonly #arrivals = new Arrivals()

  add(task: () => void): void {
    this.#tasks.push(task)
    if (this.#tasks.length === 1) setImmediate(this.#run)
  }

  /** Makes the tasks wait while new connections arrive. */
  arrive(): void {
    this.#arrivals.add()
  }

  /** Whether new connections arrive. */
  get isArriving(): boolean {
    return this.#arrivals.areNew
  }

  readonly #run = (): void => {
    if (this.#arrivals.giveWay()) {
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
