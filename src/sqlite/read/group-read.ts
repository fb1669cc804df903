import { AppError } from '../../domain/errors.ts'
import type { LazySignal } from '../../domain/store.ts'

/** Stands for a large value, which a read of small ones leaves out. */
export const LARGE = Symbol('large')

export type Sizes = 'small' | 'any'

/**
 * Returns the values in the order of the keys; of small ones, LARGE instead of each large one. It may stop early, so that
 * a turn of the event loop stays short.
 */
type Read<Key, Value> = (keys: readonly Key[], sizes: Sizes) => readonly (Value | typeof LARGE)[]

interface PendingRead<Key, Value> {
  /** The time of the first turn that could read it; 0 before. */
  since: number
  readonly key: Key
  readonly caller: LazySignal | undefined
  readonly resolve: (value: Value) => void
  readonly reject: (error: unknown) => void
}

/** Reads that are answered together before their turn ends. */
const GROUP_SIZE = 64
/** Milliseconds from the first group of a turn, after which further reads wait for the next turn. */
const GROUPS_TIME = 10

/**
 * Groups the reads that one turn of the event loop asks for. It reads a value after the request for it, so the value is
 * never older than the request.
 *
 * Each separate read takes SQLite's locks, and each separate answer wakes its client. Groups allow half again as many
 * reads (docs/decisions/0006-hot-path.md). A group of GROUP_SIZE is answered within its turn: the memory of more
 * requests does not fit into the caches of a core (docs/decisions/0035-overload.md).
 *
 * What exceeds the bound of a turn waits for the next one. Large values wait in a queue of their own, and after each part
 * of them for as long as that part took, which leaves half of the time to all other work.
 */
export class GroupRead<Key, Value> {
  readonly #read: Read<Key, Value>
  readonly #maxDelay: number
  #asked: PendingRead<Key, Value>[] = []
  #large: PendingRead<Key, Value>[] = []
  /** The time from which on this turn answers no further group; undefined while no end of a turn is scheduled. */
  #until: number | undefined

  /** @param maxDelay milliseconds that a read may wait for a turn before it is refused with 50302 */
  constructor(read: Read<Key, Value>, maxDelay: number) {
    this.#read = read
    this.#maxDelay = maxDelay
  }

  /**
   * Resolves with the value of the key, or rejects with the error of `read`. Rejects with the reason of the caller's
   * signal when it finds that the caller is over.
   */
  get(key: Key, caller?: LazySignal): Promise<Value> {
    return new Promise((resolve, reject) => {
      this.#asked.push({ since: 0, key, caller, resolve, reject })
      if (this.#until === undefined) this.#scheduleEnd()
      else if (this.#asked.length >= GROUP_SIZE) this.#answer(this.#until)
    })
  }

  #scheduleEnd(): void {
    this.#until = Number.POSITIVE_INFINITY
    setImmediate(this.#endTurn)
  }

  readonly #endTurn = (): void => {
    if (this.#asked.length > 0) this.#answer(this.#until ?? 0)
    this.#until = undefined
    if (this.#asked.length > 0) this.#scheduleEnd()
  }

  /** Answers the waiting reads, or as many as one read takes, except for large values. */
  #answer(until: number): void {
    const now = performance.now()
    if (now >= until) return
    const asked = this.#asked
    this.#asked = []
    this.#asked = this.#answerFirst(asked, 'small', now)
    this.#until = this.#asked.length > 0 ? 0 : Math.min(until, now + GROUPS_TIME)
  }

  readonly #answerLarge = (): void => {
    const startedAt = performance.now()
    const large = this.#large
    this.#large = []
    this.#large = this.#answerFirst(large, 'any', startedAt)
    // The answers are written in this turn, and their time counts too.
    if (this.#large.length > 0) setImmediate(() => setTimeout(this.#answerLarge, performance.now() - startedAt))
  }

  /** Answers the first reads, and sets large values aside. @returns the rest */
  #answerFirst(reads: readonly PendingRead<Key, Value>[], sizes: Sizes, now: number): PendingRead<Key, Value>[] {
    const group = this.#wanted(reads, now)
    if (group.length === 0) return group
    let values: readonly (Value | typeof LARGE)[]
    try {
      values = this.#read(
        group.map(({ key }) => key),
        sizes,
      )
    } catch (error) {
      for (const { reject } of group) reject(error)
      return []
    }
    for (let i = 0; i < values.length; i++) {
      const [one, value] = [group[i] as PendingRead<Key, Value>, values[i] as Value | typeof LARGE]
      if (value !== LARGE) one.resolve(value)
      else if (this.#large.push(one) === 1) setImmediate(this.#answerLarge)
    }
    return group.slice(values.length)
  }

  /** Returns the reads whose callers still wait and that are not late. Rejects the others. */
  #wanted(reads: readonly PendingRead<Key, Value>[], now: number): PendingRead<Key, Value>[] {
    return reads.filter((one) => {
      if (one.since === 0) one.since = now
      if (one.caller?.isOver === true) one.reject(one.caller.signal.reason)
      else if (now - one.since > this.#maxDelay) one.reject(tooManyReads())
      else return true
      return false
    })
  }
}

const tooManyReads = (): AppError => new AppError(50302, 'too many reads of large plants are queued; retry later')
