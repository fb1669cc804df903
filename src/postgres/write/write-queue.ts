import { newCommitStats, type WriteStats } from '../../base/group-commit.ts'
import type { AppError } from '../../domain/errors.ts'
import { type ChangeOutcome, type CreateResult, idOf, type NewPlant, type PlantChange } from '../../domain/plant.ts'
import type { Actor } from '../../domain/token.ts'
import { appErrorOf, isRefusedRecord } from '../errors.ts'
import { type GroupOptions, type GroupWork, type MakeGroups, TimedGroups } from '../groups.ts'
import type { ActorChange, CreateRow, PostgresWriter } from './writer.ts'

/**
 * Rows of one token in one statement. Beside 400 connections of one token that create plants of the largest size, the
 * creates of others take 0.19 s at the 95th percentile (0.10 with 32 rows), and up to 2.8 s with a thousand. With 32, one
 * token makes three quarters of the creates of short plants that it makes with 64 or more.
 */
const MAX_OF_TOKEN = 64

/** Groups concurrent writes of single plants into one statement. */
export class WriteQueue implements WriteStats {
  readonly commits = { create: newCommitStats(), change: newCommitStats(), import: newCommitStats() }
  readonly #creates: TimedGroups<CreateRow, CreateResult>
  readonly #changes: TimedGroups<ActorChange, ChangeOutcome>

  constructor(writer: PostgresWriter, makeGroups: MakeGroups, options: GroupOptions) {
    const create: GroupWork<CreateRow, CreateResult> = (rows, budget) =>
      alone(rows, (some) => writer.createPlants(some, budget))
    const change: GroupWork<ActorChange, ChangeOutcome> = (rows, budget) =>
      alone(rows, (some) => writer.changePlants(some, budget))
    this.#creates = new TimedGroups(create, makeGroups, options, {
      maxOfActor: MAX_OF_TOKEN,
      stats: this.commits.create,
      idOf: ({ plant }) => plant.id,
      actorOf: ({ token }) => token,
    })
    this.#changes = new TimedGroups(change, makeGroups, options, {
      maxOfActor: MAX_OF_TOKEN,
      stats: this.commits.change,
      // Two concurrent groups with changes of one plant would conflict, and one of them would start again.
      maxInFlight: 1,
      idOf: (row) => idOf(row.change),
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
    await Promise.all([this.#creates.groups.close(), this.#changes.groups.close()])
  }
}

/**
 * Refuses only the row that PostgreSQL refuses: the statement of a group fails as a whole, so each half of the group is
 * tried again. Rows of the service are valid, so this takes a rule that an operator has added to the table.
 */
export async function alone<Row, Result>(
  rows: readonly Row[],
  write: (rows: readonly Row[]) => Promise<(Result | AppError)[]>,
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
