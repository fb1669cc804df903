import { AppError } from '../../domain/errors.ts'
import type { SqliteFault } from '../errors.ts'
import { type IndexProgress, type IndexReport, indexPath, inodeOf, type UnreadyIndex } from '../indexed.ts'
import { ThreadClient, type ThreadEvents } from '../worker/client.ts'
import type { Remote } from '../worker/protocol.ts'
import { removeIndex } from './index-file.ts'
import { GATHER_TIME, type IndexFollower, isUsable, URGENT_LAG } from './index-follower.ts'
import { IndexThrottle } from './index-throttle.ts'
import { NONE_YET } from './indexer.ts'

/** Milliseconds before the restart of a follower that has ended. */
const RESTART_PAUSE = 2000
/** Plants of which a new index is there before an operator could read that it is being made. */
const QUICK = 20_000
/** Milliseconds that a write waits. Clients give up later. */
const MAX_WAIT = 20_000

/** Updates the search index: an IndexFollower in a thread, or a test's own. */
export type Follower = Pick<ThreadClient<IndexFollower>, 'remote' | 'close'>
export type FollowerEvents = Required<Pick<ThreadEvents, 'onProgress' | 'onEnd'>>
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
  /** Whether the follower's thread has given way to all others. */
  #givesWay = false
  /** Resolves once the followers that others have replaced have ended. */
  #replaced: Promise<unknown> = Promise.resolve()
  #restart: NodeJS.Timeout | undefined
  #progress: IndexProgress | undefined
  /** Whether the operator knows that the index is being made. */
  #hasTold = false
  /** Changes since the start of the last reported step. */
  #written = 0
  /** Milliseconds within which the follower was told to take its next step. */
  #wokenWithin = Number.POSITIVE_INFINITY
  #isFaulty = false
  #isClosed = false
  #reported = Promise.withResolvers<void>()
  /** The last waiting write of each actor. */
  readonly #lines = new Map<string, Promise<void>>()
  /** Resolved when waiting writes may begin. */
  #room = Promise.withResolvers<void>()

  constructor(path: string, options: SearchIndexOptions) {
    this.#path = path
    this.#options = options
  }

  start(): void {
    if (this.#follower !== undefined || this.#isClosed || this.#restart !== undefined) return
    const start = this.#options.start ?? startThread
    let follower: Follower | undefined
    const isPresent = () => this.#follower === follower
    follower = start(this.#path, {
      onProgress: (report) => isPresent() && this.#take(report),
      onEnd: ({ message }) => isPresent() && this.#ended(message),
    })
    this.#follower = follower
    this.#givesWay = false
    this.#wokenWithin = Number.POSITIVE_INFINITY
    this.#wakeWithin(0)
  }

  /**
   * Begins a write, and charges its work to an actor (IndexThrottle). End it by `wrote`.
   *
   * @param isPart whether it is a part of longer work. Such a write begins when it has waited long enough
   * @returns undefined when it may begin at once
   * @throws AppError 42901 when it waited too long; nothing is charged
   */
  admit(actor: string, work: number, isPart = false): Promise<void> | undefined {
    if (!this.#isFollowed) return undefined
    if (!this.#lines.has(actor) && this.#throttle.begin(actor, work)) return undefined
    return this.#wait(actor, work, isPart)
  }

  /** Ends a write after its commit, or one that changed nothing (IndexThrottle.wrote). */
  wrote(actor: string, charged: number, work: number, changes: number): void {
    if (this.#isFollowed) this.#throttle.wrote(actor, charged, work, changes)
    this.#written += changes
    this.#wake()
    // A patch is charged as for the largest plant, and most of that is room for the writes behind it.
    if (work < charged) this.#makeRoom()
  }

  /** The approximate number of changes that the index lacks, and of plants while it is made anew; NaN until it is known. */
  get behind(): number {
    const { behind, unscanned } = this.#progress ?? { behind: Number.NaN, unscanned: 0 }
    return behind + unscanned + this.#written
  }

  get share(): number {
    return this.#progress?.share ?? 0
  }

  /** Call it when a search has to wait for the index. Starts the thread, if this process may update the index. */
  hurry(): void {
    if (this.#follower === undefined && this.#options.mayStart()) this.start()
    this.#wakeWithin(0)
  }

  /** Begins the writes that wait, as the store closes, and takes no further reports. */
  beginAll(): void {
    this.#isClosed = true
    this.#makeRoom()
  }

  /** Resolves at the next report of the follower, or after `time` milliseconds. */
  changed(time: number): Promise<void> {
    return within(this.#reported.promise, time)
  }

  /** Call it when a reader could not use the index. Without a follower here, the next one makes the removed file anew. */
  reportDamage({ inode, message }: UnreadyIndex): void {
    if (inode === undefined) return
    this.#tell((follower) => follower.rebuild(inode, message))
    if (this.#follower === undefined && inodeOf(indexPath(this.#path)) === inode) removeIndex(indexPath(this.#path))
  }

  /** Removes the index of a store that has no space left. The follower makes it anew later. */
  giveSpace(): void {
    this.#tell((follower) => follower.giveSpace())
  }

  async restartWal(): Promise<void> {
    await this.#follower?.remote.restartWal()
  }

  /** Stops the thread. The next start continues the remaining work. */
  async close(within?: number): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#restart)
    this.#reported.resolve()
    await Promise.all([this.#replaced, this.#follower?.close({ within })])
  }

  /** Waits behind the earlier writes of the actor, and then until the index has room for this one. */
  async #wait(actor: string, work: number, isPart: boolean): Promise<void> {
    const deadline = performance.now() + MAX_WAIT
    const before = this.#lines.get(actor)
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#lines.set(actor, promise)
    this.#wakeWithin(0)
    await before
    try {
      while (this.#isFollowed && !this.#throttle.begin(actor, work, isPart && performance.now() >= deadline)) {
        const left = deadline - performance.now()
        if (left <= 0 && !isPart) throw tooMuch()
        await within(this.#room.promise, left)
      }
    } finally {
      if (this.#lines.get(actor) === promise) this.#lines.delete(actor)
      resolve()
    }
  }

  #makeRoom(): void {
    this.#room.resolve()
    this.#room = Promise.withResolvers()
  }

  #tell(message: (follower: Remote<IndexFollower>) => Promise<void>): void {
    // A call fails only after the end of the thread, which onEnd reports.
    if (this.#follower !== undefined) message(this.#follower.remote).catch(() => {})
  }

  #wake(): void {
    this.#wakeWithin(this.behind >= URGENT_LAG || this.#lines.size > 0 || this.#throttle.isUrgent ? 0 : GATHER_TIME)
  }

  #wakeWithin(time: number): void {
    if (time >= this.#wokenWithin) return
    this.#wokenWithin = time
    this.#tell((follower) => follower.wake(time))
  }

  /** Whether the index makes progress. Writes wait only for an index that does. */
  get #isFollowed(): boolean {
    return this.#follower !== undefined && !this.#isFaulty && !this.#isClosed
  }

  #take(report: IndexReport): void {
    if (this.#isClosed) return
    if ('progress' in report) this.#advance(report.progress, report.startedAt)
    else if ('dropped' in report) this.#progress = report.dropped
    else if ('durable' in report) this.#options.onDurable(report.durable)
    else if ('storeFault' in report) this.#options.onStoreFault(report.storeFault)
    else this.#fail(report.fault)
    this.#reported.resolve()
    this.#reported = Promise.withResolvers()
  }

  #advance(progress: IndexProgress, startedAt: number): void {
    const { rebuilt, share, unscanned } = progress
    if (rebuilt !== undefined && (unscanned > QUICK || rebuilt !== NONE_YET)) {
      this.#hasTold = true
      this.#options.onNotice(`rebuilding the search index (${rebuilt}); searches of a large store wait meanwhile`)
    } else if (share === 1 && this.#hasTold) {
      this.#hasTold = false
      this.#options.onNotice('the search index is complete')
    }
    this.#isFaulty = false
    this.#progress = progress
    if (isUsable(progress)) this.#givesWay = true
    else if (this.#givesWay && rebuilt !== undefined) this.#replaceFollower()
    this.#wokenWithin = progress.isDone ? Number.POSITIVE_INFINITY : GATHER_TIME
    this.#written = this.#throttle.indexed(progress.behind, startedAt)
    this.#makeRoom()
    if (this.#written > 0 || !progress.isDone) this.#wake()
  }

  /** Has a new thread make the index, because the present one has given way to all others for good. */
  #replaceFollower(): void {
    this.#replaced = Promise.all([this.#replaced, this.#follower?.close().catch(() => {})])
    this.#follower = undefined
    this.start()
  }

  #fail(fault: string): void {
    if (!this.#isFaulty) {
      this.#options.onNotice(
        `the search index cannot be written (${fault}); the service refuses large searches meanwhile`,
      )
    }
    this.#isFaulty = true
    this.#throttle.reset()
    this.#makeRoom()
    this.#options.onUnusable()
  }

  #ended(why: string): void {
    if (this.#isClosed) return
    this.#follower = undefined
    this.#fail(why)
    this.#restart = setTimeout(() => {
      this.#restart = undefined
      this.start()
    }, RESTART_PAUSE).unref()
  }
}

/** Resolves with a promise, or after `time` milliseconds. */
async function within(promise: Promise<void>, time: number): Promise<void> {
  const { promise: late, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, time)
  await Promise.race([promise, late])
  clearTimeout(timer)
}

const tooMuch = (): AppError =>
  new AppError(
    42901,
    'the search index has too much text of this token to index first; nothing was done, retry later',
    { retryAfter: 5 },
  )

function startThread(path: string, events: FollowerEvents): Follower {
  const thread = new ThreadClient<IndexFollower>('index', path, events)
  // The process may end while the thread runs. The next start continues its work.
  thread.unref()
  return thread
}
