import type { SqliteFault } from '../errors.ts'
import { ThreadClient } from '../worker/client.ts'
import { type IndexReport, URGENT_LAG } from './index-follower.ts'
import { IndexThrottle } from './index-throttle.ts'
import { type IndexProgress, NONE_YET } from './indexer.ts'
import { watchIndex } from './watch-index.ts'

/** Milliseconds before the restart of a follower that has ended. Each further pause is twice as long. */
const FIRST_RESTART = 1000
const LAST_RESTART = 60_000
/** Milliseconds between two checks for writes of other processes. */
const OTHER_WRITES_INTERVAL = 1000

/** Updates the search index, or waits for the process that does: an IndexFollower in a thread, or a test's own. */
export interface Follower {
  /** See IndexFollower.wake. */
  wake(isUrgent: boolean): void
  /** See IndexFollower.rebuild. */
  rebuild(inode: number, why: string): void
  /** See IndexFollower.giveSpace. */
  giveSpace(): void
  /** See Indexer.restartLog. */
  restartLog(): Promise<void>
  /** Resolves after the step under way, once the index is closed. */
  close(): Promise<void>
}

export interface FollowerEvents {
  onReport(report: IndexReport): void
  /** Called once when the follower has ended unexpectedly. */
  onEnd(why: string): void
}

export type StartFollower = (path: string, events: FollowerEvents) => Follower

export interface SearchIndexOptions {
  readonly start: StartFollower | undefined
  /** Whether this process may update the index when a search needs it. */
  readonly mayStart: () => boolean
  /** Called with a message for the operator. */
  readonly onNotice: (text: string) => void
  /** Called when the index is durable up to a position of the log of changes. */
  readonly onDurable: (position: number) => unknown
  /** Called when the index can't be used, and may be removed. */
  readonly onUnusable: () => void
  /** Called with a fatal fault of the store's file. */
  readonly onStoreFault: (fault: SqliteFault) => unknown
}

/**
 * Starts the thread that updates the search index, knows the lag of the index, and delays writes by it
 * (IndexThrottle). A fault of the index never fails a write.
 */
export class SearchIndex {
  readonly #path: string
  readonly #options: SearchIndexOptions
  readonly #throttle = new IndexThrottle()
  #follower: Follower | undefined
  #restart: NodeJS.Timeout | undefined
  #otherWrites: NodeJS.Timeout | undefined
  #restartTime = FIRST_RESTART
  #progress: IndexProgress | undefined
  /** Changes since the start of the last reported step. */
  #written = 0
  #isIdle = false
  #isUrgent = false
  #isFaulty = false
  #isClosed = false
  #waiting: (() => void)[] = []

  constructor(path: string, options: SearchIndexOptions) {
    this.#path = path
    this.#options = options
  }

