import { countCommit, type WriteStats } from '../base/group-commit.ts'
import { OperatorError } from '../base/operator-error.ts'
import { shuttingDown } from '../domain/errors.ts'
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
import type { PlantQuery } from '../domain/plant-query.ts'
import type { DryRun, LazySignal, ShardState, Store, StorePool, TagCount } from '../domain/store.ts'
import type { Actor } from '../domain/token.ts'
import { isThisMachine, type PostgresAddress } from '../settings/postgres-address.ts'
import { PostgresChangeLog } from './changes/change-log.ts'
import { type HistoryUse, openHistory } from './changes/history.ts'
import { Retention, type RetentionOptions } from './changes/retention.ts'
import { appErrorOf, openingError } from './errors.ts'
import type { GroupOptions } from './groups.ts'
import { PostgresIdStore } from './id-store.ts'
import { migrate, preflight, waitForDatabase } from './migrate.ts'
import { Pool } from './pool/pool.ts'
import { dividePool, type PoolShares, storePool } from './pool/pool-share.ts'
import { countPlants, exported } from './read/long-reads.ts'
import { PointReader } from './read/point-reader.ts'
import { listPlants } from './read/search.ts'
import { StatisticsCache } from './read/search-statistics.ts'
import { Sharding } from './sharding/sharding.ts'
import { TableUpkeep } from './table-upkeep.ts'
import { PostgresTokenStore } from './token-store.ts'
import { PostgresWebhookStore } from './webhook-store.ts'
import { alone, WriteQueue } from './write/write-queue.ts'
import { PostgresDryRun, PostgresWriter } from './write/writer.ts'

export interface PostgresStoreOptions extends GroupOptions {
  readonly connections: number
  /** Milliseconds for which to retry when the database can not be reached; 0 for a single attempt. */
  readonly retryTime: number
  /** Whether to create the tables of a new store. */
  readonly create: boolean
  /**
   * What the opening does to the log of changes: by default, it logs changes if the store does. `auto`: as `keep`, but a
   * distributed store has none.
   */
  readonly history?: HistoryUse | 'auto'
  /** The bounds of the log of changes, which this store keeps; undefined: another one does. */
  readonly retention?: RetentionOptions | undefined
  /** Called after the store was created. */
  readonly onMade?: () => void
  /** Called with a message for the operator, who need not act on it at once. */
  readonly onNotice: (text: string) => void
}

const WITHOUT_TLS =
  'the database is on another machine and is reached without TLS, so anyone on the network can read and change the ' +
  'data; set sslmode=verify-full in its address'

const DISTRIBUTED = 'a distributed store keeps no log of changes; start it with --changes-keep 0s'

