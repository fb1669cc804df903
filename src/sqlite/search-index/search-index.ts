// Longer than 400 lines because every write passes both classes, the state of the index and its throttle.

import { AppError } from '../../domain/errors.ts'
import type { SqliteFault } from '../errors.ts'
import { ThreadClient } from '../worker/client.ts'
import { type IndexProgress, type IndexReport, watchIndex } from './index-file.ts'
import { URGENT_LAG } from './index-follower.ts'
import { NONE_YET } from './indexer.ts'

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
  /** See Indexer.restartWal. */
  restartWal(): Promise<void>
  /** Resolves after the step under way, once the index is closed. */
  close(): Promise<void>
}

export interface FollowerEvents {
  onReport(report: IndexReport): void
  /** Called once when the follower has ended unexpectedly. */
  onEnd(why: string): void
}

export type StartFollower = (path: string, events: FollowerEvents) => Follower

interface SearchIndexOptions {
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
    const admitted = this.#isFollowed ? this.#throttle.admit(actor, work, isPart) : undefined
    if (admitted !== undefined) this.#wakeUrgently()
    return admitted
  }

  /** Ends a write after its commit, or one that changed nothing (IndexThrottle.wrote). */
  wrote(actor: string, charged: number, work: number, changes: number): void {
    if (this.#isFollowed) this.#throttle.wrote(actor, charged, work, changes)
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
    this.#throttle.reset()
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
  async restartWal(): Promise<void> {
    await this.#follower?.restartWal()
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
    this.#throttle.reset()
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
    restartWal: () => thread.remote.restartWal(),
    close: () => {
      isClosed = true
      return thread.close()
    },
  }
}

/**
 * Work that the index may be behind: 8,000 short names. A search looks these plants up one by one, in 10 ms of processor
 * time, and in 0.4 s at worst, if folding makes 18 characters of each.
 */
const MAX_WORK = 2 ** 19
const MAX_WORK_OF_ACTOR = MAX_WORK / 2
/** Work that a search looks up: all that the index may be behind, and one further write that is not large. */
export const LOOKED_UP_WORK = MAX_WORK + MAX_WORK_OF_ACTOR
/** The work from which on the index does not wait for more. */
const URGENT_WORK = MAX_WORK_OF_ACTOR / 2

/** Milliseconds that a write waits. Clients give up later. */
const MAX_WAIT = 20_000
/** The pause after a large write: for as many times as long as the index was behind because of it, in milliseconds. */
const REST_SHARE = 3
const MAX_REST = MAX_WAIT / 2
/** Bounds of the waiting writes of one actor. */
const MAX_WAITING = 5000
const MAX_WAITING_WORK = 32 * 2 ** 20

/** What one actor wrote with one commit. */
interface Write {
  readonly at: number
  readonly actor: string
  changes: number
  work: number
}

interface Waiting {
  readonly work: number
  readonly begin: () => void
}

/**
 * Bounds the work that the search index is behind, and charges it to the actors (src/domain/token.ts) whose writes cause it.
 * A write waits while the index has too much work of its own actor, so that no other actor waits for it. An actor whose
 * writes are all indexed may always begin one, however large.
 *
 * It needs no rate of the index: every step of the index makes room. Searches wait for a large write, one that is more
 * than the share of an actor, so such writes have pauses between them.
 */
export class IndexThrottle {
  /** The work of each actor that has begun and is not indexed. */
  readonly #work = new Map<string, number>()
  readonly #waiting = new Map<string, Waiting[]>()
  /** Commits that the index may lack, oldest first. */
  #writes: Write[] = []
  /** The work of these commits. */
  #unindexed = 0
  /** Searches that wait for the index. */
  #searches = 0
  #rest: NodeJS.Timeout | undefined

  /** Whether the index should take its next step at once. */
  get isUrgent(): boolean {
    return this.#waiting.size + this.#searches > 0 || this.#unindexed >= URGENT_WORK
  }

  /**
   * Begins a write, and charges its work. `wrote` ends it.
   *
   * @param isPart whether it is a part of longer work. Such a write begins when it has waited long enough
   * @returns undefined when it may begin at once
   * @throws AppError 42901 when it waited too long, or too many writes of this actor wait; nothing is charged
   */
  admit(actor: string, work: number, isPart: boolean): Promise<void> | undefined {
    if (!this.#waiting.has(actor) && this.#fits(actor, work)) {
      this.#charge(actor, work)
      return undefined
    }
    return this.#wait(actor, work, isPart)
  }

  /**
   * Ends a write, after its commit or its failure.
   *
   * @param charged the work that `admit` has charged
   * @param work the work of the plants as they are now
   * @param changes its changes in the log
   */
  wrote(actor: string, charged: number, work: number, changes: number): void {
    if (changes === 0) {
      this.#charge(actor, -charged)
      this.#beginWaiting()
      return
    }
    this.#unindexed += work
    this.#charge(actor, work - charged)
    this.#writes.push({ at: performance.now(), actor, changes, work })
  }

  /**
   * Call it after each step of the index.
   *
   * @param behind changes of the log that the index lacks after the step
   * @param startedAt the time at which the step began
   * @returns the changes of commits after that time, which `behind` may not include
   */
  indexed(behind: number, startedAt: number): number {
    const end = this.#writes.findIndex(({ at }) => at >= startedAt)
    const later = end === -1 ? [] : this.#writes.slice(end)
    const earlier = end === -1 ? this.#writes : this.#writes.slice(0, end)
    // The index takes the log in its order. Changes of other processes are charged to nobody.
    let done = sum(earlier) - behind
    let first = 0
    for (const write of earlier) {
      if (done <= 0) break
      const changes = Math.min(write.changes, done)
      const work = Math.ceil((write.work * changes) / write.changes)
      this.#charge(write.actor, -work)
      this.#unindexed -= work
      write.changes -= changes
      write.work -= work
      done -= changes
      if (write.changes > 0) break
      first++
      if (work > MAX_WORK_OF_ACTOR) this.#restAfter(performance.now() - write.at)
    }
    this.#writes = earlier.slice(first).concat(later)
    this.#beginWaiting()
    return sum(later)
  }

  /** Begins all waiting writes and forgets all charges, when the index makes no progress or the store closes. */
  reset(): void {
    const all = Array.from(this.#waiting.values())
    this.#waiting.clear()
    for (const waiting of all) for (const { begin } of waiting.splice(0)) begin()
    this.#work.clear()
    this.#writes = []
    this.#unindexed = 0
  }

  /**
   * Call it when a search has to wait for the index. Until its end, no large write begins: with one large write after
   * the other, the index would always lack one.
   *
   * @returns a function to call at the end of the search
   */
  beginSearch(): () => void {
    this.#searches++
    return () => {
      this.#searches--
      this.#beginWaiting()
    }
  }

  #fits(actor: string, work: number): boolean {
    if (work > MAX_WORK_OF_ACTOR && (this.#searches > 0 || this.#rest !== undefined)) return false
    const own = this.#work.get(actor)
    return own === undefined || own + work <= Math.min(MAX_WORK_OF_ACTOR, MAX_WORK / this.#work.size)
  }

  #charge(actor: string, work: number): void {
    const sum = (this.#work.get(actor) ?? 0) + work
    if (sum > 0) this.#work.set(actor, sum)
    else this.#work.delete(actor)
  }

  #wait(actor: string, work: number, isPart: boolean): Promise<void> {
    const waiting = this.#waiting.get(actor) ?? []
    const waitingWork = waiting.reduce((all, one) => all + one.work, work)
    const isFull = waiting.length >= MAX_WAITING || waitingWork > MAX_WAITING_WORK
    if (isFull && !isPart) return Promise.reject(tooMuch())
    this.#waiting.set(actor, waiting)
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const begin = () => {
      clearTimeout(timer)
      this.#charge(actor, work)
      resolve()
    }
    const one = { work, begin }
    const timer = setTimeout(() => {
      waiting.splice(waiting.indexOf(one), 1)
      if (waiting.length === 0) this.#waiting.delete(actor)
      if (isPart) begin()
      else reject(tooMuch())
    }, MAX_WAIT)
    waiting.push(one)
    return promise
  }

  /** Keeps large writes waiting, so that most searches find none that the index lacks. */
  #restAfter(time: number): void {
    clearTimeout(this.#rest)
    this.#rest = setTimeout(
      () => {
        this.#rest = undefined
        this.#beginWaiting()
      },
      Math.min(MAX_REST, REST_SHARE * time),
    ).unref()
  }

  #beginWaiting(): void {
    for (const [actor, waiting] of this.#waiting) {
      for (let first = waiting[0]; first !== undefined && this.#fits(actor, first.work); first = waiting[0]) {
        waiting.shift()
        first.begin()
      }
      if (waiting.length === 0) this.#waiting.delete(actor)
    }
  }
}

const sum = (writes: readonly Write[]): number => writes.reduce((all, { changes }) => all + changes, 0)

const tooMuch = (): AppError =>
  new AppError(
    42901,
    'the search index has too much text of this token to index first; nothing was done, retry later',
    {
      retryAfter: 5,
    },
  )
