import { AppError } from '../domain/errors.ts'
import { Bound, type BoundUse, Histogram } from './counts.ts'

export interface GroupCommitOptions<Row> {
  /** Rows that may wait or be in flight at once. The queue refuses one more with 50302. */
  readonly maxWaiting: number
  /**
   * Milliseconds. Once the rows ahead fill a group, the queue refuses a row with 50302 if its expected wait is longer
   * than this. By default it takes rows whatever their wait.
   */
  readonly maxDelay?: number
  /** Rows in one commit. */
  readonly maxGroup: number
  /** Of them, rows of one actor. By default as many as fit. */
  readonly maxOfActor?: number
  /** Commits under way at once. With two, the writer already has the next group when it completes one. */
  readonly maxInFlight: number
  readonly stats?: CommitStats
  /** Returns who sent the row. By default one actor sends all rows. */
  actorOf?(row: Row): string
}

interface PendingRow<Row, Result> {
  readonly row: Row
  readonly resolve: (result: Result) => void
  readonly reject: (error: unknown) => void
}

/**
 * The most turns of the event loop that a group waits while each turn brings more rows. Groups become 1.5 times as
 * large, and 64 connections get 8% more creates on two cores and 16% more on one. Without more rows, a group waits for
 * one turn.
 */
const MAX_TURNS = 8

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
  readonly rows: Bound
  #queue: PendingRow<Row, Result>[] = []
  #inFlight = 0
  /** Actors whose rows waited for the last commit. */
  #actors = 1
  /** The later one of two times: the last end of a commit, and the last start while no commit was under way. */
  #progressAt = 0
  #lastTook = 0
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
    this.rows = new Bound(options.maxWaiting)
  }

  /**
   * Queues a row, and resolves with its result after the commit that holds it.
   *
   * @throws AppError 50302 when the queue is full, 50303 when it is closed; nothing is done
   */
  submit(row: Row): Promise<Result> {
    const refusal = this.#refusal()
    if (refusal !== undefined) return Promise.reject(refusal)
    return new Promise((resolve, reject) => {
      this.rows.used++
      this.#queue.push({ row, resolve, reject })
      this.#schedule()
    })
  }

  /** Refuses further rows, and resolves when all rows have their results. */
  async close(): Promise<void> {
    this.#closed = true
    if (this.#inFlight + this.#queue.length > 0) await new Promise<void>((resolve) => this.#idle.push(resolve))
  }

  #refusal(): AppError | undefined {
    if (this.#closed) return new AppError(50303, 'the service is shutting down; send the request again')
    if (this.rows.hasRoom() && !this.#isSlow) return undefined
    this.rows.refused++
    return queueFull()
  }

  /**
   * Whether the expected wait of a new row exceeds maxDelay. With less than a group ahead, the row joins the next
   * commit, so that refusing it would make no other row faster.
   */
  get #isSlow(): boolean {
    const { maxDelay, maxGroup, maxOfActor = maxGroup } = this.#options
    const waiting = this.rows.used
    const group = Math.min(maxGroup, maxOfActor * this.#actors)
    if (maxDelay === undefined || waiting < group) return false
    const took = Math.max(this.#lastTook, this.#inFlight > 0 ? performance.now() - this.#progressAt : 0)
    return (waiting / group) * took > maxDelay
  }

  #schedule(): void {
    if (this.#inFlight >= this.#options.maxInFlight || this.#scheduled) return
    this.#scheduled = true
    this.#waitForMore(this.#queue.length, MAX_TURNS)
  }

  /** Immediates run after the poll phase, so the group includes every request that this turn of the event loop read. */
  #waitForMore(length: number, turns: number): void {
    setImmediate(() => {
      if (this.#queue.length > length && turns > 1) return this.#waitForMore(this.#queue.length, turns - 1)
      this.#scheduled = false
      this.#flush()
    })
  }

  #flush(): void {
    const group = this.#takeGroup()
    if (group.length === 0) return
    this.#inFlight++
    const { stats } = this.#options
    const startedAt = performance.now()
    if (this.#inFlight === 1) this.#progressAt = startedAt
    const rows = group.map(({ row }) => row)
    const commit = () => Promise.try(this.#commit, rows)
    const results = stats === undefined ? commit() : countCommit(stats, rows.length, commit)
    results
      .finally(() => {
        this.#progressAt = performance.now()
        this.#lastTook = this.#progressAt - startedAt
      })
      .then(
        (results) =>
          this.#settle(group, ({ resolve, reject }, i) => {
            const result =
              i in results ? (results[i] as Result | Error) : new Error('the commit gave no result for a row')
            if (result instanceof Error) reject(result)
            else resolve(result)
          }),
        (error: unknown) => this.#settle(group, ({ reject }) => reject(error)),
      )
  }

  /**
   * Takes the rows of the next commit out of the queue. When there are too many for one commit, or too many of one actor,
   * actors take turns with a row each. An actor without a turn is first in the next commit. The rows of one actor keep
   * their order.
   */
  #takeGroup(): PendingRow<Row, Result>[] {
    const { maxGroup, maxOfActor = maxGroup, actorOf = () => '' } = this.#options
    if (this.#queue.length <= Math.min(maxGroup, maxOfActor)) return this.#queue.splice(0)
    const byActor = Map.groupBy(this.#queue, ({ row }) => actorOf(row))
    const lines = Array.from(byActor.values(), (rows) => ({ rows, taken: 0 }))
    this.#actors = lines.length
    const group: PendingRow<Row, Result>[] = []
    let turn = 0
    for (; turn < lines.length && group.length < maxGroup; turn++) {
      const line = lines[turn] as (typeof lines)[number]
      group.push(line.rows[line.taken] as PendingRow<Row, Result>)
      if (++line.taken < Math.min(line.rows.length, maxOfActor)) lines.push(line)
    }
    this.#queue = [...new Set([...lines.slice(turn), ...lines])].flatMap(({ rows, taken }) => rows.slice(taken))
    return group
  }

  #settle(
    group: readonly PendingRow<Row, Result>[],
    answerOne: (waiting: PendingRow<Row, Result>, i: number) => void,
  ): void {
    this.#inFlight--
    // Starts the next commit first, so that it runs while this one's callers get their results.
    this.#flush()
    group.forEach((waiting, i) => {
      this.rows.used--
      answerOne(waiting, i)
    })
    if (this.#inFlight + this.#queue.length === 0) for (const resolve of this.#idle.splice(0)) resolve()
  }
}

export const queueFull = (): AppError =>
  new AppError(50302, 'too many requests are queued; nothing was done, retry later')

/** `change`: a replace, update or delete of one plant. `import`: a batch of an import. */
type CommitWork = 'create' | 'change' | 'import'

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

export const newWriteCommits = (): WriteStats['commits'] => ({
  create: newCommitStats(),
  change: newCommitStats(),
  import: newCommitStats(),
})

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

interface Queue {
  readonly rows: BoundUse
}

export interface WriteStats {
  readonly commits: Readonly<Record<CommitWork, CommitStats>>
  /** The queue of creates, and that of changes. */
  readonly queues: readonly [Queue, Queue]
}
