import { countCommit, type WriteStats } from '../base/group-commit.ts'
import { shuttingDown } from '../domain/errors.ts'
import type { IdStore } from '../domain/id-store.ts'
import type { Part } from '../domain/part.ts'
import type {
  ChangeOutcome,
  CreateOptions,
  CreateResult,
  ImportedPlant,
  ImportMode,
  ImportResult,
  NewPlant,
  PlantChange,
} from '../domain/plant.ts'
import type { PlantFilter, PlantOrder, PlantQuery, TagQuery } from '../domain/plant-query.ts'
import type { DryRun, LazySignal, Store, StorePool, TagCount } from '../domain/store.ts'
import type { Actor, TokenStore } from '../domain/token.ts'
import type { WebhookStore } from '../domain/webhook-store.ts'
import { openingError } from '../postgres/errors.ts'
import type { GroupOptions } from '../postgres/groups.ts'
import { type PrepareOptions, prepareDatabase } from '../postgres/migrate.ts'
import { PLANNER_SETTINGS } from '../postgres/pool/client.ts'
import { Pool } from '../postgres/pool/pool.ts'
import { dividePool, PoolShare, type PoolShares, storePool } from '../postgres/pool/pool-share.ts'
import { countPlants, exported } from '../postgres/read/long-reads.ts'
import { findPlants } from '../postgres/read/point-reader.ts'
import { counted, countMatches, listPlants } from '../postgres/read/search.ts'
import { listCountedTags } from '../postgres/read/tags.ts'
import { postgresIds, postgresTokens, postgresWebhooks } from '../postgres/records.ts'
import { PostgresWriter, startDryRun } from '../postgres/write/writer.ts'
import type { PostgresAddress } from '../settings/postgres-address.ts'
import { Lanes } from './lanes.ts'
import { findOnShards } from './search.ts'
import { ShardedPlants } from './sharded-plants.ts'
import { Shards } from './shards.ts'

export interface CitusStoreOptions extends GroupOptions, PrepareOptions {
  readonly connections: number
}

/** Citus can not make a generic plan for a statement on several shards. */
const SETTINGS = PLANNER_SETTINGS.filter(([name]) => name !== 'plan_cache_mode')

/**
 * The PostgreSQL engine over plants that Citus distributes (docs/decisions/0030-shards.md): it knows the shards, and
 * keeps no log of changes.
 */
export class CitusStore implements Store {
  readonly tokens: TokenStore
  readonly ids: IdStore
  readonly webhooks: WebhookStore
  readonly pool: StorePool
  readonly #pool: Pool
  readonly #shares: PoolShares
  readonly #shards: Shards
  readonly #writer: PostgresWriter
  readonly #lanes: Lanes
  #closing: Promise<void> | undefined

  /** @throws OperatorError when the database can not be reached, or a worker may lose acknowledged writes */
  static async open(address: PostgresAddress, options: CitusStoreOptions): Promise<CitusStore> {
    const { connections: max, timeout, onNotice } = options
    const onTrouble = (error: Error) => onNotice(`a connection to the database broke: ${error.message}`)
    const pool = new Pool({ address, max, timeout, settings: SETTINGS, onTrouble })
    const share = new PoolShare(pool, max)
    let store: CitusStore | undefined
    try {
      await prepareDatabase(share, address, options)
      const shards = await Shards.open(share, onNotice)
      store = new CitusStore(pool, shards, options)
      try {
        await store.checkWritable()
      } finally {
        shards.mustBeSafe()
      }
      return store
    } catch (error) {
      await (store ?? pool).close()
      throw openingError(address, error)
    }
  }

