import { setTimeout as sleep } from 'node:timers/promises'
import type { WriteStats } from '../base/group-commit.ts'
import { OperatorError } from '../base/operator-error.ts'
import { storePath } from '../base/store-path.ts'
import type { Actor } from '../domain/actor.ts'
import type { AbortingAsker, Asker } from '../domain/asker.ts'
import type { NewPlant, PlantPatch } from '../domain/plant.ts'
import { replaceResult, updatedPlant } from '../domain/plant-change.ts'
import { isShortPage, type PlantQuery } from '../domain/plant-query.ts'
import type { Expectation } from '../domain/plant-version.ts'
import type {
  CreateOptions,
  CreateResult,
  DryRun,
  ImportMode,
  ImportResult,
  ReplaceResult,
  Store,
  TagCount,
} from '../domain/store.ts'
import { errorOfFault, isFatal, outOfReach, shuttingDown } from './errors.ts'
import { SqliteIdStore } from './id-store.ts'
import { FileWatch } from './open/file-watch.ts'
import { beginLog, keepReserve, openWithReserve } from './open/full-disk.ts'
import { preflight } from './open/preflight.ts'
import { openingError, prepareFile } from './open/prepare-file.ts'
import { isServed, takeServeLock, undoServeLock } from './open/serve-lock.ts'
import { GroupRead } from './read/group-read.ts'
import { isSmallPage, isSmallPlant, type PlantPage, PointReader } from './read/point-reader.ts'
import { QueryClient } from './read/query-client.ts'
import { SearchIndex } from './search-index/search-index.ts'
import type { SqliteStoreOptions } from './store-options.ts'
import { SqliteTokenStore } from './token-store.ts'
import { mendReplacement } from './upkeep/replace-store.ts'
import { LogReaders } from './wal/log-readers.ts'
import { AdaptiveWriter, type Writer } from './write/adaptive-writer.ts'
import { Housekeeping } from './write/housekeeping.ts'
import { WriteQueue } from './write/write-queue.ts'

/** The embedded engine: one SQLite file with one writer. Short reads run on the event loop, long ones in a thread. */
export class SqliteStore implements Store {
  readonly tokens: SqliteTokenStore
  readonly ids: SqliteIdStore
  readonly #path: string
  readonly #isServing: boolean
  readonly #unlock: () => void
  readonly #reader: PointReader
  readonly #lookups: GroupRead<bigint, NewPlant | undefined>
  readonly #pages: GroupRead<PlantPage, readonly NewPlant[]>
  readonly #writer: Writer
  readonly #index: SearchIndex
  readonly #housekeeping: Housekeeping
  readonly #logs: LogReaders
  readonly #reads: QueryClient
  readonly #writes: WriteQueue
  readonly #onFatal: (error: Error) => void
  /** Undefined until the store is open. */
  #watch: FileWatch | undefined
  #fatal: Error | undefined
  #closing: Promise<void> | undefined

  /**
   * Opens the store, or creates it.
   *
   * @throws OperatorError with a message of one line when the path can't hold a store, or holds a damaged one
   */
  static async open(link: string, options: SqliteStoreOptions): Promise<SqliteStore> {
    const path = storePath(link)
    try {
      mendReplacement(path)
      const present = preflight(path) === 'present'
      if (!present && !options.create) throw new OperatorError(`store ${path}: it does not exist`)
      const lock = options.serving ? takeServeLock(path) : undefined
      let unlock = () => lock && undoServeLock(lock)
      try {
        prepareFile(path, present, options.onNotice)
        const open = () => SqliteStore.#openPresent(path, () => unlock(), options)
        const store = await openWithReserve(path, open)
        unlock = () => lock?.release()
        if (!present) options.onMade?.()
        return store
      } catch (error) {
        unlock()
        throw error
      }
    } catch (error) {
      throw openingError(path, error)
    }
  }

