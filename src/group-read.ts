import { type Callback, callSafely } from './callback.ts'

interface Waiting<Key, Value> {
  readonly key: Key
  readonly callback: Callback<Value>
}

/**
 * Reads what is asked for within one turn of the event loop together. A value is read after it was asked for, so it is
 * never older than what was known then.
 *
 * A read by itself takes SQLite's locks for itself, and an answer by itself wakes its client: together they are half
 * again as many (docs/decisions/0006-hot-path.md).
 */
export class GroupRead<Key, Value> {
  readonly #read: (keys: readonly Key[]) => readonly Value[]
  #waiting: Waiting<Key, Value>[] = []

  /** @param read gives the value of each key, in their order */
  constructor(read: (keys: readonly Key[]) => readonly Value[]) {
    this.#read = read
  }

  /** Answers with what `read` gives for the key or throws. */
  find(key: Key, callback: Callback<Value>): void {
    this.#waiting.push({ key, callback })
    if (this.#waiting.length === 1) setImmediate(() => this.#answerAll())
  }

  /** The same as a promise. */
  get(key: Key): Promise<Value> {
    return new Promise((resolve, reject) => {
      this.find(key, (error, value) => (error === undefined ? resolve(value as Value) : reject(error)))
    })
  }

  #answerAll(): void {
    const waiting = this.#waiting
    this.#waiting = []
    let values: readonly Value[]
    try {
      values = this.#read(waiting.map(({ key }) => key))
    } catch (error) {
      for (const { callback } of waiting) callSafely(callback, error)
      return
    }
    waiting.forEach(({ callback }, i) => {
      callSafely(callback, undefined, values[i])
    })
  }
}