  /** Starts the thread, unless it is running. */
  start(): void {
    // Other processes write to the store too, and do not call `wrote`.
    this.#otherWrites ??= setInterval(() => this.#wake(), OTHER_WRITES_INTERVAL).unref()
    if (this.#follower !== undefined || this.#isClosed || this.#restart !== undefined) return
    const start = this.#options.start ?? startThread
    this.#follower = start(this.#path, {
      onReport: (report) => this.#take(report),
      onEnd: (why) => this.#ended(why),
    })
  }

  /** Starts the thread for a search that waits, if this process may update the index. */
  ensureStarted(): void {
    if (this.#follower === undefined && this.#options.mayStart()) this.start()
  }

  /** Watches the index that another process updates, so that the writes of this process wait for it. */
  watch(): void {
    this.#follower ??= watchIndex(this.#path, (progress) => this.#take({ progress, time: 0 }))
  }

  /**
   * Begins a write, and charges its work to an actor (IndexThrottle.admit). End it by `wrote`.
   *
   * @returns undefined when it may begin at once
   * @throws AppError 42901 when the index has too much work of this actor
   */
  admit(actor: string, work: number, isPart = false): Promise<void> | undefined {
    const admitted = this.#throttle.admit(actor, work, isPart)
    if (admitted === undefined) return undefined
    if (this.#isFollowed) this.#wakeUrgently()
    else this.#throttle.beginAll()
    return admitted
  }

  /** Ends a write after its commit, or one that changed nothing (IndexThrottle.wrote). */
  wrote(actor: string, charged: number, work: number, changes: number): void {
    this.#throttle.wrote(actor, charged, work, changes)
    this.#written += changes
    this.#wake()
  }

  /** The approximate number of changes that the index lacks. */
  get behind(): number {
    return (this.#progress?.behind ?? 0) + this.#written
  }

  /** The part of all plants that is in the index, from 0 to 1. */
  get share(): number {
    return this.#progress?.share ?? 0
  }

  /** Call it when a search has to wait for the index (IndexThrottle.beginSearch). @returns a function for its end */
  beginSearch(): () => void {
    // A scan of all plants takes too long to hold writes back.
    if (!this.#isFollowed || this.share < 1) return () => {}
    this.#wakeUrgently()
    return this.#throttle.beginSearch()
  }

  /** Begins the writes that wait, as the store closes. */
  beginAll(): void {
    this.#throttle.beginAll()
  }

  /** Resolves at the next report of the follower, or after `time` milliseconds. */
  async changed(time: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#waiting.push(resolve)
    const timer = setTimeout(resolve, time)
    await promise
    clearTimeout(timer)
    this.#waiting = this.#waiting.filter((waiting) => waiting !== resolve)
  }

  /** Call it when a reader has found a fault in the file with this inode. */
  reportDamage(inode: number, why: string): void {
    this.#follower?.rebuild(inode, why)
  }

  /** Removes the index of a store that has no space left. The follower makes it anew later. */
  giveSpace(): void {
    this.#follower?.giveSpace()
  }

  /** Restarts the log of the index, if no read needs it. */
  async restartLog(): Promise<void> {
    await this.#follower?.restartLog()
  }

  /** Stops the thread. The next start continues the remaining work. */
  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#restart)
    clearInterval(this.#otherWrites)
    for (const resolve of this.#waiting.splice(0)) resolve()
    await this.#follower?.close()
  }

  #wake(): void {
    if (this.behind >= URGENT_LAG || this.#throttle.isUrgent) this.#wakeUrgently()
    else if (this.#isIdle) {
      this.#isIdle = false
      this.#follower?.wake(false)
    }
  }

  #wakeUrgently(): void {
    if (this.#isUrgent) return
    this.#isUrgent = true
    this.#isIdle = false
    this.#follower?.wake(true)
  }

  /** Whether the index makes progress. Writes wait only for an index that does. */
  get #isFollowed(): boolean {
    return this.#follower !== undefined && !this.#isFaulty && !this.#isClosed
  }

  #take(report: IndexReport): void {
    if ('progress' in report) this.#advance(report.progress, report.time)
    else if ('durable' in report) this.#options.onDurable(report.durable)
    else if ('storeFault' in report) this.#options.onStoreFault(report.storeFault)
    else this.#fail(report.fault)
    for (const resolve of this.#waiting.splice(0)) resolve()
  }

  #advance(progress: IndexProgress, time: number): void {
    const { rebuilt, share } = progress
    if (rebuilt !== undefined && (share < 1 || rebuilt !== NONE_YET)) {
      this.#options.onNotice(`rebuilding the search index (${rebuilt}); searches of a large store wait meanwhile`)
    } else if (share === 1 && this.#progress !== undefined && this.#progress.share < 1) {
      this.#options.onNotice('the search index is complete')
    }
    this.#isFaulty = false
    this.#isUrgent = false
    this.#restartTime = FIRST_RESTART
    this.#progress = progress
    this.#isIdle = progress.isDone
    this.#written = this.#throttle.indexed(progress.behind, performance.now() - time)
    if (this.#written > 0 || !progress.isDone) this.#wake()
  }

  #fail(fault: string): void {
    if (!this.#isFaulty) {
      this.#options.onNotice(
        `the search index cannot be written (${fault}); the service refuses large searches meanwhile`,
      )
    }
    this.#isFaulty = true
    this.#throttle.beginAll()
    this.#options.onUnusable()
  }

  #ended(why: string): void {
    this.#follower = undefined
    this.#fail(why)
    for (const resolve of this.#waiting.splice(0)) resolve()
    this.#restart = setTimeout(() => {
      this.#restart = undefined
      this.start()
    }, this.#restartTime).unref()
    this.#restartTime = Math.min(this.#restartTime * 2, LAST_RESTART)
  }
}

function startThread(path: string, { onReport, onEnd }: FollowerEvents): Follower {
  let isClosed = false
  const thread = new ThreadClient('index', path, {
    onProgress: (report) => {
      if (!isClosed) onReport(report)
    },
    onEnd: ({ message }) => {
      if (!isClosed) onEnd(message)
    },
  })
  // The process may end while the thread runs. The next start continues its work.
  thread.unref()
  // A call fails only after the end of the thread, which onEnd reports.
  const send = (call: Promise<void>) => void call.catch(() => {})
  send(thread.remote.wake(true))
  return {
    wake: (isUrgent) => send(thread.remote.wake(isUrgent)),
    rebuild: (inode, why) => send(thread.remote.rebuild(inode, why)),
    giveSpace: () => send(thread.remote.giveSpace()),
    restartLog: () => thread.remote.restartLog(),
    close: () => {
      isClosed = true
      return thread.close()
    },
  }
}