  private constructor(pool: Pool, shards: Shards, options: GroupOptions) {
    this.#pool = pool
    this.#shards = shards
    this.#shares = dividePool(pool, () => (this.#closing === undefined ? undefined : shuttingDown()))
    const { groups, main, searches, imports, reservations } = this.#shares
    this.pool = storePool(pool, this.#shares)
    this.tokens = postgresTokens(main)
    this.ids = wholeIds(shards, postgresIds(searches, reservations))
    this.webhooks = postgresWebhooks(main)
    const [isLogging, onWritten] = [() => false, () => {}]
    this.#writer = new PostgresWriter(groups, imports, isLogging, onWritten, new ShardedPlants())
    this.#lanes = new Lanes(shards, this.#writer, findPlants(groups), options)
  }

  get writes(): WriteStats {
    return this.#lanes
  }

  createPlant(plant: NewPlant, { mustBeNew }: CreateOptions, actor: Actor): Promise<CreateResult> {
    return this.#lanes.create(plant, mustBeNew, actor)
  }

  getPlant(id: bigint, caller?: LazySignal): Promise<NewPlant | undefined> {
    return this.#lanes.get(id, caller)
  }

  changePlant(change: PlantChange, actor: Actor): Promise<ChangeOutcome> {
    return this.#lanes.change(change, actor)
  }

  listPlants(query: PlantQuery, limit: number, caller?: LazySignal): Promise<NewPlant[]> {
    const { searches } = this.#shares
    const list = () => listPlants(searches, query, limit, searches.budget(caller?.signal), findOnShards)
    return this.#shards.onAll(list)
  }

  /** Counts the plants: the triggers that keep counts are of a table on one server. */
  async listTags(query: TagQuery, limit: number, signal?: AbortSignal): Promise<TagCount[]> {
    const { searches } = this.#shares
    return this.#shards.onAll(() => listCountedTags(searches.within(searches.budget(signal)), query, limit))
  }

  countMatches(filter: PlantFilter, max: number, signal?: AbortSignal): Promise<number> {
    const { searches } = this.#shares
    const budget = searches.budget(signal)
    return this.#shards.onAll(() =>
      filter.words.length === 0
        ? counted(searches, filter, budget)
        : countMatches(searches, filter, max, budget, findOnShards),
    )
  }

  /**
   * Imports the plants of each shard by themselves, several shards at once, because a transaction over several shards
   * needs a two-phase commit. After an error, some shards may hold their plants.
   */
  async importPlants(
    plants: readonly ImportedPlant[],
    mode: ImportMode,
    { id: token, part: ofToken }: Actor,
  ): Promise<ImportResult[]> {
    const { map } = this.#shards
    const parts = [...Map.groupBy(plants.keys(), (i) => map.shardOf((plants[i] as ImportedPlant).id))]
    for (const [shard] of parts) this.#shards.mustReach(shard)
    const results: ImportResult[] = []
    const commit = async () => {
      const all = parts.map(async ([shard, indexes]) => {
        const part = indexes.map((i) => plants[i] as ImportedPlant)
        const done = await this.#shards.on(shard, () => this.#writer.importPlants(part, mode, { token, part: ofToken }))
        for (const [at, i] of indexes.entries()) results[i] = done[at] as ImportResult
      })
      // The caller continues only after the last statement has ended, also when one has failed.
      const failed = (await Promise.allSettled(all)).find((outcome) => outcome.status === 'rejected')
      if (failed !== undefined) throw failed.reason
      return results
    }
    return countCommit(this.#lanes.commits.import, plants.length, commit)
  }

  /** Autovacuum of the workers renews what searches rely on. */
  async afterImport(): Promise<void> {}

  startDryRun(mode: ImportMode, part?: Part): Promise<DryRun> {
    return this.#shards.onAll(() => startDryRun(this.#shares.long, mode, part))
  }

  exportPlants(filter: PlantFilter, order: PlantOrder, signal?: AbortSignal): AsyncIterable<readonly NewPlant[]> {
    const { long } = this.#shares
    return this.#shards.streamOfAll(() => long.stream((client) => exported(client, filter, order, signal), signal))
  }

  countPlants(): Promise<number> {
    return this.#shards.onAll(() => this.#shares.counts.alone(countPlants))
  }

  /** Resolves also while some workers are out of reach. */
  async checkWritable(): Promise<void> {
    const text = 'UPDATE write_check SET checked_at = $1'
    await this.#shares.main.run({ name: 'check', text, values: [Date.now()] })
    await this.#shards.check()
  }

  checkSearchable(): Promise<void> {
    return this.#shares.searches.check()
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    this.#shards.close()
    await this.#lanes.close()
    this.#shares.long.end()
    this.#shares.counts.end()
    await this.#pool.close()
  }
}

/** The reservations are on the coordinator, but the ids in use are on every shard. */
const wholeIds = (shards: Shards, ids: IdStore): IdStore => ({
  ...ids,
  proposeId: () => shards.onAll(() => ids.proposeId()),
  reserveIds: (...request) => shards.onAll(() => ids.reserveIds(...request)),
})
