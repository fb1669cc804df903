import {
  type GroupCommitOptions,
  newCommitStats,
  type WriteQueueUse,
  type WriteStats,
} from '../../base/group-commit.ts'
import type { AppError } from '../../domain/errors.ts'
import { type NewPlant, textLength } from '../../domain/plant.ts'
import { type ChangeOutcome, idOf, type PlantChange, weightOf } from '../../domain/plant-change.ts'
import type { CreateResult } from '../../domain/store.ts'
import { type GroupOptions, groupLimits } from '../group-limits.ts'
import type { Budget } from '../pool/budget.ts'
import { RequestDeadlines, type Timed } from '../request-deadlines.ts'
import { ShardGroups } from '../sharding/shard-groups.ts'
import type { Shards } from '../sharding/shards.ts'
import type { CreateRow } from './writer.ts'

/** Both functions write the rows of one group, and return one result for each row, in their order. */
export interface GroupWrites {
  create(rows: readonly CreateRow[], budget: Budget): Promise<readonly (CreateResult | AppError)[]>
  change(changes: readonly PlantChange[], budget: Budget): Promise<readonly (ChangeOutcome | AppError)[]>
}

/**
 * Milliseconds that creates on one server of a sharded store wait for further creates. A group costs the database as
 * much as ten rows, and groups of one shard are small (docs/decisions/0030-shards.md).
 */
const MAX_GATHER = 2

type ChangeRow = Timed & { readonly change: PlantChange }

/** Groups concurrent writes of single plants into one statement. Settles each write by its deadline. */
export class WriteQueue implements WriteStats {
  readonly commits = { create: newCommitStats(), change: newCommitStats(), import: newCommitStats() }
  readonly #deadlines: RequestDeadlines
  readonly #creates: ShardGroups<CreateRow & Timed, CreateResult>
  readonly #changes: ShardGroups<ChangeRow, ChangeOutcome>
  readonly #limits: Pick<GroupCommitOptions<never>, 'maxWaiting' | 'maxWeight'>

  constructor(writes: GroupWrites, deadlines: RequestDeadlines, shards: Shards, options: GroupOptions) {
    this.#deadlines = deadlines
    const limits = groupLimits(options)
    this.#limits = limits
    const { inTime } = RequestDeadlines
    this.#creates = new ShardGroups<CreateRow & Timed, CreateResult>(
      shards,
      (rows) => inTime(rows, (...group) => writes.create(...group)),
      {
        ...limits,
        stats: this.commits.create,
        maxGather: MAX_GATHER,
        idOf: ({ plant }) => plant.id,
        weigh: ({ plant }) => textLength(plant),
      },
    )
    const change = (rows: readonly ChangeRow[], budget: Budget) => {
      const changes = rows.map((row) => row.change)
      return writes.change(changes, budget)
    }
    this.#changes = new ShardGroups<ChangeRow, ChangeOutcome>(shards, (rows) => inTime(rows, change), {
      ...limits,
      stats: this.commits.change,
      // Two concurrent groups with changes of one plant would conflict, and one of them would start again.
      maxInFlight: 1,
      parts: 1,
      idOf: (row) => idOf(row.change),
      weigh: (row) => weightOf(row.change),
    })
  }

  create(plant: NewPlant, mustBeNew: boolean): Promise<CreateResult> {
    const { deadline } = this.#deadlines
    return this.#deadlines.limit(deadline, this.#creates.submit({ plant, mustBeNew, deadline }))
  }

  change(change: PlantChange): Promise<ChangeOutcome> {
    const { deadline } = this.#deadlines
    return this.#deadlines.limit(deadline, this.#changes.submit({ change, deadline }))
  }

  /** Writes that wait for their commit. */
  get waiting(): number {
    return this.#creates.waiting + this.#changes.waiting
  }

  get queue(): WriteQueueUse {
    return {
      rows: Math.max(this.#creates.waiting, this.#changes.waiting),
      maxRows: this.#limits.maxWaiting,
      text: Math.max(this.#creates.weight, this.#changes.weight),
      maxText: this.#limits.maxWeight,
    }
  }

  /** Refuses new writes, and resolves after the waiting ones. */
  async close(): Promise<void> {
    await Promise.all([this.#creates.close(), this.#changes.close()])
  }
}