/** The engine for several instances of the service, which share a PostgreSQL database. */
export class PostgresStore implements Store {
  readonly tokens: PostgresTokenStore
  readonly ids: PostgresIdStore
  readonly webhooks: PostgresWebhookStore
  readonly pool: StorePool
  readonly #pool: Pool
  readonly #shares: PoolShares
  readonly #writer: PostgresWriter
  readonly #upkeep: TableUpkeep
  readonly #statistics = new StatisticsCache()
  readonly #sharding: Sharding
  readonly #points: PointReader
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
      if (address.tls === undefined && !address.hosts.every(({ host }) => isThisMachine(host))) {
        options.onNotice(WITHOUT_TLS)
      }
      await store.#prepare(options)
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
    this.#shares = dividePool(
      this.#pool,
      (error) => this.#sharding.suspect(error) ?? appErrorOf(error),
      () => (this.#closing === undefined ? undefined : shuttingDown()),
      () => this.#sharding.refusalOfAll,
    )
    const { server, groups, main, searches, imports, long, counts, reservations } = this.#shares
    this.pool = storePool(this.#pool, this.#shares)
    this.#sharding = new Sharding(server)
    const { insert, makeGroups } = this.#sharding
    const isLogging = () => this.changes !== undefined
    this.#writer = new PostgresWriter(groups, imports, insert, isLogging, (plants, text) => {
      this.changes?.wrote()
      this.#upkeep.wrote(plants, text)
      this.#sharding.refreshIfOld()
    })
    this.tokens = new PostgresTokenStore(main)
    this.ids = new PostgresIdStore(searches, reservations)
    this.webhooks = new PostgresWebhookStore(main)
    this.#upkeep = new TableUpkeep(counts, long)
    this.#points = new PointReader(groups, makeGroups, options)
    this.#queue = new WriteQueue(this.#writer, makeGroups, options)
  }

  get changes(): PostgresChangeLog | undefined {
    // An instance may learn later that its store was distributed.
    return this.#sharding.map === undefined ? this.#changes : undefined
  }

  createPlant(plant: NewPlant, { mustBeNew }: CreateOptions, actor: Actor): Promise<CreateResult> {
    return this.#queue.create(plant, mustBeNew, actor)
  }

  getPlant(id: bigint, caller?: LazySignal): Promise<NewPlant | undefined> {
    return this.#points.get(id, caller)
  }

  changePlant(change: PlantChange, actor: Actor): Promise<ChangeOutcome> {
    return this.#queue.change(change, actor)
  }

  listPlants(query: PlantQuery, limit: number, caller?: LazySignal): Promise<NewPlant[]> {
    const { searches } = this.#shares
    return listPlants(searches, query, limit, searches.budget(caller?.signal), this.#statistics)
  }

  listTags(after: string | undefined, limit: number, signal?: AbortSignal): Promise<TagCount[]> {
    const { searches } = this.#shares
    return this.#upkeep.listTags(searches.within(searches.budget(signal)), after, limit)
  }

  async importPlants(
    plants: readonly ImportedPlant[],
    mode: ImportMode,
    { id: token }: Actor,
  ): Promise<ImportResult[]> {
    const write = (some: readonly ImportedPlant[]) => this.#writer.importPlants(some, mode, token)
    const commit = () => this.#sharding.importPlants(plants, (some) => alone(some, write))
    const results = await countCommit(this.#queue.commits.import, plants.length, commit)
    this.#upkeep.imported(plants.length)
    return results
  }

  async afterImport(): Promise<void> {
    if (await this.#upkeep.afterImport()) this.#statistics.forget()
  }

  startDryRun(mode: ImportMode): Promise<DryRun> {
    return PostgresDryRun.start(this.#shares.long, mode)
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
    await this.#sharding.check()
  }

  checkSearchable(): Promise<void> {
    return this.#shares.searches.check()
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  /** The reachable part of a distributed store; undefined for a store that is not distributed. */
  get shardState(): ShardState | undefined {
    return this.#sharding.state
  }

  /** Commits and queues of writes, for the metrics. */
  get writes(): WriteStats {
    return this.#queue
  }

  async #prepare(options: PostgresStoreOptions): Promise<void> {
    const { server } = this.#shares
    const { retryTime, create, onMade, onNotice } = options
    const onWaiting = (reason: string) => onNotice(`waiting for the database: ${reason}`)
    await waitForDatabase(server, { retryTime, onWaiting })
    for (const notice of await preflight(server)) onNotice(notice)
    const isNew = await migrate(server, create, onNotice)
    await this.#sharding.read()
    await this.#openChanges(options, isNew)
    try {
      await this.checkWritable()
    } finally {
      this.#sharding.mustBeSafe()
    }
    if (isNew) onMade?.()
  }

  async #openChanges({ history = 'follow', retention }: PostgresStoreOptions, isNew: boolean): Promise<void> {
    if (this.#sharding.map !== undefined) {
      if (history === 'keep') throw new OperatorError(DISTRIBUTED, { exitCode: 2 })
      return
    }
    const use = history === 'auto' || (isNew && history === 'follow') ? 'keep' : history
    const { server, searches } = this.#shares
    if (!(await openHistory(server, use))) return
    this.#changes = new PostgresChangeLog(searches)
    if (retention === undefined) return
    this.#retention = new Retention(server, retention)
    this.#retention.start()
  }

  async #close(): Promise<void> {
    this.#sharding.close()
    this.#retention?.close()
    await Promise.all([this.#queue.close(), this.#points.close()])
    this.#shares.long.end()
    this.#shares.counts.end()
    await this.#pool.close()
  }
}
