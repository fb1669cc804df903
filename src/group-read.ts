interface Waiting<Key, Value> {
  readonly key: Key
  readonly resolve: (value: Value) => void
  readonly reject: (error: unknown) => void
}

/**
 * Reads what is asked for within one turn of the event loop together, or as much of it as one turn can bear. A value is
 * read after it was asked for, so it is never older than what was known then.
 *
 * A read by itself takes SQLite's locks for itself, and an answer by itself wakes its client: together they are half
 * again as many (docs/decisions/0006-hot-path.md). What is too much for one turn waits for as long as the part before it
 * took, so that large values leave half of the time to everybody else.
 */
export class GroupRead<Key, Value> {
  readonly #read: (keys: readonly Key[]) => readonly Value[]
  #waiting: Waiting<Key, Value>[] = []

  /** @param read gives the value of each key, in their order: of all, or of as many of the first as are enough at once */
  constructor(read: (keys: readonly Key[]) => readonly Value[]) {
    this.#read = read
  }

  /** Resolves with what `read` gives for the key, or rejects with what it throws. */
  get(key: Key): Promise<Value> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ key, resolve, reject })
      if (this.#waiting.length === 1) setImmediate(this.#answer)
    })
  }

  readonly #answer = (): void => {
    const startedAt = performance.now()
    const waiting = this.#waiting
    let values: readonly Value[]
    try {
      values = this.#read(waiting.map(({ key }) => key))
    } catch (error) {
      this.#waiting = []
      for (const { reject } of waiting) reject(error)
      return
    }
    this.#waiting = waiting.slice(values.length)
    if (this.#waiting.length > 0) setImmediate(() => this.#pause(startedAt))
    for (let i = 0; i < values.length; i++) waiting[i]?.resolve(values[i] as Value)
  }

  #pause(startedAt: number): void {
    setTimeout(this.#answer, performance.now() - startedAt)
  }
}
