import { availableParallelism } from 'node:os'
import type { Actor } from '../../actor.ts'
import { countCommit, newCommitStats, type WriteQueueUse, type WriteStats } from '../../commit-stats.ts'
import { GroupCommit, type GroupCommitOptions } from '../../group-commit.ts'
import { type NewPlant, textLength } from '../../plant.ts'
import { type ChangeOutcome, createResult, importResult, type PlantChange, weightOf } from '../../plant-change.ts'
import type { CreateResult, ImportMode, ImportResult } from '../../store.ts'
import { columnsOf } from '../rows.ts'
import type { SearchIndex } from '../search-index/search-index.ts'
import { errorOf } from '../worker/failure.ts'
import type { Writer } from './adaptive-writer.ts'
import type { ChangeRequest, Put } from './writer.ts'

/** Maximum number of UTF-16 units of names and tags in one queue. */
const MAX_WAITING_TEXT = 64 * 2 ** 20
/**
 * With two groups in flight, a machine with two cores makes 8% more creates a second. A machine with one core makes 8%
 * fewer: the writer runs while the event loop waits, so two groups are only smaller ones.
 */
const GROUPS_IN_FLIGHT = availableParallelism() > 1 ? 2 : 1

/** Groups concurrent writes of plants into one commit, and delays them while the search index is too far behind. */
export class WriteQueue implements WriteStats {
  readonly commits = { create: newCommitStats(), change: newCommitStats(), import: newCommitStats() }
  readonly #writer: Writer
  readonly #index: SearchIndex
  readonly #creates: GroupCommit<Put, CreateResult>
  readonly #changes: GroupCommit<ChangeRequest, ChangeOutcome>
  readonly #maxWaiting: number

  constructor(
    writer: Writer,
    index: SearchIndex,
    bounds: Pick<GroupCommitOptions<never>, 'maxWaiting' | 'maxGroup' | 'maxDelay'>,
  ) {
    this.#writer = writer
    this.#index = index
    this.#maxWaiting = bounds.maxWaiting
    const options = { ...bounds, maxWeight: MAX_WAITING_TEXT, maxInFlight: GROUPS_IN_FLIGHT }
    this.#creates = new GroupCommit((rows) => this.#commitCreates(rows), {
      ...options,
      stats: this.commits.create,
      weigh: ({ plant }) => textLength(plant),
    })
    this.#changes = new GroupCommit((changes) => this.#commitChanges(changes), {
      ...options,
      stats: this.commits.change,
      weigh: ({ change }) => weightOf(change),
    })
  }

  create(plant: NewPlant, mustBeNew: boolean, { id: actor }: Actor): Promise<CreateResult> {
    return this.#creates.submit({ plant, mode: mustBeNew ? 'new' : 'add', actor })
  }

  change(change: PlantChange, { id: actor }: Actor): Promise<ChangeOutcome> {
    return this.#changes.submit({ change, actor })
  }

  async import(plants: readonly NewPlant[], mode: ImportMode, { id: actor }: Actor): Promise<ImportResult[]> {
    await this.#index.admitImport()
    const commit = () => this.#writer.thread.importPlants(columnsOf(plants), mode, actor)
    const responses = await countCommit(this.commits.import, plants.length, commit)
    this.#index.wrote(plants.length)
    return responses.map((response, i) =>
      typeof response === 'string' ? importResult(response, plants[i]?.id ?? 0n) : errorOf(response),
    )
  }

  /** Creates and changes that wait for their commit. */
  get waiting(): number {
    return this.#creates.waiting + this.#changes.waiting
  }

  get queue(): WriteQueueUse {
    return {
      rows: Math.max(this.#creates.waiting, this.#changes.waiting),
      maxRows: this.#maxWaiting,
      text: Math.max(this.#creates.weight, this.#changes.weight),
      maxText: MAX_WAITING_TEXT,
    }
  }

  /** Refuses new writes, and resolves after the waiting ones. */
  async close(): Promise<void> {
    await Promise.all([this.#creates.close(), this.#changes.close()])
  }

  async #commitCreates(puts: readonly Put[]): Promise<(CreateResult | Error)[]> {
    const admitted = this.#index.admit(puts.length)
    if (admitted !== undefined) await admitted
    const responses = await this.#writer.createPlants(puts)
    this.#index.wrote(puts.length)
    return responses.map((response, i) =>
      typeof response === 'string' ? createResult(response, puts[i]?.plant.id ?? 0n) : errorOf(response),
    )
  }

  async #commitChanges(changes: readonly ChangeRequest[]): Promise<(ChangeOutcome | Error)[]> {
    await this.#index.admit(changes.length)
    const responses = await this.#writer.thread.changePlants(changes)
    this.#index.wrote(changes.length)
    return responses.map((response) => ('failure' in response ? errorOf(response) : response))
  }
}
