import { isFatal, sqliteFault } from '../errors.ts'
import { type IndexProgress, type IndexReport, indexPath, inodeOf, monotonicTime } from '../indexed.ts'
import type { Served } from '../worker/protocol.ts'
import { IndexFault } from './index-file.ts'
import { Indexer } from './indexer.ts'

/** Milliseconds to gather changes, each of which then takes half the time. */
export const GATHER_TIME = 200
const SHORT_GATHER_TIME = 50
/** The lag, in changes, from which on the follower indexes without a pause. */
export const URGENT_LAG = 4000
/** Whether the index has all plants, and searches need not wait for it. */
export const isUsable = ({ share, behind }: IndexProgress): boolean => share === 1 && behind < URGENT_LAG
/** Milliseconds between two syncs of the index to stable storage. The log of changes can be trimmed up to a sync. */
const SYNC_INTERVAL = 2000
/** Milliseconds between two looks for writes of other processes, which do not call `wake`. */
const OTHER_WRITES_INTERVAL = 1000
/** Milliseconds before the retry of a failed step. Each further pause is twice as long. */
const FIRST_RETRY = 1000
const LAST_RETRY = 60_000

/** Decides when the indexer takes its next step, and retries failed steps. */
export class IndexFollower implements Served {
  readonly #path: string
  readonly #report: (report: IndexReport) => void
  readonly #giveWay: (() => void) | undefined
  #indexer: Indexer | undefined
  #next: NodeJS.Timeout | undefined
  #dueAt = Number.POSITIVE_INFINITY
  #retry = FIRST_RETRY
  #position = 0
  #durable = 0
  #syncedAt = performance.now()
  #mayGiveWay = true

  /** @param giveWay called once, when searches no longer wait for the index to be made (`isUsable`) */
  constructor(path: string, report: (report: IndexReport) => void, giveWay?: () => void) {
    this.#path = path
    this.#report = report
    this.#giveWay = giveWay
  }

  /** Has the next step begin within `time` milliseconds, unless the last one failed. */
  wake(time: number): void {
    if (this.#retry === FIRST_RETRY) this.#schedule(time)
  }

  /** Rebuilds the index after a reader found a fault in the file with this inode. */
  rebuild(inode: number, why: string): void {
    this.#indexer?.rebuild(inode, why)
    this.#schedule(0)
  }

  /**
   * Removes the index, so that the store gets its space, and no longer keeps the changes that the index lacks. Without
   * an index, it needs no changes up to now. A later step makes the index anew.
   */
  giveSpace(): void {
    const hasIndex = inodeOf(indexPath(this.#path)) !== undefined
    this.#indexer ??= new Indexer(this.#path)
    const progress = this.#indexer.drop()
    this.#position = this.#durable = progress.position
    this.#report({ durable: this.#durable })
    // It makes no progress before the retry, for which no write is to wait.
    this.#report({ dropped: progress })
    if (!hasIndex) return
    this.#report({ fault: 'the disk is full' })
    clearTimeout(this.#next)
    this.#dueAt = Number.POSITIVE_INFINITY
    this.#retry = LAST_RETRY
    this.#schedule(this.#retry)
  }

  restartWal(): void {
    this.#indexer?.restartWal()
  }

  close(): void {
    clearTimeout(this.#next)
    this.#indexer?.close()
  }

  /** Schedules a step in `time` milliseconds, unless an earlier one is due. */
  #schedule(time: number): void {
    if (performance.now() + time >= this.#dueAt) return
    clearTimeout(this.#next)
    this.#dueAt = performance.now() + time
    this.#next = setTimeout(() => this.#work(), time)
  }

  #work(): void {
    this.#dueAt = Number.POSITIVE_INFINITY
    try {
      const startedAt = monotonicTime()
      this.#indexer ??= new Indexer(this.#path)
      const progress = this.#indexer.step()
      this.#report({ progress, startedAt })
      if (this.#mayGiveWay && isUsable(progress)) {
        this.#mayGiveWay = false
        this.#giveWay?.()
      }
      this.#position = progress.position
      this.#retry = FIRST_RETRY
      this.#syncIfDue(this.#indexer)
      this.#schedule(this.#pauseAfter(progress))
    } catch (error) {
      if (error instanceof IndexFault && error.isOfWriting) this.giveSpace()
      this.#fail(error)
      this.#schedule(this.#retry)
      this.#retry = Math.min(this.#retry * 2, LAST_RETRY)
    }
  }

  /** Milliseconds before the next step. A call of `wake` may shorten them. */
  #pauseAfter({ isDone, behind, share, indexed }: IndexProgress): number {
    if (!isDone) return behind < URGENT_LAG && share === 1 ? GATHER_TIME : 0
    // Another process that writes now can't call `wake`.
    if (indexed > 0) return indexed < URGENT_LAG ? GATHER_TIME : SHORT_GATHER_TIME
    return this.#durable < this.#position ? SYNC_INTERVAL : OTHER_WRITES_INTERVAL
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
