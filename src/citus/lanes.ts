import { Bound } from '../base/counts.ts'
import { newWriteCommits, queueFull } from '../base/group-commit.ts'
import { AppError, shuttingDown } from '../domain/errors.ts'
import { type ChangeOutcome, type CreateResult, idOf, type NewPlant, type PlantChange } from '../domain/plant.ts'
import type { LazySignal } from '../domain/store.ts'
import type { Actor } from '../domain/token.ts'
import { type GroupOptions, type GroupWork, TimedGroups } from '../postgres/groups.ts'
import type { Wish } from '../postgres/read/point-reader.ts'
import { type GroupWriter, WriteQueue } from '../postgres/write/write-queue.ts'
import type { Shards } from './shards.ts'

/** The groups of requests for single plants on one server. */
interface Lane {
  readonly queue: WriteQueue
  readonly points: TimedGroups<Wish, NewPlant | undefined>
}

/**
 * Groups the requests for the plants of each server by themselves, so that a server that hangs delays no other one. A
 * group runs in parts, one for each shard, one after another: Citus commits each part on one server, and would need a
 * two-phase commit of the coordinator for several shards. Meanwhile, the next rows of its server gather.
 */
export class Lanes {
  readonly commits = newWriteCommits()
  /** The use of the lanes by creates, and by changes. */
  readonly queues: readonly [{ readonly rows: Bound }, { readonly rows: Bound }]
  readonly #shards: Shards
  readonly #writer: GroupWriter
  readonly #find: GroupWork<Wish, NewPlant | undefined>
  readonly #options: GroupOptions
  readonly #lanes = new Map<string, Lane>()
  #isClosed = false

  constructor(shards: Shards, writer: GroupWriter, find: GroupWork<Wish, NewPlant | undefined>, options: GroupOptions) {
    this.#shards = shards
    this.#writer = {
      createPlants: byShard(shards, ({ plant }) => plant.id, writer.createPlants.bind(writer)),
      changePlants: byShard(shards, ({ change }) => idOf(change), writer.changePlants.bind(writer)),
    }
    this.#find = byShard(shards, ({ id }) => id, find)
    this.#options = { ...options, maxInFlight: 1 }
    this.queues = [{ rows: new Bound(options.maxWaiting) }, { rows: new Bound(options.maxWaiting) }]
  }

  /** The methods that follow throw AppError 50301 also when the server of the plant is out of reach. */
  create(plant: NewPlant, mustBeNew: boolean, actor: Actor): Promise<CreateResult> {
    return this.#bounded(0, plant.id, ({ queue }) => queue.create(plant, mustBeNew, actor))
  }

  change(change: PlantChange, actor: Actor): Promise<ChangeOutcome> {
    return this.#bounded(1, idOf(change), ({ queue }) => queue.change(change, actor))
  }

  async get(id: bigint, caller?: LazySignal): Promise<NewPlant | undefined> {
    return this.#laneOf(id).points.submit({ id, caller })
  }

  /** Refuses further requests, and resolves after those that wait. */
  async close(): Promise<void> {
    this.#isClosed = true
    await Promise.all([...this.#lanes.values()].flatMap(({ queue, points }) => [queue.close(), points.close()]))
  }

  /** The lanes share one bound of creates, and one of changes. */
  async #bounded<T>(kind: 0 | 1, id: bigint, work: (lane: Lane) => Promise<T>): Promise<T> {
    const { rows } = this.queues[kind]
    rows.used++
    try {
      if (rows.used > rows.max) throw queueFull()
      return await work(this.#laneOf(id))
    } catch (error) {
      if (error instanceof AppError && error.number === 50302) rows.refused++
      throw error
    } finally {
      rows.used--
    }
  }

  #laneOf(id: bigint): Lane {
    if (this.#isClosed) throw shuttingDown()
    const shard = this.#shards.map.shardOf(id)
    this.#shards.mustReach(shard)
    const known = this.#lanes.get(shard.node)
    if (known !== undefined) return known
    const queue = new WriteQueue(this.#writer, this.#options, this.commits)
    const lane = { queue, points: new TimedGroups(this.#find, this.#options) }
    this.#lanes.set(shard.node, lane)
    return lane
  }
}

/** Work that fails on a shard fails only for the rows of that shard. */
function byShard<Row, Result>(
  shards: Shards,
  idOf: (row: Row) => bigint,
  work: GroupWork<Row, Result>,
): GroupWork<Row, Result> {
  return async (rows, budget) => {
    const results: (Result | Error)[] = []
    // The shards of the rows may have moved since they came.
    const parts = Map.groupBy(rows.keys(), (i) => shards.map.shardOf(idOf(rows[i] as Row)))
    for (const [shard, indexes] of parts) {
      const part = indexes.map((i) => rows[i] as Row)
      const done = await shards.on(shard, () => work(part, budget)).catch((error: Error) => part.map(() => error))
      for (const [at, i] of indexes.entries()) results[i] = done[at] as Result | Error
    }
    return results
  }
}
