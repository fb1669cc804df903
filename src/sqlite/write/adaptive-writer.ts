import { appErrorOf, isBusy, isFull, sqliteFault } from '../errors.ts'
import { ThreadClient } from '../worker/client.ts'
import type { Remote } from '../worker/protocol.ts'
import { type Put, type PutResponse, SqliteWriter } from './writer.ts'

/** Milliseconds. A slower commit counts as slow: it probably waited for the disk, and not only for the processor. */
const QUICK = 4
/**
 * A leaky bucket counts slow commits: each adds SLOW_POINTS, and each quick one removes one point. It fills when more
 * than one commit in ten is slow. At SLOW_LIMIT groups go to the thread.
 */
const SLOW_POINTS = 10
const SLOW_LIMIT = 100
/** The points after a pause. Three slow commits then suffice for the next pause. */
const POINTS_AFTER_PAUSE = SLOW_LIMIT - 3 * SLOW_POINTS
/** Milliseconds for which groups go to the thread. Each further pause is twice as long. */
const FIRST_PAUSE = 1000
const MAX_PAUSE = 60_000
/** Milliseconds for which groups go to the thread after the disk was full. */
const FULL_PAUSE = 1000
/** Maximum number of creates that the event loop commits at once: half a millisecond of work. */
const MAX_ROWS = 128
/** Commits between two checks of the WAL's length. */
const LOG_CHECK_INTERVAL = 16

export interface WriterEvents {
  /** Called when the writer can't continue; only a restart of the process helps. */
  readonly onFatal: (error: Error) => void
  /** Called when the store has no space left for a write. */
  readonly onFull?: () => void
}

/** Writes to the store. */
export interface Writer {
  /** Resolves after the commit. @throws AppError 50301 when the outcome can't be known, 50304 when there is no space */
  createPlants(puts: readonly Put[]): Promise<PutResponse[]>
  /** Makes all other writes, with the same errors. */
  readonly thread: Remote<SqliteWriter>
  /** Closes the database after all earlier calls. */
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
  readonly #events: WriterEvents
  readonly #now: () => number
  /** The connection of the event loop. Its first group opens it. */
  #loopWriter: SqliteWriter | undefined
  #threadUntil = 0
  #pause = FIRST_PAUSE
  #points = 0
  #sinceLogCheck = 0

  /** @param now milliseconds */
  constructor(path: string, events: WriterEvents, now: () => number = () => performance.now()) {
    this.#path = path
    this.#events = events
    this.#now = now
    this.#client = writerThread(path, (error) => this.#fail(error), events.onFull)
  }

  get thread(): Remote<SqliteWriter> {
    return this.#client.remote
  }

  async createPlants(puts: readonly Put[]): Promise<PutResponse[]> {
    const isForLoop = puts.length <= MAX_ROWS && this.commitsOn === 'event loop'
    return (isForLoop ? this.#createOnLoop(puts) : undefined) ?? this.thread.createPlants(puts)
  }

  async close(): Promise<void> {
    this.#loopWriter?.close()
    await this.#client.close()
  }

  /** The place where a small group would commit now. A group must not overtake earlier calls to the thread. */
  get commitsOn(): 'event loop' | 'thread' {
    return this.#client.unanswered === 0 && this.#now() >= this.#threadUntil ? 'event loop' : 'thread'
  }

  /** @returns undefined while another process writes: only the thread may wait for it */
  #createOnLoop(puts: readonly Put[]): PutResponse[] | undefined {
    const startedAt = this.#now()
    let outcomes: PutResponse[]
    try {
      this.#loopWriter ??= new SqliteWriter(this.#path, { forEventLoop: true })
      outcomes = this.#loopWriter.createPlants(puts)
    } catch (error) {
      const fault = sqliteFault(error)
      if (fault !== undefined && isBusy(fault)) return undefined
      if (fault !== undefined && isFull(fault)) this.#makeRoom()
      throw appErrorOf(error, (fatal) => this.#fail(fatal))
    }
    this.#countDuration(this.#now() - startedAt)
    if (++this.#sinceLogCheck >= LOG_CHECK_INTERVAL) this.#checkLog(this.#loopWriter)
    return outcomes
  }

  #countDuration(duration: number): void {
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

  /** Has the thread checkpoint a long WAL, which takes tens of milliseconds. Groups queue behind the checkpoint. */
  #checkLog(writer: SqliteWriter): void {
    this.#sinceLogCheck = 0
    try {
      // The client reports a fatal fault by onFatal. After any other fault, a later check tries again.
      if (writer.isLogLong()) this.thread.checkpoint().catch(() => {})
    } catch {
      // The group is committed already. The next group reports the fault.
    }
  }

  /** Has the thread free space before the next write, which would otherwise take it for the WAL. */
  #makeRoom(): void {
    this.#threadUntil = this.#now() + FULL_PAUSE
    this.thread.makeRoom().catch(() => {})
    this.#events.onFull?.()
  }

  /** Stops both connections for good: after a failed fsync, a later fsync that succeeds proves nothing. */
  #fail(error: Error): void {
    this.#client.refuse(error)
    this.#threadUntil = Number.POSITIVE_INFINITY
    this.#events.onFatal(error)
  }
}

/** Starts a writer in a thread. A thread that ends with unanswered calls is fatal, as their outcome is unknown. */
export function writerThread(
  path: string,
  onFatal: (error: Error) => void,
  onFull: () => void = () => {},
): ThreadClient<'writer'> {
  return new ThreadClient('writer', path, {
    onFatal,
    onFull,
    onEnd: (cause, unanswered) => {
      if (unanswered > 0) onFatal(cause)
    },
  })
}
