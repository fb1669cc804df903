import { newCommitStats, type WriteStats } from '../../base/group-commit.ts'
import type { AppError } from '../../domain/errors.ts'
import type { ChangeOutcome, CreateResult, NewPlant, PlantChange } from '../../domain/plant.ts'
import type { Actor } from '../../domain/token.ts'
import { appErrorOf, isRefusedRecord } from '../errors.ts'
import { type GroupOptions, type GroupWork, TimedGroups } from '../groups.ts'
import type { ActorChange, CreateRow, PostgresWriter } from './writer.ts'

/**
 * Rows of one token in one statement. Beside 400 connections of one token that create plants of the largest size, the
 * creates of others take 0.19 s at the 95th percentile (0.10 with 32 rows), and up to 2.8 s with a thousand. With 32, one
 * token makes three quarters of the creates of short plants that it makes with 64 or more.
 */
const MAX_OF_TOKEN = 64

export const newWriteCommits = (): WriteStats['commits'] => ({
  create: newCommitStats(),
  change: newCommitStats(),
  import: newCommitStats(),
})

/** Writes the groups of a queue. */
export interface GroupWriter {
  readonly create: GroupWork<CreateRow, CreateResult>
  readonly change: GroupWork<ActorChange, ChangeOutcome>
}

/** Refuses of each group only the rows that PostgreSQL refuses. */
export const rowsAlone = (writer: PostgresWriter): GroupWriter => ({
  create: (rows, budget) => alone(rows, (some) => writer.createPlants(some, budget)),
  change: (rows, budget) => alone(rows, (some) => writer.changePlants(some, budget)),
})

/** Groups concurrent writes of single plants into one statement. */
export class WriteQueue implements WriteStats {
  readonly commits: WriteStats['commits']
  readonly #creates: TimedGroups<CreateRow, CreateResult>
  readonly #changes: TimedGroups<ActorChange, ChangeOutcome>

  constructor(writer: GroupWriter, options: GroupOptions, commits = newWriteCommits()) {
    this.commits = commits
    this.#creates = new TimedGroups(writer.create, options, {
      maxOfActor: MAX_OF_TOKEN,
      stats: commits.create,
      actorOf: ({ token }) => token,
    })
    this.#changes = new TimedGroups(writer.change, options, {
      maxOfActor: MAX_OF_TOKEN,
      stats: commits.change,
      // Two concurrent groups with changes of one plant would conflict, and one of them would start again.
      maxInFlight: 1,
      actorOf: ({ token }) => token,
    })
  }

  create(plant: NewPlant, mustBeNew: boolean, { id: token }: Actor): Promise<CreateResult> {
    return this.#creates.submit({ plant, mustBeNew, token })
  }

  change(change: PlantChange, { id: token }: Actor): Promise<ChangeOutcome> {
    return this.#changes.submit({ change, token })
  }

  get queues(): WriteStats['queues'] {
    return [this.#creates.groups, this.#changes.groups]
  }

  async close(): Promise<void> {
    await Promise.all([this.#creates.close(), this.#changes.close()])
  }
}

/**
 * Refuses only the row that PostgreSQL refuses: the statement of a group fails as a whole, so each half of the group is
 * tried again. Rows of the service are valid, so this takes a rule that an operator has added to the table.
 */
export async function alone<Row, Result>(
  rows: readonly Row[],
  write: (rows: readonly Row[]) => Promise<Result[]>,
): Promise<(Result | AppError)[]> {
  try {
    return await write(rows)
  } catch (error) {
    const refusal = appErrorOf(error)
    if (!isRefusedRecord(refusal)) throw error
    if (rows.length === 1) return [refusal]
    const middle = rows.length >> 1
    return [...(await alone(rows.slice(0, middle), write)), ...(await alone(rows.slice(middle), write))]
  }
}
