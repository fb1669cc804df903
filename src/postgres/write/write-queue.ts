import type { AppError } from '../../errors.ts'
import { GroupCommit } from '../../group-commit.ts'
import type { NewPlant } from '../../plant.ts'
import { type PlantChange, weightOf } from '../../plant-change.ts'
import type { Answer, CreateResult } from '../../store.ts'
import type { Budget } from '../pool/budget.ts'
import { RequestDeadlines, type Timed } from '../request-deadlines.ts'
import type { Changed } from './compare-and-swap.ts'
import type { CreateRow } from './writer.ts'

export interface GroupOptions {
  readonly maxWaiting: number
  /** Statements with creates that may be under way at once. */
  readonly groupsInFlight?: number | undefined
  /** Milliseconds that a request may take from its call to its answer. */
  readonly timeout: number
}

/** What is done for all rows of a group, each with a result of its own. */
export interface GroupWork {
  create(rows: readonly CreateRow[], budget: Budget): Promise<readonly (CreateResult | AppError)[]>
  change(changes: readonly PlantChange[], budget: Budget): Promise<readonly (Changed | AppError)[]>
  get(ids: readonly bigint[], budget: Budget): Promise<readonly (NewPlant | undefined)[]>
}

type ChangeRow = Timed & { readonly change: PlantChange }
type GetRow = Timed & { readonly id: bigint }
type Got = { readonly plant: NewPlant | undefined }

/** UTF-16 code units of names and tags that may wait at once. */
const MAX_WAITING_TEXT = 64 * 2 ** 20
/** Rows in one statement. */
const MAX_GROUP = 1000
/** With one group at a time, this process and the database wait for each other: 15% fewer creates a second. */
const GROUPS_IN_FLIGHT = 2

/** Requests for single plants. Those of a kind that come together share a statement; each is answered in its time. */
export class WriteQueue {
  readonly #inTime: RequestDeadlines
  readonly #creates: GroupCommit<CreateRow & Timed, CreateResult>
  readonly #changes: GroupCommit<ChangeRow, Changed>
  readonly #gets: GroupCommit<GetRow, Got>

  constructor(work: GroupWork, { maxWaiting, groupsInFlight, timeout }: GroupOptions) {
    this.#inTime = new RequestDeadlines(timeout)
    const limits = {
      maxWaiting,
      maxWeight: MAX_WAITING_TEXT,
      maxGroup: MAX_GROUP,
      maxInFlight: groupsInFlight ?? GROUPS_IN_FLIGHT,
      parts: groupsInFlight === undefined ? GROUPS_IN_FLIGHT : 1,
    }
    const { inTime } = RequestDeadlines
    this.#creates = new GroupCommit<CreateRow & Timed, CreateResult>(
      (rows) => inTime(rows, (...group) => work.create(...group)),
      { ...limits, weigh: ({ plant }) => plant.name.length + (plant.tag?.length ?? 0) },
    )
    this.#changes = new GroupCommit<ChangeRow, Changed>(
      (rows) =>
        inTime(rows, (open, budget) =>
          work.change(
            open.map(({ change }) => change),
            budget,
          ),
        ),
      // Two groups with the same plants would only overtake each other.
      { ...limits, maxInFlight: 1, parts: 1, weigh: ({ change }) => weightOf(change) },
    )
    const get = async (rows: readonly GetRow[], budget: Budget) => {
      const plants = await work.get(
        rows.map(({ id }) => id),
        budget,
      )
      return plants.map((plant) => ({ plant }))
    }
    this.#gets = new GroupCommit<GetRow, Got>((rows) => inTime(rows, get), { ...limits, weigh: () => 1 })
  }

  create(plant: NewPlant, mustBeNew: boolean, answer: Answer<CreateResult>): void {
    const { deadline } = this.#inTime
    this.#creates.submit({ plant, mustBeNew, deadline }, this.#inTime.limit(deadline, answer))
  }

  get(id: bigint, answer: Answer<NewPlant | undefined>): void {
    const { deadline } = this.#inTime
    const inTime = this.#inTime.limit(deadline, answer)
    this.#gets.submit({ id, deadline }, (error, result) => inTime(error, result?.plant))
  }

  change(change: PlantChange): Promise<Changed> {
    const { deadline } = this.#inTime
    return new Promise((resolve, reject) => {
      const answer = this.#inTime.limit<Changed>(deadline, (error, result) => {
        if (result === undefined) reject(error)
        else resolve(result)
      })
      this.#changes.submit({ change, deadline }, answer)
    })
  }

  /** Writes that wait for their commit. */
  get waiting(): number {
    return this.#creates.waiting + this.#changes.waiting
  }

  /** Takes no more, and resolves when those that it has are done. */
  async close(): Promise<void> {
    await Promise.all([this.#creates.close(), this.#changes.close(), this.#gets.close()])
  }
}