  static async #openPresent(path: string, unlock: () => void, options: SqliteStoreOptions): Promise<SqliteStore> {
    const store = new SqliteStore(path, unlock, options)
    try {
      await store.#begin(options)
      return store
    } catch (error) {
      await store.close()
      throw error
    }
  }

  private constructor(path: string, unlock: () => void, options: SqliteStoreOptions) {
    const fail = (error: Error) => this.#fail(error)
    const { maxDelay = Number.POSITIVE_INFINITY } = options
    this.#path = path
    this.#isServing = options.serving
    this.#unlock = unlock
    this.#onFatal = options.onFatal
    this.#reader = new PointReader(path, fail)
    this.#lookups = new GroupRead(
      {
        read: (ids) => this.#open.plants(ids),
        areSmall: (ids) => this.#open.arePlantsSmall(ids),
        isSmall: isSmallPlant,
      },
      maxDelay,
    )
    this.#pages = new GroupRead(
      {
        read: (pages) => this.#open.pages(pages),
        areSmall: (pages) => this.#open.arePagesSmall(pages),
        isSmall: isSmallPage,
      },
      maxDelay,
    )
    this.#writer =
      options.startWriter?.(path, fail) ??
      new AdaptiveWriter(path, { onFatal: fail, onFull: () => this.#index.giveSpace() })
    this.tokens = new SqliteTokenStore(this.#reader, this.#writer.thread, () => this.#mustBeOpen())
    this.ids = new SqliteIdStore(this.#reader, this.#writer.thread, () => this.#mustBeOpen())
    const onNotice = (text: string) => {
      // After a fatal fault, onFatal has already told the operator.
      if (this.#fatal === undefined) options.onNotice?.(text)
    }
    this.#housekeeping = new Housekeeping(this.#writer.thread, options.changesKeep ?? 0, onNotice)
    this.#index = new SearchIndex(path, {
      start: options.startFollower,
      // While a service serves the store, only that service updates the index.
      mayStart: () => this.#isServing || !isServed(path),
      onNotice,
      onDurable: (position) => this.#isServing && this.#housekeeping.trim(position),
      onUnusable: () => this.#reads.forgetIndex(),
      onStoreFault: (fault) => isFatal(fault) && fail(errorOfFault(fault)),
    })
    this.#logs = new LogReaders(path, () => Promise.all([this.#writer.thread.restartLog(), this.#index.restartLog()]))
    this.#reads = new QueryClient(path, {
      index: this.#index,
      logs: this.#logs,
      isServing: this.#isServing,
      onFatal: fail,
    })
    const { maxWaiting, maxGroup = 1000 } = options
    this.#writes = new WriteQueue(this.#writer, this.#index, { maxWaiting, maxGroup, maxDelay })
  }

  createPlant(plant: NewPlant, { mustBeNew }: CreateOptions, actor: Actor): Promise<CreateResult> {
    if (this.#fatal !== undefined) return Promise.reject(outOfReach(this.#fatal))
    return this.#writes.create(plant, mustBeNew, actor)
  }

  getPlant(id: bigint, asker?: Asker): Promise<NewPlant | undefined> {
    return this.#lookups.get(id, asker)
  }

  async replacePlant(plant: NewPlant, expected: Expectation, actor: Actor): Promise<ReplaceResult> {
    this.#mustBeOpen()
    return replaceResult(await this.#writes.change({ kind: 'replace', plant, expected }, actor))
  }

  async updatePlant(id: bigint, patch: PlantPatch, expected: Expectation, actor: Actor): Promise<NewPlant> {
    this.#mustBeOpen()
    return updatedPlant(await this.#writes.change({ kind: 'update', id, patch, expected }, actor))
  }

  async deletePlant(id: bigint, expected: Expectation, actor: Actor): Promise<void> {
    this.#mustBeOpen()
    await this.#writes.change({ kind: 'delete', id, expected }, actor)
  }

  listPlants(query: PlantQuery, limit: number, asker?: AbortingAsker): Promise<readonly NewPlant[]> {
    return isShortPage(query, limit) ? this.#pages.get({ query, limit }, asker) : this.#search(query, limit, asker)
  }

  async listTags(after: string | undefined, limit: number, signal?: AbortSignal): Promise<TagCount[]> {
    this.#mustBeOpen()
    return this.#reads.listTags(after, limit, signal)
  }

  async importPlants(plants: readonly NewPlant[], mode: ImportMode, actor: Actor): Promise<ImportResult[]> {
    this.#mustBeOpen()
    const isBesideService = !this.#isServing && isServed(this.#path)
    if (isBesideService) this.#index.watch()
    const { milliseconds } = this.#writes.commits.import
    const before = milliseconds.sum
    const results = await this.#writes.import(plants, mode, actor)
    // SQLite's write lock is not fair: without a pause, consecutive imports kept a service waiting for seconds.
    if (isBesideService) await sleep(milliseconds.sum - before)
    return results
  }

  /** The search index follows the log of changes by itself. */
  async afterImport(): Promise<void> {}

  async startDryRun(mode: ImportMode): Promise<DryRun> {
    this.#mustBeOpen()
    return this.#reads.startDryRun(mode)
  }

  async *exportPlants(...query: Parameters<Store['exportPlants']>): AsyncIterable<readonly NewPlant[]> {
    this.#mustBeOpen()
    yield* this.#reads.exportPlants(...query)
  }

  async countPlants(): Promise<number> {
    this.#mustBeOpen()
    return this.#reads.countPlants()
  }

  async checkWritable(): Promise<void> {
    this.#mustBeOpen()
    this.#watch?.check()
    if (this.#fatal !== undefined) throw outOfReach(this.#fatal)
    await this.#writer.thread.checkWritable(Date.now())
  }

  async checkSearchable(): Promise<void> {
    this.#mustBeOpen()
    await this.#reads.check()
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  /** The number of creates and changes that wait for their commit, for the metrics. */
  get waiting(): number {
    return this.#writes.waiting
  }

  /** Commits and queues of writes, for the metrics. */
  get writes(): WriteStats {
    return this.#writes
  }

  /** The number of changes that the search index lacks, for the metrics. */
  get indexBehind(): number {
    return this.#index.behind
  }

  async #search(query: PlantQuery, limit: number, asker?: AbortingAsker): Promise<readonly NewPlant[]> {
    this.#mustBeOpen()
    asker?.signal.throwIfAborted()
    return this.#reads.listPlants(query, limit, asker?.signal)
  }

  get #open(): PointReader {
    this.#mustBeOpen()
    return this.#reader
  }

  #mustBeOpen(): void {
    if (this.#fatal !== undefined) throw outOfReach(this.#fatal)
    if (this.#closing !== undefined) throw shuttingDown()
  }

  async #close(): Promise<void> {
    this.#watch?.end()
    this.#logs.close()
    await this.#writes.close()
    await this.#reads.close()
    await this.#index.close()
    await this.#housekeeping.close()
    // The writer closes last: the last connection to close checkpoints the WAL, which a read-only one can't.
    this.#reader.close()
    await this.#writer.close()
    // The checkpoint may have freed enough space on a full disk.
    if (this.#isServing && this.#watch !== undefined) keepReserve(this.#path)
    this.#unlock()
  }

  async #begin({ onNotice }: SqliteStoreOptions): Promise<void> {
    await beginLog(this.#writer.thread, onNotice)
    if (this.#fatal !== undefined) throw outOfReach(this.#fatal)
    this.#watch = new FileWatch(this.#path, (error) => this.#fail(error))
    if (!this.#isServing) return
    keepReserve(this.#path)
    // Both run in the background. A command starts neither.
    this.#index.start()
    this.#housekeeping.start()
  }

  #fail(error: Error): void {
    if (this.#fatal !== undefined) return
    // A read of a replaced file may fail before the next check, with an error that does not tell why.
    this.#fatal = this.#watch?.fault ?? error
    // Before the store is open, `open` throws the error itself.
    if (this.#watch !== undefined) this.#onFatal(this.#fatal)
  }
}
