import { countCommit, type WriteStats } from '../base/group-commit.ts'
import type { ActionLog } from '../domain/actions.ts'
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
import type { PlantFilter, PlantQuery, TagQuery } from '../domain/plant-query.ts'
import type { DryRun, LazySignal, Store, StorePool, TagCount } from '../domain/store.ts'
import type { Actor, TokenStore } from '../domain/token.ts'
import type { WebhookStore } from '../domain/webhook-store.ts'
import type { PostgresAddress } from '../settings/postgres-address.ts'
import { getAction, listActions, planUndo } from './changes/actions.ts'
import { PostgresChangeLog } from './changes/change-log.ts'
import { type HistoryUse, openHistory } from './changes/history.ts'
import { Retention, type RetentionOptions } from './changes/retention.ts'
import { openingError } from './errors.ts'
import { type GroupOptions, TimedGroups } from './groups.ts'
import { type PrepareOptions, prepareDatabase } from './migrate.ts'
import { Pool } from './pool/pool.ts'
import { dividePool, type PoolShares, storePool } from './pool/pool-share.ts'
import { countPlants, exported } from './read/long-reads.ts'
import { findPlants, selectPlants, type Wish } from './read/point-reader.ts'
import { countMatches, findBy, listPlants } from './read/search.ts'
import { StatisticsCache } from './read/search-statistics.ts'
import { listTags } from './read/tags.ts'
import { postgresIds, postgresTokens, postgresWebhooks } from './records.ts'
import { TableUpkeep } from './table-upkeep.ts'
import { WriteQueue } from './write/write-queue.ts'
import { PostgresWriter, startDryRun } from './write/writer.ts'

export interface PostgresStoreOptions extends GroupOptions, PrepareOptions {
  readonly connections: number
  /** What the opening does to the log of changes: by default, it logs changes if the store does. */
  readonly history?: HistoryUse
  /** The bounds of the log of changes, which this store keeps; undefined: another one does. */
  readonly retention?: RetentionOptions | undefined
  /** Called after the store was created. */
  readonly onMade?: () => void
}

/** The engine for several instances of the service, which share a PostgreSQL database. */
export class PostgresStore implements Store {
  readonly tokens: TokenStore
  readonly ids: IdStore
  readonly webhooks: WebhookStore
  readonly pool: StorePool
  readonly #pool: Pool
  readonly #shares: PoolShares
  readonly #writer: PostgresWriter
  readonly #upkeep: TableUpkeep
  readonly #statistics = new StatisticsCache()
  readonly #find = findBy(this.#statistics)
  readonly #points: TimedGroups<Wish, NewPlant | undefined>
  readonly #queue: WriteQueue
  #changes: PostgresChangeLog | undefined
  #retention: Retention | undefined
  #closing: Promise<void> | undefined

  /**
   * Opens the store in a database, and creates or migrates its tables.
   *
   * @throws OperatorError with a message of one line when the database can not be reached, or can not hold a store
   */
  static async open(address: PostgresAddress, options: PostgresStoreOptions): Promise<PostgresStore> {
    const store = new PostgresStore(address, options)
    try {
      await store.#prepare(address, options)
      return store
    } catch (error) {
      await store.close()
      throw openingError(address, error)
    }
  }

