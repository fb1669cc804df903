import { countCommit, type WriteStats } from '../base/group-commit.ts'
import type { AbortingAsker, Asker } from '../domain/asker.ts'
import type { AppError } from '../domain/errors.ts'
import { type NewPlant, type PlantPatch, textLength } from '../domain/plant.ts'
import { type ChangeOutcome, type PlantChange, replaceResult, updatedPlant, weightOf } from '../domain/plant-change.ts'
import type { PlantQuery } from '../domain/plant-query.ts'
import type { Expectation } from '../domain/plant-version.ts'
import type {
  CreateOptions,
  CreateResult,
  DryRun,
  ImportMode,
  ImportResult,
  ReplaceResult,
  Store,
  StorePool,
  TagCount,
} from '../domain/store.ts'
import { isThisMachine, type PostgresAddress } from '../settings/postgres-address.ts'
import { appErrorOf, openingError, shuttingDown } from './errors.ts'
import type { GroupOptions } from './group-limits.ts'
import { PostgresIdStore } from './id-store.ts'
import { migrate } from './migrate.ts'
import type { Budget } from './pool/budget.ts'
import { DedicatedClients } from './pool/dedicated-clients.ts'
import { Pool } from './pool/pool.ts'
import { dividePool, type PoolShareOptions, type PoolShares, storePool } from './pool/pool-shares.ts'
import { preflight, waitForDatabase } from './preflight.ts'
import { countPlants, exported } from './read/long-reads.ts'
import { PointReader, type PointReads, selectPlants, selectSmallPlants } from './read/point-reader.ts'
import { listPlants } from './read/query-reader.ts'
import { StatisticsCache } from './read/search-statistics.ts'
import { RequestDeadlines } from './request-deadlines.ts'
import { SearchUpkeep } from './search-upkeep.ts'
import { type ShardState, Shards } from './sharding/shards.ts'
import { listTags, TagCounts } from './tag-counts.ts'
import { PostgresTokenStore } from './token-store.ts'
import { changePlants } from './write/compare-and-swap.ts'
import { PostgresDryRun } from './write/dry-run.ts'
import { type GroupWrites, WriteQueue } from './write/write-queue.ts'
import { type CreateRow, PostgresWriter } from './write/writer.ts'

export interface PostgresStoreOptions extends GroupOptions, PoolShareOptions {
  /** Milliseconds that a request may take, from its call to its answer. */
  readonly timeout: number
  /** Milliseconds for which to retry when the database can not be reached; 0 for a single attempt. */
  readonly retryTime: number
  /** Whether to create the tables of a new store. */
  readonly create: boolean
  /** Called after the store was created. */
  readonly onMade?: () => void
  /** Called with a message for the operator, who need not act on it at once. */
  readonly onNotice: (text: string) => void
}

const sum = <T>(all: readonly T[], of: (one: T) => number): number => all.reduce((total, one) => total + of(one), 0)

const WITHOUT_TLS =
  'the database is on another machine and is reached without TLS, so anyone on the network can read and change the ' +
  'data; set sslmode=verify-full in its address'

/**
 * The engine for several instances of the service, which share a PostgreSQL database. It keeps no log of changes, so it
 * ignores the actors of writes.
 */
