import type { CommitStats } from './commit-stats.ts'
import { AppError } from './errors.ts'

export interface GroupCommitOptions<Row> {
  /** Rows that may wait or be in flight at once; one more is refused with 50302. */
  readonly maxWaiting: number
  /** Sum of `weigh` over those rows, in the same unit; bounds memory where rows can be large. */
  readonly maxWeight: number
  /**
   * Milliseconds that a row may be expected to wait, where the rows before it fill a group or more; one more is refused
   * with 50302. Any time, if nothing is said.
   */
  readonly maxDelay?: number
  /** Rows in one commit. */
  readonly maxGroup: number
  /** Commits under way at once. With two, the writer has the next group when it is done with one. */
  readonly maxInFlight: number
  /**
   * The number of groups into which rows that come at once are divided; 1 by default. Where another thread or process
   * commits, this one prepares a group while the one before is committed.
   */
  readonly parts?: number
  /** Counts the groups. */
  readonly stats?: CommitStats
  /** Rows of different keys are never in one group. By default all rows have the same key. */
  keyOf?(row: Row): unknown
  weigh(row: Row): number
}

interface PendingRow<Row, Result> {
  readonly row: Row
  readonly weight: number
  readonly resolve: (result: Result) => void
  readonly reject: (error: unknown) => void
}

/**
 * Turns of the event loop that a group waits while each brings more rows. This makes groups half again as large, and at
 * 64 connections allows 8% more creates on two cores and 16% on one. A group that gets no more rows waits for one turn.
 */
const MAX_TURNS = 8
/** Decay of #peak: a burst stops counting after about this many groups. */
const FORGETTING = 32

/**
 * Many callers, one commit. Rows that are submitted while commits are under way, or while every turn of the event loop
 * brings more, share the next commit. Each caller is answered after the commit that holds its row. A row whose result
 * is an Error is rejected alone; a commit that fails rejects every row in it.
 *
 * Many creates share the cost of one fsync, which is most of this service's speed
 * (docs/decisions/0003-group-commit.md).
 */
export class GroupCommit<Row, Result> {
  readonly #commit: (rows: readonly Row[]) => Promise<readonly (Result | Error)[]>
  readonly #options: GroupCommitOptions<Row>
  #queue: PendingRow<Row, Result>[] = []
  #waiting = 0
  #weight = 0
  #inFlight = 0
  /** When a commit began while none was under way, or when the last one ended; and how long the last one took. */
  #movedAt = 0
  #lastTook = 0
  /** The most rows that recently waited or were in flight at once. */
  #peak = 0
  #scheduled = false
  #closed = false
  #idle: (() => void)[] = []

  /** @param commit makes all rows durable together and gives one result per row, in their order */
  constructor(
    commit: (rows: readonly Row[]) => Promise<readonly (Result | Error)[]>,
    options: GroupCommitOptions<Row>,
  ) {
    this.#commit = commit
    this.#options = options
  }