  private constructor(address: PostgresAddress, options: PostgresStoreOptions) {
    const { connections, timeout, onNotice } = options
    const onTrouble = (error: Error) => onNotice(`a connection to the database broke: ${error.message}`)
    this.#pool = new Pool({ address, max: connections, timeout, onTrouble })
    this.#shares = dividePool(this.#pool, () => (this.#closing === undefined ? undefined : shuttingDown()))
    const { groups, main, searches, imports, long, counts, reservations } = this.#shares
    this.pool = storePool(this.#pool, this.#shares)
    const isLogging = () => this.changes !== undefined
    this.#writer = new PostgresWriter(groups, imports, isLogging, (plants, text) => {
      this.changes?.wrote(plants)
      this.#upkeep.wrote(plants, text)
    })
    this.tokens = postgresTokens(main)
    this.ids = postgresIds(searches, reservations)
    this.webhooks = postgresWebhooks(main)
    this.#upkeep = new TableUpkeep(counts, long)
    this.#points = new TimedGroups(findPlants(groups), options)
    this.#queue = new WriteQueue(this.#writer, options)
  }

  get changes(): PostgresChangeLog | undefined {
    return this.#changes
  }

  get actions(): ActionLog | undefined {
    if (this.#changes === undefined) return undefined
    const { searches } = this.#shares
    const within = (signal?: AbortSignal) => searches.within(searches.budget(signal))
    return {
      list: (query, limit, signal) => listActions(within(signal), query, limit),
      get: (id, signal) => getAction(within(signal), id),
      undo: async (id, from, { id: token, action, part }) => {
        if (action !== undefined) return this.#writer.undo(id, from, { token, action, part })
        const run = within()
        const { restored, left, next } = await planUndo(run, id, from, { token, part }, (ids) => selectPlants(run, ids))
        return { restored, left, next }
      },
    }
  }

  createPlant(plant: NewPlant, { mustBeNew }: CreateOptions, actor: Actor): Promise<CreateResult> {
    return this.#queue.create(plant, mustBeNew, actor)
  }

  getPlant(id: bigint, caller?: LazySignal): Promise<NewPlant | undefined> {
    return this.#points.submit({ id, caller })
  }

  changePlant(change: PlantChange, actor: Actor): Promise<ChangeOutcome> {
    return this.#queue.change(change, actor)
  }

  listPlants(query: PlantQuery, limit: number, caller?: LazySignal): Promise<NewPlant[]> {
    const { searches } = this.#shares
    return listPlants(searches, query, limit, searches.budget(caller?.signal), this.#find)
  }

  listTags(query: TagQuery, limit: number, signal?: AbortSignal): Promise<TagCount[]> {
    const { searches } = this.#shares
    return listTags(searches.within(searches.budget(signal)), query, limit, this.#statistics)
  }

  countMatches(filter: PlantFilter, max: number, signal?: AbortSignal): Promise<number> {
    const { searches } = this.#shares
    return countMatches(searches, filter, max, searches.budget(signal), this.#find)
  }

  async importPlants(
    plants: readonly ImportedPlant[],
    mode: ImportMode,
    { id: token, action, part }: Actor,
  ): Promise<ImportResult[]> {
    const write = () => this.#writer.importPlants(plants, mode, { token, action, part })
    const results = await countCommit(this.#queue.commits.import, plants.length, write)
    this.#upkeep.imported(plants.length)
    await this.changes?.ticked()
    return results
  }

  async afterImport(): Promise<void> {
    if (await this.#upkeep.afterImport()) this.#statistics.forget()
  }

  startDryRun(mode: ImportMode, part?: Part): Promise<DryRun> {
    return startDryRun(this.#shares.long, mode, part)
  }

  exportPlants(...query: Parameters<Store['exportPlants']>): AsyncIterable<readonly NewPlant[]> {
    const [filter, order, signal, onPosition] = query
    const { changes } = this
    const onSnapshot = async (snapshot: string) => {
      const position = await changes?.positionOfSnapshot(snapshot)
      if (position !== undefined) onPosition?.(position)
      return position !== undefined
    }
    const isPlaced = changes !== undefined && onPosition !== undefined
    return this.#shares.long.stream(
      (client) => exported(client, filter, order, signal, isPlaced ? onSnapshot : undefined),
      signal,
    )
  }

  countPlants(): Promise<number> {
    return this.#shares.counts.alone(countPlants)
  }

  async checkWritable(): Promise<void> {
    const text = 'UPDATE write_check SET checked_at = $1'
    await this.#shares.main.run({ name: 'check', text, values: [Date.now()] })
  }

  checkSearchable(): Promise<void> {
    return this.#shares.searches.check()
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  get writes(): WriteStats {
    return this.#queue
  }

  async #prepare(address: PostgresAddress, options: PostgresStoreOptions): Promise<void> {
    const isNew = await prepareDatabase(this.#shares.server, address, options)
    await this.#openChanges(options, isNew)
    await this.checkWritable()
    if (isNew) options.onMade?.()
  }

  async #openChanges({ history = 'follow', retention }: PostgresStoreOptions, isNew: boolean): Promise<void> {
    const use = isNew && history === 'follow' ? 'keep' : history
    const { server, searches } = this.#shares
    if (!(await openHistory(server, use))) return
    this.#changes = new PostgresChangeLog(searches)
    if (retention === undefined) return
    this.#retention = new Retention(server, retention)
    this.#retention.start()
  }

  async #close(): Promise<void> {
    this.#retention?.close()
    await Promise.all([this.#queue.close(), this.#points.close()])
    this.#shares.long.end()
    this.#shares.counts.end()
    await this.#pool.close()
  }
}