export class PostgresStore implements Store {
  readonly tokens: PostgresTokenStore
  readonly ids: PostgresIdStore
  readonly pool: StorePool
  readonly #pool: Pool
  readonly #shares: PoolShares
  readonly #writer: PostgresWriter
  readonly #searchUpkeep: SearchUpkeep
  readonly #tagCounts: TagCounts
  readonly #statistics = new StatisticsCache(() => this.#shards.map !== undefined)
  readonly #shards: Shards
  readonly #points: PointReader
  readonly #queue: WriteQueue
  /** Clients for long work, which `close` ends at once. */
  readonly #dedicated: DedicatedClients
  readonly #counts: DedicatedClients
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
    this.#shares = dividePool(this.#pool, options)
    const { main, imports, long, counts, reservations } = this.#shares
    this.pool = storePool(this.#pool, this.#shares)
    this.#dedicated = new DedicatedClients(long)
    this.#counts = new DedicatedClients(counts)
    this.#shards = new Shards(main)
    this.#writer = new PostgresWriter(main, imports, this.#shards)
    this.tokens = new PostgresTokenStore(main, (work) => this.#ask(work))
    this.ids = new PostgresIdStore(main, reservations, (work) => this.#askAll(work))
    this.#searchUpkeep = new SearchUpkeep(this.#counts)
    this.#tagCounts = new TagCounts(this.#dedicated)
    const deadlines = new RequestDeadlines(timeout)
    const reads: PointReads = {
      small: (wanted, budget) => this.#do(() => selectSmallPlants(main.within(budget), wanted)),
      any: (wanted, budget) => this.#do(() => selectPlants(main.within(budget), wanted)),
    }
    this.#points = new PointReader(reads, deadlines, this.#shards, options)
    const writes: GroupWrites = {
      create: (...group) => this.#create(...group),
      change: (...group) => this.#change(...group),
    }
    this.#queue = new WriteQueue(writes, deadlines, this.#shards, options)
  }

  createPlant(plant: NewPlant, { mustBeNew }: CreateOptions): Promise<CreateResult> {
    return this.#queue.create(plant, mustBeNew)
  }

  getPlant(id: bigint, asker?: Asker): Promise<NewPlant | undefined> {
    return this.#points.get(id, asker)
  }

  async replacePlant(plant: NewPlant, expected: Expectation): Promise<ReplaceResult> {
    return replaceResult(await this.#queue.change({ kind: 'replace', plant, expected }))
  }

  async updatePlant(id: bigint, patch: PlantPatch, expected: Expectation): Promise<NewPlant> {
    return updatedPlant(await this.#queue.change({ kind: 'update', id, patch, expected }))
  }

  async deletePlant(id: bigint, expected: Expectation): Promise<void> {
    await this.#queue.change({ kind: 'delete', id, expected })
  }

  listPlants(query: PlantQuery, limit: number, asker?: AbortingAsker): Promise<NewPlant[]> {
    const { searches } = this.#shares
    return this.#askAll(() => listPlants(searches, query, limit, searches.budget(asker?.signal), this.#statistics))
  }

  listTags(after: string | undefined, limit: number, signal?: AbortSignal): Promise<TagCount[]> {
    const { searches } = this.#shares
    const run = searches.within(searches.budget(signal))
    return this.#askAll(() => listTags(run, after, limit, this.#shards.map !== undefined))
  }

  importPlants(plants: readonly NewPlant[], mode: ImportMode): Promise<ImportResult[]> {
    return this.#ask(async () => {
      const commit = () => this.#writer.importPlants(plants, mode)
      const results = await countCommit(this.#queue.commits.import, plants.length, commit)
      this.#wrote(plants.length, sum(plants, textLength))
      this.#searchUpkeep.imported(plants.length)
      return results
    })
  }

  async afterImport(): Promise<void> {
    // Searches of a distributed table use no statistics.
    if (this.#closing !== undefined || this.#shards.map !== undefined) return
    if (await this.#searchUpkeep.afterImport()) this.#statistics.forget()
  }

  async startDryRun(mode: ImportMode): Promise<DryRun> {
    const client = await this.#askAll(() => this.#dedicated.acquire())
    const dryRun = new PostgresDryRun(client, mode)
    return {
      importPlants: (plants) => this.#ask(() => dryRun.importPlants(plants)),
      storedPlants: (signal) => this.#longRead(dryRun.storedPlants(signal), signal),
      close: async () => this.#dedicated.release(client),
    }
  }

  async *exportPlants(...query: Parameters<Store['exportPlants']>): AsyncIterable<readonly NewPlant[]> {
    const [filter, order, signal] = query
    const client = await this.#askAll(() => this.#dedicated.acquire(signal))
    try {
      yield* this.#longRead(exported(client, filter, order, signal), signal)
    } finally {
      this.#dedicated.release(client)
    }
  }

  countPlants(): Promise<number> {
    return this.#askAll(() => this.#counts.use(countPlants))
  }

  checkWritable(): Promise<void> {
    const values = [Date.now()]
    return this.#ask(async () => {
      await this.#shares.main.run({ name: 'check', text: 'UPDATE write_check SET checked_at = $1', values })
      await this.#shards.check()
    })
  }

  checkSearchable(): Promise<void> {
    return this.#ask(() => this.#shares.searches.check())
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  /** The reachable part of a distributed store; undefined for a store that is not distributed. */
  get shardState(): ShardState | undefined {
    return this.#shards.state
  }

  /** The number of writes of single plants that wait for their commit, for the metrics. */
  get waiting(): number {
    return this.#queue.waiting
  }

  /** Commits and queues of writes, for the metrics. */
  get writes(): WriteStats {
    return this.#queue
  }

  async #prepare({ retryTime, create, onMade, onNotice }: PostgresStoreOptions): Promise<void> {
    const onWaiting = (reason: string) => onNotice(`waiting for the database: ${reason}`)
    await waitForDatabase(this.#shares.main, { retryTime, onWaiting })
    for (const notice of await preflight(this.#shares.main)) onNotice(notice)
    const isNew = await migrate(this.#shares.main, create, onNotice)
    await this.#shards.read()
    try {
      await this.checkWritable()
    } finally {
      this.#shards.mustBeSafe()
    }
    if (isNew) onMade?.()
  }

  #create(rows: readonly CreateRow[], budget: Budget): Promise<(CreateResult | AppError)[]> {
    return this.#do(async () => {
      const results = await this.#writer.createPlants(rows, budget)
      this.#wrote(
        rows.length,
        sum(rows, ({ plant }) => textLength(plant)),
      )
      return results
    })
  }

  #change(changes: readonly PlantChange[], budget: Budget): Promise<(ChangeOutcome | AppError)[]> {
    return this.#do(async () => {
      const session = this.#shares.main.session(budget)
      const results = await changePlants(session, changes, budget, this.#shards.map !== undefined)
      this.#wrote(changes.length, sum(changes, weightOf))
      return results
    })
  }

  /** Yields pages of plants, and turns faults of the database into AppErrors. */
  async *#longRead(
    pages: AsyncIterable<readonly NewPlant[]>,
    signal?: AbortSignal,
  ): AsyncIterable<readonly NewPlant[]> {
    try {
      yield* pages
    } catch (error) {
      signal?.throwIfAborted()
      throw this.#closing === undefined ? appErrorOf(error) : shuttingDown()
    }
  }

  /** @param text their UTF-16 units */
  #wrote(plants: number, text: number): void {
    this.#searchUpkeep.wrote(plants, text)
    if (this.#shards.map === undefined) this.#tagCounts.wrote(plants)
    this.#shards.refreshIfOld()
  }

  /** Like `#ask`, but refuses work that needs a lost shard: it would hold a connection until its deadline. */
  #askAll<T>(work: () => Promise<T>): Promise<T> {
    const refusal = this.#shards.refusalOfAll
    return refusal === undefined ? this.#ask(work) : Promise.reject(refusal)
  }

  /** Refuses work once the store is closing, and throws faults as AppErrors. */
  async #ask<T>(work: () => Promise<T>): Promise<T> {
    if (this.#closing !== undefined) throw shuttingDown()
    return this.#do(work)
  }

  /** Like `#ask`, but lets waiting work finish while the store is closing. */
  async #do<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (error) {
      this.#shards.suspect(error)
      throw appErrorOf(error)
    }
  }

  async #close(): Promise<void> {
    this.#shards.close()
    await Promise.all([this.#queue.close(), this.#points.close()])
    this.#dedicated.end()
    this.#counts.end()
    await this.#pool.close()
  }
}
