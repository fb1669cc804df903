import { setTimeout as sleep } from 'node:timers/promises'
import type { SqliteFault } from '../errors.ts'
import { ThreadClient } from '../worker/client.ts'
import type { IndexReport } from './index-follower.ts'
import { type IndexProgress, NONE_YET } from './indexer.ts'
import { WritePace } from './write-pace.ts'

/** Changes behind, from which on the follower indexes at once. */
const MANY = 4000
/** Milliseconds before a follower that ended is started again; doubled each further time. */
const FIRST_RESTART = 1000
const LAST_RESTART = 60_000
/** Milliseconds between checks whether other processes have written. */
const LOOK_INTERVAL = 1000
/** Milliseconds between checks of a delayed write whether it may proceed. */
const NAP = 500
/** The pressure from which on an import waits: it prepares the next batch while the index takes one. */
const IMPORT_PRESSURE = 1.6
/** Milliseconds that one batch of an import waits for the index. */
const IMPORT_TIMEOUT = 10_000

/** Updates the search index: an IndexFollower in a thread, or a stand-in of a test. */
export interface Follower {
  /** See IndexFollower.wake. */
  wake(isUrgent: boolean): void
  /** See IndexFollower.remake. */
  remake(inode: number, why: string): void
  /** Ends the step under way and closes the index. */
  close(): Promise<void>
}

export interface FollowerEvents {
  onReport(report: IndexReport): void
  /** Called once when it has ended unexpectedly. */
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
  /** Called with a fatal fault of the store that the follower met. */
  readonly onStoreFault: (fault: SqliteFault) => unknown
}

/**
 * The search index as the rest of the store sees it: its lag, the delay of writes by its lag, and the thread that
 * updates it. Its faults never fail a write.
 */
export class SearchIndex {
  readonly #path: string
  readonly #options: SearchIndexOptions
  readonly #pace = new WritePace()
  #follower: Follower | undefined
  #restart: NodeJS.Timeout | undefined
  #looking: NodeJS.Timeout | undefined
  #restartTime = FIRST_RESTART
  #progress: IndexProgress | undefined
  /** The writes since the last reported step began. */
  #writes: { readonly at: number; readonly plants: number }[] = []
  #written = 0
  #isAsleep = false
  #isHurried = false
  #isFaulty = false
  #isClosed = false
  #waiting: (() => void)[] = []

  constructor(path: string, options: SearchIndexOptions) {
    this.#path = path
    this.#options = options
  }

  /** Starts the thread, unless it is running. */
  start(): void {
    // Other processes write to the store as well.
    this.#looking ??= setInterval(() => this.wrote(0), LOOK_INTERVAL).unref()
    if (this.#follower !== undefined || this.#isClosed || this.#restart !== undefined) return
    const start = this.#options.start ?? startThread
    this.#follower = start(this.#path, {
      onReport: (report) => this.#take(report),
      onEnd: (why) => this.#ended(why),
    })
  }

  /** Called when a search waits for the index. */
  need(): void {
    if (this.#follower === undefined && this.#options.mayStart()) this.start()
  }

  /** Called after every commit that changed plants, and regularly for the commits of other processes. */
  wrote(plants: number): void {
    this.#written += plants
    if (plants > 0) this.#writes.push({ at: performance.now(), plants })
    if (this.behind >= MANY) this.#hurry()
    else if (this.#isAsleep) {
      this.#isAsleep = false
      this.#follower?.wake(false)
    }
  }

  /** The approximate number of changes that the index lacks. */
  get behind(): number {
    return (this.#progress?.behind ?? 0) + this.#written
  }

  /** The part of all plants that is in the index, from 0 to 1. */
  get share(): number {
    return this.#progress?.share ?? 0
  }

  /** Resolves when this many plants may be written; undefined when they may be at once. */
  admit(plants: number): Promise<void> | undefined {
    const delay = this.#isFollowed ? this.#pace.delay(plants, this.behind) : 0
    return delay > 0 ? this.#wait(delay) : undefined
  }

  /** Resolves when an import may write. Imports wait for the index sooner than other writes. */
  async room(): Promise<void> {
    const deadline = performance.now() + IMPORT_TIMEOUT
    while (this.#isFollowed && this.#pace.pressure(this.behind) > IMPORT_PRESSURE && performance.now() < deadline) {
      this.#hurry()
      await this.changed(deadline - performance.now())
    }
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

  /** Called when a reader found a fault in the file with this inode. */
  suspect(inode: number, why: string): void {
    this.#follower?.remake(inode, why)
  }

  /** The next start continues what remains. */
  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#restart)
    clearInterval(this.#looking)
    for (const resolve of this.#waiting.splice(0)) resolve()
    await this.#follower?.close()
  }

  #hurry(): void {
    if (this.#isHurried) return
    this.#isHurried = true
    this.#isAsleep = false
    this.#follower?.wake(true)
  }

  async #wait(time: number): Promise<void> {
    for (let left = time; left > 0 && this.#isFollowed; left -= NAP) {
      await sleep(Math.min(left, NAP))
      if (this.#pace.pressure(this.behind) <= 1) return
    }
  }

  /** Whether the index makes progress; otherwise no write waits for it. */
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
    const { remade, share } = progress
    if (remade !== undefined && (share < 1 || remade !== NONE_YET)) {
      this.#options.onNotice(`rebuilding the search index (${remade}); searches of a large store wait meanwhile`)
    } else if (share === 1 && this.#progress !== undefined && this.#progress.share < 1) {
      this.#options.onNotice('the search index is complete')
    }
    this.#pace.learn(progress.indexed, time)
    this.#isFaulty = false
    this.#isHurried = false
    this.#restartTime = FIRST_RESTART
    this.#progress = progress
    const startedAt = performance.now() - time
    this.#writes = this.#writes.filter(({ at }) => at >= startedAt)
    this.#written = this.#writes.reduce((sum, { plants }) => sum + plants, 0)
    this.#isAsleep = progress.isDone
    if (this.#written > 0) this.wrote(0)
  }

  #fail(fault: string): void {
    if (!this.#isFaulty) {
      this.#options.onNotice(
        `the search index cannot be written (${fault}); the service refuses large searches meanwhile`,
      )
    }
    this.#isFaulty = true
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
  // The process may end while it runs: the next start continues.
  thread.unref()
  // A call fails only when the thread has ended, which onEnd reports.
  const send = (call: Promise<void>) => void call.catch(() => {})
  send(thread.remote.wake(true))
  return {
    wake: (isUrgent) => send(thread.remote.wake(isUrgent)),
    remake: (inode, why) => send(thread.remote.remake(inode, why)),
    close: () => {
      isClosed = true
      return thread.close()
    },
  }
}
