import { newWriteCommits, type WriteStats } from '../../base/group-commit.ts'
import type { ChangeOutcome, CreateResult, NewPlant, PlantChange } from '../../domain/plant.ts'
import type { Actor } from '../../domain/token.ts'
import { type GroupOptions, type GroupWork, TimedGroups } from '../groups.ts'
import type { ActorChange, CreateRow } from './writer.ts'

/**
 * Rows of one token in one statement. Beside 400 connections of one token that create plants of the largest size, the
 * creates of others take 0.19 s at the 95th percentile (0.10 with 32 rows), and up to 2.8 s with a thousand. With 32, one
 * token makes three quarters of the creates of short plants that it makes with 64 or more.
 */
const MAX_OF_TOKEN = 64

export interface GroupWriter {
  readonly createPlants: GroupWork<CreateRow, CreateResult>
  readonly changePlants: GroupWork<ActorChange, ChangeOutcome>
}

/** Groups concurrent writes of single plants into one statement. */
export class WriteQueue implements WriteStats {
  readonly commits: WriteStats['commits']
  readonly #creates: TimedGroups<CreateRow, CreateResult>
  readonly #changes: TimedGroups<ActorChange, ChangeOutcome>

  constructor(writer: GroupWriter, options: GroupOptions, commits = newWriteCommits()) {
    this.commits = commits
    const bounds = { maxOfActor: MAX_OF_TOKEN, actorOf: ({ token }: { readonly token: string }) => token }
    this.#creates = new TimedGroups(writer.createPlants.bind(writer), options, {
      ...bounds,
      stats: commits.create,
    })
    this.#changes = new TimedGroups(writer.changePlants.bind(writer), options, {
      ...bounds,
      stats: commits.change,
      // Two concurrent groups with changes of one plant would conflict, and one of them would start again.
      maxInFlight: 1,
    })
  }

  create(plant: NewPlant, mustBeNew: boolean, { id: token, action, part }: Actor): Promise<CreateResult> {
    return this.#creates.submit({ plant, mustBeNew, token, action, part })
  }

  change(change: PlantChange, { id: token, action, part }: Actor): Promise<ChangeOutcome> {
    return this.#changes.submit({ change, token, action, part })
  }

  get queues(): WriteStats['queues'] {
    return [this.#creates.groups, this.#changes.groups]
  }

  async close(): Promise<void> {
    await Promise.all([this.#creates.close(), this.#changes.close()])
  }
}
