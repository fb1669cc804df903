import { isFatal, type SqliteFault, sqliteFault } from '../errors.ts'
import type { Served } from '../worker/protocol.ts'
import { IndexFault } from './index-fault.ts'
import { Indexer, type IndexProgress } from './indexer.ts'

export type IndexReport =
  /** What a step has done, and how long it took in milliseconds. */
  | { readonly progress: IndexProgress; readonly time: number }
  /** The index will never again be further back than this position. */
  | { readonly durable: number }
  /** A step failed; the next ones are tried. */
  | { readonly fault: string }
  /** The store's file can't be trusted any more. */
  | { readonly storeFault: SqliteFault }

/**
 * How long changes are gathered, in milliseconds: many together take half the time of few. From so many on they are indexed
 * at once.
 */
const NAP = 200
const SHORT_NAP = 50
const MANY = 4000
/** How often it is made sure that the index is on stable storage, so that the log of changes can be trimmed. */
const SYNC_INTERVAL = 2000
/** How soon a step that failed is tried again: twice as long each further time. */
const FIRST_RETRY = 1000
const LAST_RETRY = 60_000

/** Makes the search index follow the log of changes: when it takes a step, and what it does after one that failed. */
export class IndexFollower implements Served {
  readonly #path: string
  readonly #report: (report: IndexReport) => void
  #indexer: Indexer | undefined
  #next: NodeJS.Timeout | undefined
  /** When the next step is due. */
  #dueAt = Number.POSITIVE_INFINITY
  #retry = FIRST_RETRY
  #position = 0
  #durable = 0
  #syncedAt = performance.now()

  constructor(path: string, report: (report: IndexReport) => void) {
    this.#path = path
    this.#report = report
  }

  /** There are changes to index: at once, or when more have come together. */
  wake(isUrgent: boolean): void {
    if (this.#retry === FIRST_RETRY) this.#schedule(isUrgent ? 0 : NAP)
  }

  /** Makes the index anew, as a reader found a fault in the file with this inode. */
  remake(inode: number, why: string): void {
    this.#indexer?.remake(inode, why)
    this.#schedule(0)
  }

  close(): void {
    clearTimeout(this.#next)
    this.#indexer?.close()
  }

  /** Has a step follow after so many milliseconds, if none is due sooner. */
  #schedule(time: number): void {
    if (performance.now() + time >= this.#dueAt) return
    clearTimeout(this.#next)
    this.#dueAt = performance.now() + time
    this.#next = setTimeout(() => this.#work(), time)
  }

  #work(): void {
    this.#dueAt = Number.POSITIVE_INFINITY
    try {
      const startedAt = performance.now()
      this.#indexer ??= new Indexer(this.#path)
      const progress = this.#indexer.step()
      this.#report({ progress, time: performance.now() - startedAt })
      this.#position = progress.position
      this.#retry = FIRST_RETRY
      this.#syncIfDue(this.#indexer)
      this.#schedule(this.#pauseAfter(progress))
    } catch (error) {
      this.#fail(error)
      this.#schedule(this.#retry)
      this.#retry = Math.min(this.#retry * 2, LAST_RETRY)
    }
  }

  /** How long to wait before the next step, if nobody wakes the thread sooner. */
  #pauseAfter({ isDone, behind, share, indexed }: IndexProgress): number {
    if (!isDone) return behind < MANY && share === 1 ? NAP : 0
    // Another process may be writing, of which nobody tells.
    if (indexed > 0) return indexed < MANY ? NAP : SHORT_NAP
    return this.#durable < this.#position ? SYNC_INTERVAL : Number.POSITIVE_INFINITY
  }

  #syncIfDue(indexer: Indexer): void {
    if (this.#position === this.#durable || performance.now() - this.#syncedAt < SYNC_INTERVAL) return
    indexer.sync()
    this.#syncedAt = performance.now()
    this.#durable = this.#position
    this.#report({ durable: this.#durable })
  }

  #fail(error: unknown): void {
    const fault = error instanceof IndexFault ? undefined : sqliteFault(error)
    if (fault !== undefined && isFatal(fault)) this.#report({ storeFault: fault })
    else this.#report({ fault: error instanceof Error ? error.message : String(error) })
  }
}
