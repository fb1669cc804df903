import type { Asker } from '../../asker.ts'
import { AppError } from '../../errors.ts'

interface Waiting<Key, Value> {
  /** When it was first found to wait for longer than a turn; 0 before. */
  since: number
  readonly key: Key
  readonly asker: Asker | undefined
  readonly resolve: (value: Value) => void
  readonly reject: (error: unknown) => void
}

export interface GroupReader<Key, Value> {
  /** Gives the value of each key, in their order: of all, or of as many of the first as are enough at once. */
  readonly read: (keys: readonly Key[]) => readonly Value[]
  /**
   * Tells of each key, in their order, whether its value is small: of all, or of as many of the first as can be looked
   * up at once. Asked only about keys that have waited for longer than a turn.
   */
  readonly areSmall: (keys: readonly Key[]) => readonly boolean[]
}

/**
 * Reads what is asked for within one turn of the event loop together, or as much of it as one turn can bear. A value is
 * read after it was asked for, so it is never older than what was known then.
 *
 * A read by itself takes SQLite's locks for itself, and an answer by itself wakes its client: together they are half
 * again as many (docs/decisions/0006-hot-path.md). What is too much for one turn waits for as long as the part before
 * it took, so that large values leave half of the time to everybody else. Small values then have every other turn,
 * however many large ones wait.
 */
export class GroupRead<Key, Value> {
  readonly #reader: GroupReader<Key, Value>
  readonly #maxDelay: number
  #asked: Waiting<Key, Value>[] = []
  /** Of those that were too much for a turn: what is known to be small, and to be large. */
  #small: Waiting<Key, Value>[] = []
  #large: Waiting<Key, Value>[] = []
  #isScheduled = false
  #isCrowded = false
  #isLargeFirst = false

  /** @param maxDelay milliseconds that a read may wait behind others; then it is refused with 50302 */
  constructor(reader: GroupReader<Key, Value>, maxDelay: number) {
    this.#reader = reader
    this.#maxDelay = maxDelay
  }

  /**
   * Resolves with what `read` gives for the key, or rejects with what it throws; with some error where the asker is
   * over.
   */
  get(key: Key, asker?: Asker): Promise<Value> {
    return new Promise((resolve, reject) => {
      this.#asked.push({ since: 0, key, asker, resolve, reject })
      if (this.#isScheduled) return
      this.#isScheduled = true
      setImmediate(this.#answer)
    })
  }

  readonly #answer = (): void => {
    const startedAt = performance.now()
    let group = this.#asked
    let values: readonly Value[]
    try {
      if (this.#isCrowded) group = this.#sorted()
      values = this.#reader.read(group.map(({ key }) => key))
    } catch (error) {
      this.#fail(error)
      return
    }
    if (this.#isCrowded) this.#forget(values.length)
    else this.#asked = values.length === group.length ? [] : group.slice(values.length)
    this.#isCrowded = this.#asked.length + this.#small.length + this.#large.length > 0
    this.#isScheduled = this.#isCrowded
    if (this.#isCrowded) setImmediate(() => this.#pause(startedAt))
    for (let i = 0; i < values.length; i++) group[i]?.resolve(values[i] as Value)
  }

  #pause(startedAt: number): void {
    setTimeout(this.#answer, performance.now() - startedAt)
  }

  /** What waits, in the order of this turn: the small values and the large ones, each first in every other turn. */
  #sorted(): Waiting<Key, Value>[] {
    const now = performance.now()
    const wanted = (waiting: readonly Waiting<Key, Value>[]) => stillWanted(waiting, now, this.#maxDelay)
    this.#asked = wanted(this.#asked)
    const areSmall = this.#reader.areSmall(this.#asked.map(({ key }) => key))
    const known = this.#asked.splice(0, areSmall.length)
    this.#small = wanted(this.#small).concat(known.filter((_, i) => areSmall[i]))
    this.#large = wanted(this.#large).concat(known.filter((_, i) => !areSmall[i]))
    this.#isLargeFirst = !this.#isLargeFirst
    return this.#isLargeFirst ? [...this.#large, ...this.#small] : [...this.#small, ...this.#large]
  }

  /** Forgets as many of the first in the order of this turn. */
  #forget(count: number): void {
    const [first, second] = this.#isLargeFirst ? [this.#large, this.#small] : [this.#small, this.#large]
    const { length } = first.splice(0, count)
    second.splice(0, count - length)
  }

  #fail(error: unknown): void {
    const all = [...this.#asked, ...this.#small, ...this.#large]
    this.#asked = []
    this.#small = []
    this.#large = []
    this.#isCrowded = false
    this.#isScheduled = false
    for (const { reject } of all) reject(error)
  }
}

/** The reads whose askers still wait, and that have not waited for too long. Rejects the others. */
function stillWanted<Key, Value>(
  waiting: readonly Waiting<Key, Value>[],
  now: number,
  maxDelay: number,
): Waiting<Key, Value>[] {
  return waiting.filter((one) => {
    if (one.since === 0) one.since = now
    if (one.asker?.isOver === true) one.reject(new Error('the asker no longer waits for this value'))
    else if (now - one.since > maxDelay) one.reject(tooManyReads())
    else return true
    return false
  })
}

const tooManyReads = (): AppError => new AppError(50302, 'too many reads of large plants are queued; retry later')
