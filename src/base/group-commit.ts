import { AppError } from '../domain/errors.ts'
import { Histogram } from './histogram.ts'

export interface GroupCommitOptions<Row> {
  /** Rows that may wait or be in flight at once. The queue refuses one more with 50302. */
  readonly maxWaiting: number
  /** Sum of `weigh` over those rows, in the same unit; bounds memory where rows can be large. */
  readonly maxWeight: number
  /**
   * Milliseconds. Once the rows ahead fill a group, the queue refuses a row with 50302 if its expected wait is longer
   * than this. By default it takes rows whatever their wait.
   */
  readonly maxDelay?: number
  /** Rows in one commit. */
  readonly maxGroup: number
  /** Commits under way at once. With two, the writer already has the next group when it completes one. */
  readonly maxInFlight: number
  /**
   * The number of groups into which a burst of rows is divided; 1 by default. More let this thread prepare a group
   * while another thread or process commits the group before.
   */
  readonly parts?: number
  /**
   * Milliseconds that rows wait until GATHERED of the recent peak have come; 0 by default. It is for a store where a
   * group costs more than its rows do.
   */
  readonly maxGather?: number
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
 * The most turns of the event loop that a group waits while each turn brings more rows. Groups become 1.5 times as
 * large, and 64 connections get 8% more creates on two cores and 16% more on one. Without more rows, a group waits for
 * one turn.
 */
const MAX_TURNS = 8
/** This share of #peak ends the wait for more rows: not all callers that got a result together come back. */
const GATHERED = 0.75
/** Decay of #peak: a burst stops counting after about this many groups. */
const PEAK_DECAY = 32

/**
 * Joins the rows of many callers into one commit. Rows that arrive while commits are under way, or while every turn of
 * the event loop brings more, share the next commit. Each caller gets its result after the commit that holds its row.
 * A row whose result is an Error is rejected alone; a commit that fails rejects every row in it.
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
  /** The later one of two times: the last end of a commit, and the last start while no commit was under way. */
  #progressAt = 0
  /** Milliseconds of the last commit. */
  #lastTook = 0
  /** The most rows that recently waited or were in flight at once. */
  #peak = 0
  #scheduled = false
  #gathering: NodeJS.Timeout | undefined
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
   * Queues a row, and resolves with its result after the commit that holds it.
   *
   * @throws AppError 50302 when the queue is full, 50303 when it is closed; nothing is done
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

  /** Refuses further rows, and resolves when all rows have their results. */
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
    // A single row may be heavier than the bound, so an empty queue takes any row.
    const isHeavy = this.#weight > 0 && this.#weight + weight > this.#options.maxWeight
    const isFull = this.#waiting >= this.#options.maxWaiting || isHeavy || this.#isSlow
    return isFull ? queueFull() : undefined
  }

  /**
   * Whether the expected wait of a new row exceeds maxDelay. With less than a group ahead, the row joins the next
   * commit, so that refusing it would make no other row faster.
   */
  get #isSlow(): boolean {
    const { maxDelay, maxGroup } = this.#options
    if (maxDelay === undefined || this.#waiting < maxGroup) return false
    const took = Math.max(this.#lastTook, this.#inFlight > 0 ? performance.now() - this.#progressAt : 0)
    return (this.#waiting / maxGroup) * took > maxDelay
  }

  /** Whether the queue holds its part of the recent peak, so that a group may start. */
  #hasShare(): boolean {
    const { parts = 1, maxGather = 0, maxInFlight } = this.#options
    if (this.#inFlight >= maxInFlight) return false
    if (maxGather > 0) return this.#queue.length >= this.#peak * GATHERED
    return parts > 1 && this.#queue.length >= this.#peak / parts
  }

  #schedule(): void {
    // While another group is under way, rows wait until they are a full part, or until that group ends.
    if ((this.#options.parts ?? 1) > 1 && this.#inFlight > 0) return
    if (this.#inFlight >= this.#options.maxInFlight || this.#scheduled || this.#queue.length === 0) return
    const { maxGather = 0 } = this.#options
    if (maxGather > 0) {
      this.#gathering ??= setTimeout(() => {
        this.#flush()
        this.#schedule()
      }, maxGather)
    } else {
      this.#scheduled = true
      this.#waitForMore(this.#queue.length, MAX_TURNS)
    }
  }

  /** Immediates run after the poll phase, so the group includes every request that this turn of the event loop read. */
  #waitForMore(length: number, turns: number): void {
    setImmediate(() => {
      if (this.#queue.length > length && turns > 1) return this.#waitForMore(this.#queue.length, turns - 1)
      this.#scheduled = false
      this.#flush()
      if (this.#options.keyOf !== undefined) this.#schedule()
    })
  }

  #flush(): void {
    clearTimeout(this.#gathering)
    this.#gathering = undefined
    const group = this.#takeGroup()
    if (group.length === 0) return
    this.#inFlight++
    const { stats } = this.#options
    const startedAt = performance.now()
    if (this.#inFlight === 1) this.#progressAt = startedAt
    const end = (): number => {
      this.#progressAt = performance.now()
      this.#lastTook = this.#progressAt - startedAt
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

  /** Takes the oldest row, and up to a full group of the rows after it that have its key. */
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
    this.#peak -= this.#peak / PEAK_DECAY
    const { parts = 1, maxGather = 0 } = this.#options
    // Starts the next commit first, so that it runs while this one's callers get their results.
    if (this.#hasShare() || (maxGather === 0 && (parts === 1 || this.#inFlight === 0))) this.#flush()
    else if (maxGather > 0) this.#schedule()
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

/** The refusal of a write for which the queue has no room or time. */
export const queueFull = (): AppError =>
  new AppError(50302, 'too many requests are queued; nothing was done, retry later')

/** `change`: a replace, update or delete of one plant. `import`: a batch of an import. */
export type CommitWork = 'create' | 'change' | 'import'

/** Counts the groups of one kind of write since the start. */
export interface CommitStats {
  /** Rows of each group that was committed. */
  readonly rows: Histogram
  /** Milliseconds of each commit, from handing over the group to its results. */
  readonly milliseconds: Histogram
  /** Groups that failed as a whole, so that every write in them was refused. */
  failures: number
}

const ROWS = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1000]
const MILLISECONDS = [0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 1000, 5000]

export const newCommitStats = (): CommitStats => ({
  rows: new Histogram(ROWS),
  milliseconds: new Histogram(MILLISECONDS),
  failures: 0,
})

/** Runs `commit` and counts it: its rows and its duration, or its failure. */
export async function countCommit<T>(stats: CommitStats, rows: number, commit: () => Promise<T>): Promise<T> {
  const startedAt = performance.now()
  try {
    const results = await commit()
    stats.rows.observe(rows)
    stats.milliseconds.observe(performance.now() - startedAt)
    return results
  } catch (error) {
    stats.failures++
    throw error
  }
}

/** The fill of the fuller one of two queues: creates, and changes of single plants. */
export interface WriteQueueUse {
  readonly rows: number
  readonly maxRows: number
  /** UTF-16 units of their names and tags. */
  readonly text: number
  readonly maxText: number
}

/** The statistics of the writes of a store. */
export interface WriteStats {
  readonly commits: Readonly<Record<CommitWork, CommitStats>>
  /** Creates and changes of single plants that wait for their commit. */
  readonly waiting: number
  readonly queue: WriteQueueUse
}
