/** Work in steps. It yields after each step, and returns its result. */
export type Task<T> = IteratorObject<undefined, T>

/** Runs all tasks in turns, returns the result of the first one that ends, and stops the others. */
export function* race<T>(tasks: readonly Task<T>[]): Task<T> {
  try {
    for (;;) {
      for (const task of tasks) {
        const { done, value } = task.next()
        if (done === true) return value
      }
      yield
    }
  } finally {
    for (const task of tasks) task.return?.()
  }
}

/** Milliseconds of one turn. */
const TURN = 5
/** Maximum number of tasks that take turns. Each may hold a connection, and further tasks wait. */
const MAX_ACTIVE = 16

interface TaskEvents {
  onResult(key: number, result: unknown): void
  onError(key: number, error: unknown): void
}

/** Runs tasks in turns on this thread, identified by keys. */
export class TaskRunner {
  readonly #events: TaskEvents
  readonly #active = new Map<number, Task<unknown>>()
  readonly #waiting = new Map<number, Task<unknown>>()

  constructor(events: TaskEvents) {
    this.#events = events
  }

  add(key: number, task: Task<unknown>): void {
    this.#waiting.set(key, task)
    this.#startNext()
  }

  /** Ends a task where it is, without an event. */
  abort(key: number): void {
    if (this.#waiting.delete(key)) return
    const task = this.#active.get(key)
    if (task === undefined) return
    this.#active.delete(key)
    task.return?.()
    // A client that leaves aborts all its tasks: the next messages may drop the ones that wait.
    setImmediate(() => this.#startNext())
  }

  /** Ends all tasks where they are, without events. */
  close(): void {
    this.#waiting.clear()
    for (const task of this.#active.values()) task.return?.()
    this.#active.clear()
  }

  #startNext(): void {
    const [next] = this.#waiting
    if (next === undefined || this.#active.size >= MAX_ACTIVE) return
    const [key, task] = next
    this.#waiting.delete(key)
    this.#active.set(key, task)
    this.#takeTurn(key, task)
  }

  #takeTurn(key: number, task: Task<unknown>): void {
    if (this.#active.get(key) !== task) return
    try {
      const end = performance.now() + TURN
      do {
        const { done, value } = task.next()
        if (done === true) {
          this.#end(key, () => this.#events.onResult(key, value))
          return
        }
      } while (performance.now() < end)
      setImmediate(() => this.#takeTurn(key, task))
    } catch (error) {
      this.#end(key, () => this.#events.onError(key, error))
    }
  }

  #end(key: number, report: () => void): void {
    this.#active.delete(key)
    report()
    this.#startNext()
  }
}

export const STEP = 64

/** UTF-16 units of names and tags after which a step ends: a plant with a name of full length takes 0.15 ms. */
const STEP_TEXT = 8192

/** Decides when a task yields to other tasks. */
export class Turn {
  #plants = 0
  #text = 0

  /** Call it with each plant that the task reads. @param text UTF-16 units of it that the task compares */
  isOver(text = 0): boolean {
    this.#text += text
    if (++this.#plants < STEP && this.#text < STEP_TEXT) return false
    this.#plants = 0
    this.#text = 0
    return true
  }
}
