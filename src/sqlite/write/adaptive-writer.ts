import { isBusy, isFull, outOfReach } from '../errors.ts'
import { WriterClient } from '../worker/writer-client.ts'
import { WriterHost, type WriterRequest, type WriterResponse } from '../worker/writer-host.ts'
import { CREATE_ROW_LENGTH, SqliteWriter, type WriterCalls } from './writer.ts'
import { outcomeOf, type WriterPort } from './writer-port.ts'

/** A commit that took longer, in milliseconds, is one that the event loop should not have waited for. */
const QUICK = 2
/**
 * The disk is slow when more than one commit in ten is, for some time: a few may have waited for the processor. A slow
 * commit adds these points, a quick one takes one off, and from the limit on groups go to the thread.
 */
const SLOW_POINTS = 10
const SLOW_LIMIT = 100
/** After the pause it is seen sooner that nothing has changed. */
const POINTS_AFTER_PAUSE = SLOW_LIMIT - 3 * SLOW_POINTS
/** How long they go there, in milliseconds: twice as long each further time. */
const FIRST_PAUSE = 1000
const LONGEST_PAUSE = 60_000
/** How long groups go there after one found no space, in milliseconds. */
const FULL_PAUSE = 1000
/** Creates in a group that the event loop may wait for: half a millisecond of work. */
const MAX_ROWS = 128
/** Commits between looks at the length of the log. */
const LOG_CHECK_INTERVAL = 16

/**
 * Commits small groups of creates on the event loop as long as the disk is quick, and does everything else in a thread.
 *
 * Waking a thread and being woken costs more than a commit on a quick disk; waiting for a slow disk costs everybody who
 * only reads. docs/decisions/0015-writer-placement.md has the measurements.
 */
export class AdaptiveWriter implements WriterPort {
  readonly #thread: WriterClient
  readonly #here: WriterHost
  readonly #onFatal: (error: Error) => void
  readonly #now: () => number
  #fatal: Error | undefined
  /** Calls that the thread has not answered: what comes now must go behind them. */
  #inThread = 0
  #threadUntil = 0
  #pause = FIRST_PAUSE
  #points = 0
  #sinceLogCheck = 0

  /**
   * @param onFatal called when the writer can't go on; only a restart of the process mends that
   * @param now milliseconds
   */
  constructor(path: string, onFatal: (error: Error) => void, now: () => number = () => performance.now()) {
    this.#onFatal = onFatal
    this.#now = now
    this.#thread = new WriterClient(path, (error) => this.#fail(error))
    this.#here = new WriterHost(() => new SqliteWriter(path, { isHasty: true }))
  }

  async call<M extends keyof WriterCalls>(
    method: M,
    ...args: Parameters<WriterCalls[M]>
  ): Promise<ReturnType<WriterCalls[M]>> {
    if (this.#fatal !== undefined) throw outOfReach(this.#fatal)
    const request = { method, args } as WriterRequest
    const response = this.#isForHere(request) ? this.#runHere(request) : undefined
    if (response === undefined) return this.#runInThread(method, args)
    return outcomeOf(response, (error) => this.#fail(error)) as ReturnType<WriterCalls[M]>
  }

  async close(): Promise<void> {
    this.#here.run({ method: 'close', args: [] })
    await this.#thread.close()
  }

  /** Where a small group would be committed now. */
  get place(): 'event loop' | 'thread' {
    return this.#inThread === 0 && this.#now() >= this.#threadUntil ? 'event loop' : 'thread'
  }

  #isForHere(request: WriterRequest): boolean {
    if (request.method !== 'createPlants' || this.place === 'thread') return false
    return request.args[0].length <= MAX_ROWS * CREATE_ROW_LENGTH
  }

  /** Undefined when another process writes at the moment: the thread can wait for it. */
  #runHere(request: WriterRequest): WriterResponse | undefined {
    const startedAt = this.#now()
    const response = this.#here.run(request)
    if ('fault' in response && isBusy(response.fault)) return undefined
    if ('fault' in response && isFull(response.fault)) this.#makeRoom()
    this.#judge(this.#now() - startedAt)
    if (++this.#sinceLogCheck >= LOG_CHECK_INTERVAL) this.#checkLog()
    return response
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
    this.#pause = Math.min(this.#pause * 2, LONGEST_PAUSE)
  }

  /** Folding a long log in takes tens of milliseconds, so the thread does it, and groups go behind it meanwhile. */
  #checkLog(): void {
    this.#sinceLogCheck = 0
    const isLong = this.#here.run({ method: 'isLogLong', args: [] })
    if (!('value' in isLong) || isLong.value !== true) return
    // What is worse than a log that stays as it is, is told to onFatal.
    this.#runInThread('foldLog', []).catch(() => {})
  }

  /** The thread makes room before it writes again, so that what becomes free is not taken by the log. */
  #makeRoom(): void {
    this.#threadUntil = this.#now() + FULL_PAUSE
    this.#runInThread('makeRoom', []).catch(() => {})
  }

  async #runInThread<M extends keyof WriterCalls>(
    method: M,
    args: Parameters<WriterCalls[M]>,
  ): Promise<ReturnType<WriterCalls[M]>> {
    this.#inThread++
    try {
      return await this.#thread.call(method, ...args)
    } finally {
      this.#inThread--
    }
  }

  #fail(error: Error): void {
    this.#fatal ??= error
    this.#onFatal(error)
  }
}