  /**
   * Resolves after the commit that holds the row.
   *
   * @throws AppError 50302 when the queue is full and 50303 when it is closed; neither takes the row
   */
  submit(row: Row): Promise<Result> {
    const weight = this.#options.weigh(row)
    const refusal = this.#refusal(weight)
    if (refusal !== undefined) return Promise.reject(refusal)
    return new Promise((resolve, reject) => {
      this.#waiting++
      this.#weight += weight
      this.#queue.push({ row, weight, resolve, reject })
      this.#peak = Math.max(this.#peak, this.#waiting)
      if (this.#hasShare()) this.#flush()
      else this.#schedule()
    })
  }

  /** Takes no more rows, and resolves when all rows are answered. */
  async close(): Promise<void> {
    this.#closed = true
    if (this.#waiting > 0) await new Promise<void>((resolve) => this.#idle.push(resolve))
  }

  /** Rows that wait or are in flight now. */
  get waiting(): number {
    return this.#waiting
  }

  /** Sum of `weigh` over those rows. */
  get weight(): number {
    return this.#weight
  }

  #refusal(weight: number): AppError | undefined {
    if (this.#closed) return new AppError(50303, 'the service is shutting down; send the request again')
    // A single row may be heavier than the bound. An empty queue takes it, or it could never be written.
    const isHeavy = this.#weight > 0 && this.#weight + weight > this.#options.maxWeight
    const isFull = this.#waiting >= this.#options.maxWaiting || isHeavy || this.#isSlow
    return isFull ? queueFull() : undefined
  }

  /** Fewer rows than a group are in the next commit, however long that takes: refusing one would help no other. */
  get #isSlow(): boolean {
    const { maxDelay, maxGroup } = this.#options
    if (maxDelay === undefined || this.#waiting < maxGroup) return false
    const took = Math.max(this.#lastTook, this.#inFlight > 0 ? performance.now() - this.#movedAt : 0)
    return (this.#waiting / maxGroup) * took > maxDelay
  }

  /** Whether the queue has the share of all rows that a group should have. */
  #hasShare(): boolean {
    const { parts = 1, maxInFlight } = this.#options
    return parts > 1 && this.#inFlight < maxInFlight && this.#queue.length >= this.#peak / parts
  }

  #schedule(): void {
    // While another group is under way, rows wait for their share or for the end of that group.
    if ((this.#options.parts ?? 1) > 1 && this.#inFlight > 0) return
    if (this.#inFlight >= this.#options.maxInFlight || this.#scheduled || this.#queue.length === 0) return
    this.#scheduled = true
    this.#waitForMore(this.#queue.length, MAX_TURNS)
  }

  /** Immediates run after the poll phase, so the group has every request that this turn of the event loop has read. */
  #waitForMore(length: number, turns: number): void {
    setImmediate(() => {
      if (this.#queue.length > length && turns > 1) return this.#waitForMore(this.#queue.length, turns - 1)
      this.#scheduled = false
      this.#flush()
      if (this.#options.keyOf !== undefined) this.#schedule()
    })
  }

  #flush(): void {
    const group = this.#takeGroup()
    if (group.length === 0) return
    this.#inFlight++
    const { stats } = this.#options
    const startedAt = performance.now()
    if (this.#inFlight === 1) this.#movedAt = startedAt
    const end = (): number => {
      this.#movedAt = performance.now()
      this.#lastTook = this.#movedAt - startedAt
      return this.#lastTook
    }
    Promise.try(
      this.#commit,
      group.map(({ row }) => row),
    ).then(
      (results) => {
        const took = end()
        stats?.rows.observe(group.length)
        stats?.milliseconds.observe(took)
        this.#settle(group, ({ resolve, reject }, i) => answer(results[i], resolve, reject))
      },
      (error: unknown) => {
        end()
        if (stats !== undefined) stats.failures++
        this.#settle(group, ({ reject }) => reject(error))
      },
    )
  }

  /** The oldest row, and the rows after it with the same key. */
  #takeGroup(): PendingRow<Row, Result>[] {
    const { keyOf, maxGroup } = this.#options
    const [oldest] = this.#queue
    if (keyOf === undefined || oldest === undefined) return this.#queue.splice(0, maxGroup)
    const key = keyOf(oldest.row)
    const group: PendingRow<Row, Result>[] = []
    const others: PendingRow<Row, Result>[] = []
    for (const waiting of this.#queue) {
      if (group.length < maxGroup && keyOf(waiting.row) === key) group.push(waiting)
      else others.push(waiting)
    }
    this.#queue = others
    return group
  }

  #settle(
    group: readonly PendingRow<Row, Result>[],
    answerOne: (waiting: PendingRow<Row, Result>, i: number) => void,
  ): void {
    this.#inFlight--
    this.#peak -= this.#peak / FORGETTING
    // The next commit starts first: it runs while the callers of this one are answered.
    if ((this.#options.parts ?? 1) === 1 || this.#inFlight === 0 || this.#hasShare()) this.#flush()
    group.forEach((waiting, i) => {
      this.#waiting--
      this.#weight -= waiting.weight
      answerOne(waiting, i)
    })
    if (this.#waiting === 0) for (const resolve of this.#idle.splice(0)) resolve()
  }
}

function answer<Result>(
  result: Result | Error | undefined,
  resolve: (result: Result) => void,
  reject: (error: unknown) => void,
): void {
  if (result === undefined) reject(new Error('the commit gave no result for a row'))
  else if (result instanceof Error) reject(result)
  else resolve(result)
}

export const queueFull = (): AppError =>
  new AppError(50302, 'too many writes are queued; nothing was done, retry later')
