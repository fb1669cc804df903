import { setTimeout as sleep } from 'node:timers/promises'
import type { SqliteFault } from '../errors.ts'
import { ThreadClient } from '../worker/client.ts'
import type { IndexReport } from './index-follower.ts'
import { type IndexProgress, NONE_YET } from './indexer.ts'
import { WritePace } from './write-pace.ts'

/** So many changes behind, the follower is told not to wait for more. */
const MANY = 4000
/** How soon a follower that ended is started again, in milliseconds: twice as long each further time. */
const FIRST_RESTART = 1000
const LAST_RESTART = 60_000
/** How often it is looked whether others have written, in milliseconds. */
const LOOK_INTERVAL = 1000
/** How often a write that waits looks whether it still has to, in milliseconds. */
const NAP = 500
/** An import waits from this pressure on: while the index takes one batch, the import brings the next. */
const IMPORT_PRESSURE = 1.6
/** How long an import waits at once for the index to come nearer. */
const IMPORT_PATIENCE = 10_000

/** Who makes the search index follow the log of changes: an IndexFollower in a thread, unless a test has another one. */
export interface Follower {
  /** See IndexFollower.wake. */
  wake(isUrgent: boolean): void
  /** See IndexFollower.remake. */
  remake(inode: number, why: string): void
  /** Ends what is under way and lets go of the index. */
  close(): Promise<void>
}

export interface FollowerEvents {
  onReport(report: IndexReport): void
  /** Called once when it has ended without being asked to. */
  onEnd(why: string): void
}

export type StartFollower = (path: string, events: FollowerEvents) => Follower

export interface SearchIndexOptions {
  readonly start: StartFollower | undefined
  /** Whether this process makes the index where a search needs it. */
  readonly mayStart: () => boolean
  /** Told what the operator should know. */
  readonly onNotice: (text: string) => void
  /** Told that the index is, and stays, at this position of the log of changes. */
  readonly onDurable: (position: number) => unknown
  /** Told of a fault of the store that the follower met. */
  readonly onStoreFault: (fault: SqliteFault) => unknown
}

/**
 * The search index as the rest of the store sees it: how far behind it is, what slows writes down for that, and the thread
 * that makes it follow. No fault of it is one of the store.
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
  /** What was written since the step that told of its progress last began: when, and how many plants. */
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

  /** Starts the thread, unless it runs. */
  start(): void {
    // Commands write to the store as well.
    this.#looking ??= setInterval(() => this.wrote(0), LOOK_INTERVAL).unref()
    if (this.#follower !== undefined || this.#isClosed || this.#restart !== undefined) return
    const start = this.#options.start ?? startThread
    this.#follower = start(this.#path, {
      onReport: (report) => this.#take(report),
      onEnd: (why) => this.#ended(why),
    })
  }

  /** Told that a search waits for the index. */
  need(): void {
    if (this.#follower === undefined && this.#options.mayStart()) this.start()
  }

  /** Told after every commit of this process that changed plants, and now and then for the commits of others. */
  wrote(plants: number): void {
    this.#written += plants
    if (plants > 0) this.#writes.push({ at: performance.now(), plants })
    if (this.behind >= MANY) this.#hurry()
    else if (this.#isAsleep) {
      this.#isAsleep = false
      this.#follower?.wake(false)
    }
  }

  /** Changes that are not in the index, about. */
  get behind(): number {
    return (this.#progress?.behind ?? 0) + this.#written
  }

  /** The part of all plants that is in the index, from 0 to 1. */
  get share(): number {
    return this.#progress?.share ?? 0
  }

  /** Resolves when so many plants may be written; undefined where that is at once. */
  admit(plants: number): Promise<void> | undefined {
    const delay = this.#isFollowed ? this.#pace.delay(plants, this.behind) : 0
    return delay > 0 ? this.#wait(delay) : undefined
  }

  /** Resolves when an import may write: sooner than others it waits until the index is near. */
  async room(): Promise<void> {
    const deadline = performance.now() + IMPORT_PATIENCE
    while (this.#isFollowed && this.#pace.pressure(this.behind) > IMPORT_PRESSURE && performance.now() < deadline) {
      this.#hurry()
      await this.changed(deadline - performance.now())
    }
  }

  /** Resolves when the index has come on, or after so many milliseconds. */
  async changed(time: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#waiting.push(resolve)
    const timer = setTimeout(resolve, time)
    await promise
    clearTimeout(timer)
    this.#waiting = this.#waiting.filter((waiting) => waiting !== resolve)
  }

  /** A reader found a fault in the file with this inode. */
  suspect(inode: number, why: string): void {
    this.#follower?.remake(inode, why)
  }

  /** What is left undone is done after the next start. */
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

  /** Nobody waits for an index that does not come on. */
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
  // It holds up nobody's end: what it leaves undone is done after the next start.
  thread.unref()
  // Where a call is not answered, the thread has ended, which onEnd tells.
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
