import { type GroupCommit, type GroupCommitOptions, newCommitStats, type WriteStats } from '../base/group-commit.ts'
import type { AppError } from '../domain/errors.ts'
import {
  type ChangeOutcome,
  type CreateResult,
  idOf,
  type NewPlant,
  type PlantChange,
  textLength,
  weightOf,
} from '../domain/plant.ts'
import type { Actor } from '../domain/token.ts'
import { ConnectionFault, isRefusedRecord, outOfReach } from './errors.ts'
import type { Budget } from './pool/client.ts'

/** A create with the id of its actor. */
export interface CreateRow {
  readonly plant: NewPlant
  readonly mustBeNew: boolean
  /** The id of the actor. */
  readonly token: string
}

/** A change and the id of its actor. */
export interface ActorChange {
  readonly change: PlantChange
  readonly token: string
}

/** Both functions write the rows of one group, and return one result for each row, in their order. */
export interface GroupWrites {
  create(rows: readonly CreateRow[], budget: Budget): Promise<readonly (CreateResult | AppError)[]>
  change(changes: readonly ActorChange[], budget: Budget): Promise<readonly (ChangeOutcome | AppError)[]>
}

type ChangeRow = Timed & ActorChange

/** Groups concurrent writes of single plants into one statement. Settles each write by its deadline. */
export class WriteQueue implements WriteStats {
  readonly commits = { create: newCommitStats(), change: newCommitStats(), import: newCommitStats() }
  readonly #deadlines: RequestDeadlines
  readonly #creates: Groups<CreateRow & Timed, CreateResult>
  readonly #changes: Groups<ChangeRow, ChangeOutcome>

