import { monotonicTime } from '../indexed.ts'

/**
 * Work that the index may be behind: 8,000 short names. A search looks these plants up one by one, in 10 ms of processor
 * time, and in 30 ms at worst, if folding makes 18 characters of each.
 */
const MAX_WORK = 2 ** 19
const MAX_WORK_OF_ACTOR = MAX_WORK / 2
/** Work that a search looks up: all that the index may be behind, and one further write. */
export const LOOKED_UP_WORK = MAX_WORK + MAX_WORK_OF_ACTOR
/** The work from which on the index does not wait for more. */
const URGENT_WORK = MAX_WORK_OF_ACTOR / 2

/** What one actor wrote with one commit. */
interface Write {
  readonly at: number
  readonly actor: string
  changes: number
  work: number
}

/**
 * Bounds the work that the search index is behind, and charges it to the actors (src/domain/token.ts) whose writes cause it.
 * A write may not begin while the index has too much work of its own actor, so that no other actor waits for it. An actor
 * whose writes are all indexed may always begin one.
 *
 * It needs no rate of the index: every step of the index makes room.
 */
export class IndexThrottle {
  /** The work of each actor that has begun and is not indexed. */
  readonly #work = new Map<string, number>()
  /** Commits that the index may lack, oldest first. */
  #writes: Write[] = []

  /** Whether the index should take its next step at once. */
  get isUrgent(): boolean {
    return sum(this.#work.values()) >= URGENT_WORK
  }

  /**
   * Begins a write, and charges its work. `wrote` ends it.
   *
   * @param always whether it begins even when the index has too much work of its actor
   * @returns false when it may not begin; nothing is charged
   */
  begin(actor: string, work: number, always = false): boolean {
    if (!always && !this.#fits(actor, work)) return false
    this.#charge(actor, work)
    return true
  }

  /**
   * Ends a write, after its commit or its failure.
   *
   * @param charged the work that `begin` has charged
   * @param work the work of the plants as they are now
   * @param changes its changes in the log
   */
  wrote(actor: string, charged: number, work: number, changes: number): void {
    this.#charge(actor, work - charged)
    if (changes > 0) this.#writes.push({ at: monotonicTime(), actor, changes, work })
  }

  /**
   * Call it after each step of the index.
   *
   * @param behind changes of the log that the index lacks after the step
   * @param startedAt the time at which the step began, of `monotonicTime`
   * @returns the changes of commits after that time, which `behind` may not include
   */
  indexed(behind: number, startedAt: number): number {
    const earlier = this.#writes.filter(({ at }) => at < startedAt)
    const later = sum(this.#writes.slice(earlier.length).map(({ changes }) => changes))
    // The index takes the log in its order. Changes of other processes are charged to nobody.
    let done = sum(earlier.map(({ changes }) => changes)) - behind
    for (const write of earlier) {
      const changes = Math.min(write.changes, done)
      if (changes <= 0) break
      const work = Math.ceil((write.work * changes) / write.changes)
      this.#charge(write.actor, -work)
      write.changes -= changes
      write.work -= work
      done -= changes
      if (write.changes > 0) break
      this.#writes.shift()
    }
    return later
  }

  /** Forgets all charges, when the index makes no progress. */
  reset(): void {
    this.#work.clear()
    this.#writes = []
  }

  #fits(actor: string, work: number): boolean {
    const own = this.#work.get(actor)
    return own === undefined || own + work <= Math.min(MAX_WORK_OF_ACTOR, MAX_WORK / this.#work.size)
  }

  #charge(actor: string, work: number): void {
    const charged = (this.#work.get(actor) ?? 0) + work
    if (charged > 0) this.#work.set(actor, charged)
    else this.#work.delete(actor)
  }
}

const sum = (numbers: Iterable<number>): number => Iterator.from(numbers).reduce((all, one) => all + one, 0)
