import { isBusy, isFull, reported, sqliteFault } from '../errors.ts'
import { ThreadClient } from '../worker/client.ts'
import type { Remote } from '../worker/protocol.ts'
import { type Put, type PutResponse, SqliteWriter } from './writer.ts'

/** A commit that took longer, in milliseconds, waited for a slow disk and not only for the processor. */
const QUICK = 4
/**
 * The disk is slow when more than one commit in ten is slow for some time: a few may have waited for the processor. A
 * slow commit adds SLOW_POINTS, a quick one subtracts one. At SLOW_LIMIT groups go to the thread.
 */
const SLOW_POINTS = 10
const SLOW_LIMIT = 100
/** Fewer slow commits after a pause show that the disk is still slow. */
const POINTS_AFTER_PAUSE = SLOW_LIMIT - 3 * SLOW_POINTS
/** Milliseconds that groups go to the thread; doubled each further time. */
const FIRST_PAUSE = 1000
const MAX_PAUSE = 60_000
/** Milliseconds that groups go to the thread after one found the disk full. */
const FULL_PAUSE = 1000
/** Creates in the largest group that the event loop commits: half a millisecond of work. */
const MAX_ROWS = 128
/** Commits between checks of the log's length. */
const LOG_CHECK_INTERVAL = 16

/** Writes to the store. */
export interface Writer {
  /** Resolves after the commit. @throws AppError 50301 when the outcome can't be known, 50304 when there is no space */
  createPlants(puts: readonly Put[]): Promise<PutResponse[]>
  /** All other writes, with the same errors. */
  readonly thread: Remote<SqliteWriter>
  /** Closes the database, after the calls that were made before. */
  close(): Promise<void>
}

/**
 * Commits small groups of creates on the event loop while the disk is quick, and does everything else in a thread.
 *
 * A message to a thread and back costs more than a commit on a quick disk, and a commit on a slow disk delays every
 * read. docs/decisions/0015-writer-placement.md has the measurements.
 */
export class AdaptiveWriter implements Writer {
  readonly #path: string
  readonly #client: ThreadClient<'writer'>
  readonly #onFatal: (error: Error) => void
  readonly #now: () => number
  /** The connection of the event loop, opened by its first group. */
  #here: SqliteWriter | undefined
  #threadUntil = 0
  #pause = FIRST_PAUSE
  #points = 0
  #sinceLogCheck = 0

  /**
   * @param onFatal called when the writer can't continue; only a restart of the process helps
   * @param now milliseconds
   */
  constructor(path: string, onFatal: (error: Error) => void, now: () => number = () => performance.now()) {
    this.#path = path
    this.#onFatal = onFatal
    this.#now = now
    this.#client = writerThread(path, (error) => this.#fail(error))
  }

  get thread(): Remote<SqliteWriter> {
    return this.#client.remote
  }

  async createPlants(puts: readonly Put[]): Promise<PutResponse[]> {
    const isForHere = puts.length <= MAX_ROWS && this.commitsOn === 'event loop'
    return (isForHere ? this.#createHere(puts) : undefined) ?? this.thread.createPlants(puts)
  }

  async close(): Promise<void> {
    this.#here?.close()
    await this.#client.close()
  }

  /** Where a small group would be committed now. It must not overtake what the thread received earlier. */
  get commitsOn(): 'event loop' | 'thread' {
    return this.#client.unanswered === 0 && this.#now() >= this.#threadUntil ? 'event loop' : 'thread'
  }

  /** @returns undefined when another process is writing: the thread can wait for it */
  #createHere(puts: readonly Put[]): PutResponse[] | undefined {
    const startedAt = this.#now()
    let outcomes: PutResponse[]
    try {
      this.#here ??= new SqliteWriter(this.#path, { isHasty: true })
      outcomes = this.#here.createPlants(puts)
    } catch (error) {
      const fault = sqliteFault(error)
      if (fault !== undefined && isBusy(fault)) return undefined
      if (fault !== undefined && isFull(fault)) this.#makeRoom()
      throw reported(error, (fatal) => this.#fail(fatal))
    }
    this.#judge(this.#now() - startedAt)
    if (++this.#sinceLogCheck >= LOG_CHECK_INTERVAL) this.#checkLog(this.#here)
    return outcomes
  }

  #judge(duration: number): void {
    if (duration <= QUICK) {
      this.#points = Math.max(0, this.#points - 1)
      if (this.#points === 0) this.#pause = FIRST_PAUSE
      return
    }
    this.#points += SLOW_POINTS
    if (this.#points < SLOW_LIMIT) return
    this.#points = POINTS_AFTER_PAUSE
    this.#threadUntil = this.#now() + this.#pause
    this.#pause = Math.min(this.#pause * 2, MAX_PAUSE)
  }

  /**
   * Copying a long log into the file takes tens of milliseconds, so the thread does it. Groups queue behind it
   * meanwhile.
   */
  #checkLog(here: SqliteWriter): void {
    this.#sinceLogCheck = 0
    try {
      // The client reports a fatal fault by onFatal; any other one leaves the log as it is.
      if (here.isLogLong()) this.thread.foldLog().catch(() => {})
    } catch {
      // The group is committed. The next one reports the fault.
    }
  }

  /** The thread frees space before it writes again, so that the log does not take the space. */
  #makeRoom(): void {
    this.#threadUntil = this.#now() + FULL_PAUSE
    this.thread.makeRoom().catch(() => {})
  }

  /** A later fsync that succeeds proves nothing, so neither connection commits again. */
  #fail(error: Error): void {
    this.#client.refuse(error)
    this.#threadUntil = Number.POSITIVE_INFINITY
    this.#onFatal(error)
  }
}

/**
 * A writer in a thread of its own. When the thread ends unexpectedly, the outcome of the calls under way is unknown.
 */
export function writerThread(path: string, onFatal: (error: Error) => void): ThreadClient<'writer'> {
  return new ThreadClient('writer', path, {
    onFatal,
    onEnd: (cause, unanswered) => {
      if (unanswered > 0) onFatal(cause)
    },
  })
}