  constructor(writes: GroupWrites, deadlines: RequestDeadlines, makeGroups: MakeGroups, options: GroupOptions) {
    this.#deadlines = deadlines
    const limits = groupLimits(options)
    const { inTime } = RequestDeadlines
    this.#creates = makeGroups<CreateRow & Timed, CreateResult>(
      (rows) =>
        inTime(
          rows,
          alone((...group) => writes.create(...group)),
        ),
      {
        ...limits,
        stats: this.commits.create,
        idOf: ({ plant }) => plant.id,
        weigh: ({ plant }) => textLength(plant),
      },
    )
    const change = alone((...group: Parameters<GroupWrites['change']>) => writes.change(...group))
    this.#changes = makeGroups<ChangeRow, ChangeOutcome>((rows) => inTime(rows, change), {
      ...limits,
      stats: this.commits.change,
      // Two concurrent groups with changes of one plant would conflict, and one of them would start again.
      maxInFlight: 1,
      idOf: (row) => idOf(row.change),
      weigh: (row) => weightOf(row.change),
    })
  }

  create(plant: NewPlant, mustBeNew: boolean, { id: token }: Actor): Promise<CreateResult> {
    const { deadline } = this.#deadlines
    return this.#deadlines.limit(deadline, this.#creates.submit({ plant, mustBeNew, token, deadline }))
  }

  change(change: PlantChange, { id: token }: Actor): Promise<ChangeOutcome> {
    const { deadline } = this.#deadlines
    return this.#deadlines.limit(deadline, this.#changes.submit({ change, token, deadline }))
  }

  get queues(): WriteStats['queues'] {
    return [this.#creates, this.#changes]
  }

  /** Refuses new writes, and resolves after the waiting ones. */
  async close(): Promise<void> {
    await Promise.all([this.#creates.close(), this.#changes.close()])
  }
}

type Write<Row, Result> = (rows: readonly Row[], budget: Budget) => Promise<readonly (Result | AppError)[]>

/**
 * Refuses only the row that PostgreSQL refuses: the statement of a group fails as a whole, so each half of the group is
 * tried again. Rows of the service are valid, so this takes a rule that an operator has added to the table.
 */
function alone<Row, Result>(write: Write<Row, Result>): Write<Row, Result> {
  return async function tryRows(rows, budget): Promise<readonly (Result | AppError)[]> {
    try {
      return await write(rows, budget)
    } catch (error) {
      if (!isRefusedRecord(error)) throw error
      if (rows.length === 1) return [error]
      const middle = rows.length >> 1
      return [...(await tryRows(rows.slice(0, middle), budget)), ...(await tryRows(rows.slice(middle), budget))]
    }
  }
}

export interface GroupOptions {
  /** Maximum number of requests of one kind that wait or are under way. */
  readonly maxWaiting: number
  /** Milliseconds that queued writes of more than one commit may take; unbounded by default. */
  readonly maxDelay?: number
}

/** Maximum number of rows in one statement. */
const MAX_GROUP = 1000
/** Maximum number of UTF-16 units of names and tags that wait. */
const MAX_WAITING_TEXT = 64 * 2 ** 20
/** With one group at a time, this process and the database wait for each other, and make 15% fewer creates a second. */
const GROUPS_IN_FLIGHT = 2

/** Returns the bounds of groups, in which requests for single plants share a statement. */
export const groupLimits = ({ maxWaiting, maxDelay = Number.POSITIVE_INFINITY }: GroupOptions) => ({
  maxWaiting,
  maxDelay,
  maxWeight: MAX_WAITING_TEXT,
  maxGroup: MAX_GROUP,
  maxInFlight: GROUPS_IN_FLIGHT,
})

/** Runs the rows of one group, and returns one result for each row, in their order. */
export type Commit<Row, Result> = (rows: readonly Row[]) => Promise<readonly (Result | Error)[]>

export interface GroupsOptions<Row> extends GroupCommitOptions<Row> {
  /** Returns the id of the row's plant. */
  idOf(row: Row): bigint
}

/** The queue of rows that wait for their groups. */
export type Groups<Row, Result> = Pick<GroupCommit<Row, Result>, 'submit' | 'close' | 'rows' | 'weight'>

/** Makes the groups of one kind of request. */
export type MakeGroups = <Row, Result>(commit: Commit<Row, Result>, options: GroupsOptions<Row>) => Groups<Row, Result>

export interface Timed {
  /** Milliseconds on the clock of performance.now(). */
  readonly deadline: number
}

interface Open extends Timed {
  /** Rejects the request; undefined once the request is settled. */
  refuse: ((error: AppError) => void) | undefined
}

/**
 * Settles every request by its deadline, even while the request waits for its group. A late request rejects with
 * AppError 50301, as the outcome of its statement is unknown. All requests have one timeout, so one timer for the
 * oldest suffices.
 */
export class RequestDeadlines {
  readonly #timeout: number
  /** In the order of their deadlines. */
  readonly #open: Open[] = []
  #timer: NodeJS.Timeout | undefined

  /** @param timeout milliseconds */
  constructor(timeout: number) {
    this.#timeout = timeout
  }

  /** Returns the deadline of a request that begins now. */
  get deadline(): number {
    return performance.now() + this.#timeout
  }

  /** Settles like the work, or rejects at the deadline. */
  limit<T>(deadline: number, work: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const open: Open = { deadline, refuse: reject }
      this.#open.push(open)
      this.#timer ??= this.#wait(deadline)
      const settle =
        <Answer>(answer: (value: Answer) => void) =>
        (value: Answer) => {
          open.refuse = undefined
          answer(value)
        }
      work.then(settle(resolve), settle(reject))
    })
  }

  /** Leaves out the rows whose deadlines have passed, so that a write that was refused is not made later. */
  static async inTime<Row extends Timed, Result>(
    rows: readonly Row[],
    work: (rows: readonly Row[], budget: Budget) => Promise<readonly (Result | AppError)[]>,
  ): Promise<readonly (Result | AppError)[]> {
    const now = performance.now()
    const first = rows.findIndex(({ deadline }) => deadline > now)
    const last = rows.at(-1)
    if (first === -1 || last === undefined) return rows.map(outOfTime)
    const results = await work(first === 0 ? rows : rows.slice(first), { deadline: last.deadline })
    return first === 0 ? results : [...rows.slice(0, first).map(outOfTime), ...results]
  }

  #wait(deadline: number): NodeJS.Timeout {
    return setTimeout(() => this.#sweep(), Math.max(1, deadline - performance.now())).unref()
  }

  #sweep(): void {
    const now = performance.now()
    const first = this.#open.findIndex(({ refuse, deadline }) => refuse !== undefined && deadline > now)
    const done = this.#open.splice(0, first === -1 ? this.#open.length : first)
    const [oldest] = this.#open
    this.#timer = oldest === undefined ? undefined : this.#wait(oldest.deadline)
    for (const { refuse } of done) refuse?.(outOfTime())
  }
}

const outOfTime = (): AppError => outOfReach(new ConnectionFault('the deadline of the request has passed'))
