import { GroupCommit, type GroupCommitOptions } from '../base/group-commit.ts'
import { type AppError, outOfReach } from '../domain/errors.ts'
import { ConnectionFault } from './errors.ts'
import { type Budget, within } from './pool/client.ts'

/** Runs the rows of one group, and returns one result for each row, in their order. */
export type GroupWork<Row, Result> = (rows: readonly Row[], budget: Budget) => Promise<readonly (Result | Error)[]>

export interface GroupOptions {
  /** Maximum number of requests of one kind that wait or are under way. */
  readonly maxWaiting: number
  /** Milliseconds that queued writes of more than one commit may take; unbounded by default. */
  readonly maxDelay?: number
  /** Groups of one kind under way at once. */
  readonly maxInFlight?: number
  /** Milliseconds that a request may take, from its call to its answer. */
  readonly timeout: number
}

/** Maximum number of rows in one statement. */
const MAX_GROUP = 250
/** With one group at a time, this process and the database wait for each other, and make 15% fewer creates a second. */
const GROUPS_IN_FLIGHT = 2

interface Timed<Row> {
  readonly row: Row
  /** Milliseconds on the clock of performance.now(). */
  readonly deadline: number
}

/**
 * Groups of requests for single plants, which share a statement. Settles every request by its deadline, even while it
 * waits for its group: a late one rejects with AppError 50301, as the outcome of its statement is unknown.
 */
export class TimedGroups<Row, Result> {
  readonly groups: GroupCommit<Timed<Row>, Result>
  readonly #timeout: number

  constructor(
    work: GroupWork<Row, Result>,
    { maxWaiting, maxDelay = Number.POSITIVE_INFINITY, maxInFlight = GROUPS_IN_FLIGHT, timeout }: GroupOptions,
    { actorOf = () => '', ...bounds }: Partial<GroupCommitOptions<Row>> = {},
  ) {
    this.#timeout = timeout
    this.groups = new GroupCommit<Timed<Row>, Result>((rows) => inTime(rows, work), {
      maxWaiting,
      maxDelay,
      maxGroup: MAX_GROUP,
      maxInFlight,
      ...bounds,
      actorOf: ({ row }) => actorOf(row),
    })
  }

  submit(row: Row): Promise<Result> {
    const deadline = performance.now() + this.#timeout
    return within(this.groups.submit({ row, deadline }), { deadline }, outOfTime)
  }

  /** Refuses further rows, and resolves when all rows have their results. */
  close(): Promise<void> {
    return this.groups.close()
  }
}

/** Leaves out the rows whose deadlines have passed, so that a write that was refused is not made later. */
async function inTime<Row, Result>(
  rows: readonly Timed<Row>[],
  work: GroupWork<Row, Result>,
): Promise<readonly (Result | Error)[]> {
  const now = performance.now()
  const open = rows.filter(({ deadline }) => deadline > now)
  if (open.length === 0) return rows.map(outOfTime)
  const results = await work(
    open.map(({ row }) => row),
    { deadline: Math.max(...open.map(({ deadline }) => deadline)) },
  )
  if (open.length === rows.length) return results
  let i = 0
  return rows.map(({ deadline }) => (deadline > now ? (results[i++] as Result | Error) : outOfTime()))
}

const outOfTime = (): AppError => outOfReach(new ConnectionFault('the deadline of the request has passed'))
