import type { Asker } from '../../domain/asker.ts'
import { AppError } from '../../domain/errors.ts'

interface PendingRead<Key, Value> {
  /** The time of the first turn that could read it; 0 before. */
  since: number
  readonly key: Key
  readonly asker: Asker | undefined
  readonly resolve: (value: Value) => void
  readonly reject: (error: unknown) => void
}

/** Reads that are answered together before their turn ends. */
const GROUP_SIZE = 64
/** Milliseconds from the first group of a turn, after which further reads wait for the next turn. */
const GROUPS_TIME = 10

export interface GroupReader<Key, Value> {
  /** Returns the values in the order of the keys. It may stop early, so that a turn of the event loop stays short. */
  readonly read: (keys: readonly Key[]) => readonly Value[]
  /**
   * Returns whether each value is small, in the order of the keys. It may stop early too. Called only for keys that
   * have waited for longer than a turn.
   */
  readonly areSmall: (keys: readonly Key[]) => readonly boolean[]
  /** Returns whether a value that was read is small. */
  readonly isSmall: (value: Value) => boolean
}

/**
 * Groups the reads that one turn of the event loop asks for. It reads a value after the request for it, so the value is
 * never older than the request.
 *
 * Each separate read takes SQLite's locks, and each separate answer wakes its client. Groups allow half again as many
 * reads (docs/decisions/0006-hot-path.md). A group of GROUP_SIZE is answered within its turn: the memory of more
 * requests does not fit into the caches of a core (docs/decisions/0035-overload.md).
 *
 * What exceeds the bound of a turn waits for the next one. Where there are large values, it waits for as long as the
 * turn took, which leaves half of the time to other work. Small values then come first in every other turn.
 */
export class GroupRead<Key, Value> {
  readonly #reader: GroupReader<Key, Value>
  readonly #maxDelay: number
  #asked: PendingRead<Key, Value>[] = []
  /** The rest of a group with large values, separated by the size of the values. */
  #small: PendingRead<Key, Value>[] = []
  #large: PendingRead<Key, Value>[] = []
  #isScheduled = false
  /** Whether this turn answers no further group. */
  #isFull = false
  /** `performance.now()` at the first group of this turn; 0 before. */
  #startedAt = 0
  /** Whether reads wait behind large values. */
  #isCrowded = false
  #isLargeFirst = false

  /** @param maxDelay milliseconds that a read may wait behind others. A later one rejects with AppError 50302 */
  constructor(reader: GroupReader<Key, Value>, maxDelay: number) {
    this.#reader = reader
    this.#maxDelay = maxDelay
  }

  /**
   * Resolves with the value that `read` returns for the key, or rejects with the error that `read` throws. Rejects with
   * the reason of the asker's signal when it finds that the asker is over.
   */
  get(key: Key, asker?: Asker): Promise<Value> {
    return new Promise((resolve, reject) => {
      this.#asked.push({ since: 0, key, asker, resolve, reject })
      if (!this.#isScheduled) {
        this.#isScheduled = true
        setImmediate(this.#endTurn)
      } else if (this.#asked.length >= GROUP_SIZE && !this.#isFull && !this.#isCrowded) {
        this.#answer()
      }
    })
  }

  readonly #endTurn = (): void => {
    if (!this.#isFull) this.#answer()
    const startedAt = this.#startedAt
    this.#startedAt = 0
    this.#isFull = false
    this.#isScheduled = this.#isWaiting
    if (this.#isScheduled) setImmediate(this.#isCrowded ? () => this.#pause(startedAt) : this.#endTurn)
  }

  #pause(startedAt: number): void {
    setTimeout(this.#endTurn, performance.now() - startedAt)
  }

  get #isWaiting(): boolean {
    return this.#asked.length + this.#small.length + this.#large.length > 0
  }

  /** Answers the waiting reads, or as many as the reader takes. */
  #answer(): void {
    if (!this.#isWaiting) return
    const now = performance.now()
    if (this.#startedAt === 0) this.#startedAt = now
    let group: PendingRead<Key, Value>[]
    let values: readonly Value[]
    try {
      group = this.#isCrowded ? this.#sorted(now) : this.#wanted(this.#asked, now)
      values = this.#reader.read(group.map(({ key }) => key))
    } catch (error) {
      this.#fail(error)
      return
    }
    if (this.#isCrowded) this.#removeFirst(values.length)
    else this.#asked = group.slice(values.length)
    this.#isFull = this.#isWaiting || now - this.#startedAt > GROUPS_TIME
    this.#isCrowded = this.#isWaiting && (this.#large.length > 0 || !values.every(this.#reader.isSmall))
    if (!this.#isCrowded && this.#small.length > 0) this.#asked = this.#small.splice(0).concat(this.#asked)
    for (let i = 0; i < values.length; i++) group[i]?.resolve(values[i] as Value)
  }

  /** Returns the waiting reads in the order of this turn: small values first in one turn, large ones in the next. */
  #sorted(now: number): PendingRead<Key, Value>[] {
    this.#asked = this.#wanted(this.#asked, now)
    const areSmall = this.#reader.areSmall(this.#asked.map(({ key }) => key))
    const known = this.#asked.splice(0, areSmall.length)
    this.#small = this.#wanted(this.#small, now).concat(known.filter((_, i) => areSmall[i]))
    this.#large = this.#wanted(this.#large, now).concat(known.filter((_, i) => !areSmall[i]))
    this.#isLargeFirst = !this.#isLargeFirst
    return this.#isLargeFirst ? [...this.#large, ...this.#small] : [...this.#small, ...this.#large]
  }

  /** Returns the reads whose askers still wait and that are not late. Rejects the others. */
  #wanted(reads: readonly PendingRead<Key, Value>[], now: number): PendingRead<Key, Value>[] {
    return reads.filter((one) => {
      if (one.since === 0) one.since = now
      if (one.asker?.isOver === true) one.reject(reasonOf(one.asker))
      else if (now - one.since > this.#maxDelay) one.reject(tooManyReads())
      else return true
      return false
    })
  }

  /** Removes the first `count` reads in the order of this turn. */
  #removeFirst(count: number): void {
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
    for (const { reject } of all) reject(error)
  }
}

const reasonOf = ({ signal }: Asker): unknown =>
  signal === undefined ? new Error('the asker no longer waits for this value') : signal.reason

const tooManyReads = (): AppError => new AppError(50302, 'too many reads of large plants are queued; retry later')
