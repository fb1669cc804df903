import { availableParallelism } from 'node:os'
import type { Actor } from '../../actor.ts'
import { GroupCommit, type GroupCommitOptions } from '../../group-commit.ts'
import type { NewPlant } from '../../plant.ts'
import { type ChangeOutcome, type PlantChange, weightOf } from '../../plant-change.ts'
import type { CreateResult, ImportMode, ImportResult } from '../../store.ts'
import { flatten } from '../rows.ts'
import type { SearchIndex } from '../search-index/search-index.ts'
import type { Writer } from './adaptive-writer.ts'
import { changeResultOf, createResultOf, importResultOf } from './results.ts'
import type { ChangeRequest, CreateRows } from './writer.ts'

/** UTF-16 code units of names and tags that may wait at once. */
const MAX_WAITING_TEXT = 64 * 2 ** 20
/**
 * On one core the writer runs when the event loop waits, so a second group would only make both smaller: 8% fewer creates
 * a second there, and 8% more on two.
 */
const GROUPS_IN_FLIGHT = availableParallelism() > 1 ? 2 : 1

interface CreateRow {
  readonly plant: NewPlant
  readonly mustBeNew: boolean
  readonly actor: Actor
}

/** Groups what is to be written of plants, hands it to the writer, and waits where the search index would fall too far behind. */
export class WriteQueue {
  readonly #writer: Writer
  readonly #index: SearchIndex
  readonly #creates: GroupCommit<CreateRow, CreateResult>
  readonly #changes: GroupCommit<ChangeRequest, ChangeOutcome>

  constructor(writer: Writer, index: SearchIndex, bounds: Pick<GroupCommitOptions<never>, 'maxWaiting' | 'maxGroup'>) {
    this.#writer = writer
    this.#index = index
    const options = { ...bounds, maxWeight: MAX_WAITING_TEXT, maxInFlight: GROUPS_IN_FLIGHT }
    this.#creates = new GroupCommit((rows) => this.#commitCreates(rows), {
      ...options,
      weigh: ({ plant }) => textOf(plant),
    })
    this.#changes = new GroupCommit((changes) => this.#commitChanges(changes), {
      ...options,
      weigh: ({ change }) => weightOf(change),
    })
  }

  create(plant: NewPlant, mustBeNew: boolean, actor: Actor): Promise<CreateResult> {
    return this.#creates.submit({ plant, mustBeNew, actor })
  }

  change(change: PlantChange, { id: actor }: Actor): Promise<ChangeOutcome> {
    return this.#changes.submit({ change, actor })
  }

  async import(plants: readonly NewPlant[], mode: ImportMode, { id: actor }: Actor): Promise<ImportResult[]> {
    await this.#index.room()
    const outcomes = await this.#writer.thread.importPlants(flatten(plants), mode, actor)
    this.#index.wrote(plants.length)
    return outcomes.map((outcome, i) => importResultOf(outcome, plants[i]?.id ?? 0n))
  }

  /** Writes of single plants that wait for their commit. */
  get waiting(): number {
    return this.#creates.waiting + this.#changes.waiting
  }

  /** Takes no more, and resolves when what waits is answered. */
  async close(): Promise<void> {
    await Promise.all([this.#creates.close(), this.#changes.close()])
  }

  async #commitCreates(rows: readonly CreateRow[]): Promise<(CreateResult | Error)[]> {
    const flat: CreateRows = []
    for (const { plant, mustBeNew, actor } of rows) {
      flat.push(plant.id, plant.name, plant.tag ?? null, mustBeNew, actor.id)
    }
    const admitted = this.#index.admit(rows.length)
    if (admitted !== undefined) await admitted
    const outcomes = await this.#writer.createPlants(flat)
    this.#index.wrote(rows.length)
    return outcomes.map((outcome, i) => createResultOf(outcome, rows[i]?.plant.id ?? 0n))
  }

  async #commitChanges(changes: readonly ChangeRequest[]): Promise<(ChangeOutcome | Error)[]> {
    await this.#index.admit(changes.length)
    const outcomes = await this.#writer.thread.changePlants(changes)
    this.#index.wrote(changes.length)
    return outcomes.map(changeResultOf)
  }
}

const textOf = ({ name, tag }: { name?: string; tag?: string | null | undefined }): number =>
  (name?.length ?? 0) + (tag?.length ?? 0)
