import { AppError } from '../../domain/errors.ts'
import type { LazySignal } from '../../domain/store.ts'

type Read<Key, Value> = (keys: readonly Key[]) => readonly Value[]

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
 * What exceeds the bound of a turn waits for the next one.
 */
export class GroupRead<Key, Value> {
  readonly #read: Read<Key, Value>
  readonly #maxDelay: number
  readonly #maxTogether: number
  #asked: PendingRead<Key, Value>[] = []
  /** The time from which on this turn answers no further group; undefined while no end of a turn is scheduled. */
  #until: number | undefined

  /**
   * @param maxDelay milliseconds that a read may wait for a turn before it is refused with 50302
   * @param maxTogether reads that are answered together at most, in about 10 ms
   */
  constructor(read: Read<Key, Value>, maxDelay: number, maxTogether: number) {
    this.#read = read
    this.#maxDelay = maxDelay
    this.#maxTogether = maxTogether
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

  #answer(until: number): void {
    const now = performance.now()
    if (now >= until) return
    const asked = this.#asked
    this.#asked = []
    const wanted = this.#wanted(asked, now)
    this.#answerAll(wanted.slice(0, this.#maxTogether))
    this.#asked.unshift(...wanted.slice(this.#maxTogether))
    this.#until = this.#asked.length > 0 ? 0 : Math.min(until, now + GROUPS_TIME)
  }

  #answerAll(group: readonly PendingRead<Key, Value>[]): void {
    if (group.length === 0) return
    try {
      const values = this.#read(group.map(({ key }) => key))
      for (const [i, value] of values.entries()) group[i]?.resolve(value)
    } catch (error) {
      for (const { reject } of group) reject(error)
    }
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

const tooManyReads = (): AppError => new AppError(50302, 'too many reads are queued; retry later')
