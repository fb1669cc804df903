import { availableParallelism } from 'node:os'
import {
  countCommit,
  GroupCommit,
  type GroupCommitOptions,
  newCommitStats,
  type WriteQueueUse,
  type WriteStats,
} from '../../base/group-commit.ts'
import type { Actor } from '../../domain/actor.ts'
import { type NewPlant, textLength } from '../../domain/plant.ts'
import {
  type ChangeOutcome,
  createResult,
  importResult,
  type PlantChange,
  weightOf,
} from '../../domain/plant-change.ts'
import type { CreateResult, ImportMode, ImportResult } from '../../domain/store.ts'
import { columnsOf } from '../rows.ts'
import { workOf } from '../search-index/index-throttle.ts'
import type { SearchIndex } from '../search-index/search-index.ts'
import { errorOf } from '../worker/failure.ts'
import type { Writer } from './adaptive-writer.ts'
import type { ChangeRequest, ChangeResponse, Put, PutResponse } from './writer.ts'

/** Maximum number of UTF-16 units of names and tags in one queue. */
const MAX_WAITING_TEXT = 64 * 2 ** 20
/**
 * With two groups in flight, a machine with two cores makes 8% more creates a second. A machine with one core makes 8%
 * fewer: the writer runs while the event loop waits, so two groups are only smaller ones.
 */
const GROUPS_IN_FLIGHT = availableParallelism() > 1 ? 2 : 1

/**
 * Groups concurrent writes of plants into one commit. Before, a write waits while the search index has too much work of
 * its actor, so that it delays no other actor's.
 */
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
    const put: Put = { plant, mode: mustBeNew ? 'new' : 'add', actor }
    return this.#submit(this.#creates, put, workOf(plant))
  }

  change(change: PlantChange, { id: actor }: Actor): Promise<ChangeOutcome> {
    return this.#submit(this.#changes, { change, actor }, workOfChange(change))
  }

  async import(plants: readonly NewPlant[], mode: ImportMode, { id: actor }: Actor): Promise<ImportResult[]> {
    const works = plants.map(workOf)
    const charged = sum(works)
    await this.#index.admit(actor, charged, true)
    let [work, changes] = [0, 0]
    try {
      const commit = () => this.#writer.thread.importPlants(columnsOf(plants), mode, actor)
      const responses = await countCommit(this.commits.import, plants.length, commit)
      const changed = works.filter((_, i) => isWritten(responses[i]))
      work = sum(changed)
      changes = changed.length
      return responses.map((response, i) =>
        typeof response === 'string' ? importResult(response, plants[i]?.id ?? 0n) : errorOf(response),
      )
    } finally {
      this.#index.wrote(actor, charged, work, changes)
    }
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

  /** Refuses new writes, and those that wait for the search index. Resolves after the others. */
  async close(): Promise<void> {
    const closed = Promise.all([this.#creates.close(), this.#changes.close()])
    this.#index.beginAll()
    await closed
  }

  #submit<Row extends { readonly actor: string }, Result>(
    queue: GroupCommit<Row, Result>,
    row: Row,
    work: number,
  ): Promise<Result> {
    const submit = () => {
      const before = queue.waiting
      const result = queue.submit(row)
      // A commit ends the write of each row in it, and there is none for a row that the queue has refused.
      if (queue.waiting === before) this.#index.wrote(row.actor, work, 0, 0)
      return result
    }
    const admitted = this.#index.admit(row.actor, work)
    return admitted === undefined ? submit() : admitted.then(submit)
  }

  async #commitCreates(puts: readonly Put[]): Promise<(CreateResult | Error)[]> {
    let responses: readonly PutResponse[] = []
    try {
      responses = await this.#writer.createPlants(puts)
    } finally {
      this.#wrote(puts, ({ plant }, i) => {
        const work = workOf(plant)
        return { charged: work, work: isWritten(responses[i]) ? work : 0 }
      })
    }
    return responses.map((response, i) =>
      typeof response === 'string' ? createResult(response, puts[i]?.plant.id ?? 0n) : errorOf(response),
    )
  }

  async #commitChanges(requests: readonly ChangeRequest[]): Promise<(ChangeOutcome | Error)[]> {
    let responses: readonly ChangeResponse[] = []
    try {
      responses = await this.#writer.thread.changePlants(requests)
    } finally {
      this.#wrote(requests, ({ change }, i) => ({
        charged: workOfChange(change),
        work: workOfOutcome(responses[i]),
      }))
    }
    return responses.map((response) => ('failure' in response ? errorOf(response) : response))
  }

  /** Ends the writes of a commit for the index, once for each actor. */
  #wrote<Row extends { readonly actor: string }>(
    rows: readonly Row[],
    workOfRow: (row: Row, i: number) => { readonly charged: number; readonly work: number },
  ): void {
    const actors = new Map<string, { charged: number; work: number; changes: number }>()
    rows.forEach((row, i) => {
      const { charged, work } = workOfRow(row, i)
      const all = actors.get(row.actor) ?? { charged: 0, work: 0, changes: 0 }
      all.charged += charged
      all.work += work
      if (work > 0) all.changes++
      actors.set(row.actor, all)
    })
    for (const [actor, { charged, work, changes }] of actors) this.#index.wrote(actor, charged, work, changes)
  }
}

const isWritten = (response: PutResponse | undefined): boolean => response === 'created' || response === 'updated'

const workOfChange = (change: PlantChange): number =>
  workOf(change.kind === 'replace' ? change.plant : change.kind === 'update' ? change.patch : {})

/** A patch of one member makes the index take the whole plant again. */
function workOfOutcome(outcome: ChangeResponse | undefined): number {
  if (outcome === undefined || 'failure' in outcome) return 0
  return workOf(outcome.result === 'deleted' ? {} : outcome.plant)
}

const sum = (numbers: readonly number[]): number => numbers.reduce((all, one) => all + one, 0)
