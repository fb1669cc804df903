import { setTimeout as sleep } from 'node:timers/promises'
import { type FileLock, storePath } from '../base/files.ts'
import type { WriteStats } from '../base/group-commit.ts'
import type { ActionLog } from '../domain/actions.ts'
import type { ChangeLog } from '../domain/changes.ts'
import { AppError, outOfReach, shuttingDown } from '../domain/errors.ts'
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
import {
  isShortPage,
  type PlantFilter,
  type PlantOrder,
  type PlantQuery,
  type TagQuery,
} from '../domain/plant-query.ts'
import type { DryRun, LazySignal, Store, TagCount } from '../domain/store.ts'
import type { Actor, TokenStore } from '../domain/token.ts'
import type { WebhookStore } from '../domain/webhook-store.ts'
import { errorOfFault, isFatal } from './errors.ts'
import { noticeOfMount, preflight } from './open/preflight.ts'
import { FileWatch, isServed, openingError, prepareFile, takeServeLock } from './open/prepare-file.ts'
import { GroupRead } from './read/group-read.ts'
import { type PlantPage, PointReader } from './read/point-reader.ts'
import { QueryClient, sqliteChanges } from './read/query-client.ts'
import { type Connections, sqliteIds, sqliteTokens, sqliteWebhooks } from './records.ts'
import { SearchIndex, type StartFollower } from './search-index/search-index.ts'
import { mendReplacement } from './upkeep/copies.ts'
import { keepReserve, openWithReserve } from './wal/reserve.ts'
import { WalReaders } from './wal/wal-readers.ts'
import { Housekeeping } from './write/housekeeping.ts'
import { AdaptiveWriter, WriteQueue } from './write/write-queue.ts'

/** Reads of one turn of the event loop: 10 ms of plants, or of pages of 50 plants of the largest size. */
const LOOKUPS_TOGETHER = 512
const PAGES_TOGETHER = 64

/** The embedded engine: one SQLite file with one writer. Short reads run on the event loop, long ones in a thread. */
export class SqliteStore implements Store {
  readonly tokens: TokenStore
  readonly ids: IdStore
  readonly changes: ChangeLog | undefined
  readonly actions: ActionLog | undefined
  readonly webhooks: WebhookStore
  readonly #path: string
  readonly #options: SqliteStoreOptions
  readonly #lock: FileLock | undefined
  readonly #reader: PointReader
  readonly #lookups: GroupRead<bigint, NewPlant | undefined>
  readonly #pages: GroupRead<PlantPage, readonly NewPlant[]>
  readonly #writer: AdaptiveWriter
  readonly #index: SearchIndex
  readonly #housekeeping: Housekeeping
  readonly #walReaders: WalReaders
  readonly #queries: QueryClient
  readonly #queue: WriteQueue
  /** Undefined until the store is open. */
  #watch: FileWatch | undefined
  #fatal: Error | undefined
  #closing: Promise<void> | undefined

  /** @throws OperatorError with a message of one line when the path can't hold a store, or holds a damaged one */
  static async open(link: string, options: SqliteStoreOptions): Promise<SqliteStore> {
    const path = storePath(link)
    try {
      mendReplacement(path)
      const present = preflight(path, options.create)
      const mount = present ? noticeOfMount(path) : undefined
      if (mount !== undefined) options.onNotice?.(mount)
      const lock = options.serving ? takeServeLock(path) : undefined
      try {
        prepareFile(path, present, options.onNotice)
        const store = await openWithReserve(path, () => SqliteStore.#openPresent(path, lock, options))
        if (!present) options.onMade?.()
        return store
      } catch (error) {
        lock?.undo()
        throw error
      }
    } catch (error) {
      throw openingError(path, error)
    }
  }

  static async #openPresent(
    path: string,
    lock: FileLock | undefined,
    options: SqliteStoreOptions,
  ): Promise<SqliteStore> {
    const store = new SqliteStore(path, lock, options)
    try {
      await store.#begin()
      return store
    } catch (error) {
      await store.#close()
      throw error
    }
  }

  private constructor(path: string, lock: FileLock | undefined, options: SqliteStoreOptions) {
    const fail = (error: Error) => this.#fail(error)
    const { maxDelay = Number.POSITIVE_INFINITY } = options
    this.#path = path
    this.#options = options
    this.#lock = lock
    this.#reader = new PointReader(path, fail)
    this.#lookups = new GroupRead((ids) => this.#opened(this.#reader).plants(ids), maxDelay, LOOKUPS_TOGETHER)
    this.#pages = new GroupRead((pages) => this.#opened(this.#reader).pages(pages), maxDelay, PAGES_TOGETHER)
    this.#writer = new AdaptiveWriter(path, { onFatal: fail, onFull: () => this.#index.giveSpace() })
    const open: Connections = {
      reader: () => this.#opened(this.#reader),
      writer: () => this.#opened(this.#writer.thread),
      run: async (statements) => this.#opened(this.#writer).run(statements),
    }
    this.tokens = sqliteTokens(open)
    this.ids = sqliteIds(open)
    this.webhooks = sqliteWebhooks(open)
    const onNotice = (text: string) => {
      // After a fatal fault, onFatal has already told the operator.
      if (this.#fatal === undefined) options.onNotice?.(text)
    }
    const { changesKeep = 0, changesKeepSize = Number.POSITIVE_INFINITY } = options
    this.#housekeeping = new Housekeeping(this.#writer.thread, { time: changesKeep, bytes: changesKeepSize })
    this.#index = new SearchIndex(path, {
      start: options.startFollower,
      // While a service serves the store, only that service updates the index.
      mayStart: () => options.serving || !isServed(path),
      onNotice,
      onDurable: (position) => options.serving && this.#housekeeping.trim(position),
      onUnusable: () => this.#queries.forgetIndex(),
      onStoreFault: (fault) => isFatal(fault) && fail(errorOfFault(fault)),
    })
    this.#walReaders = new WalReaders(path, () =>
      Promise.all([this.#writer.thread.restartWal(), this.#index.restartWal()]),
    )
    this.#queries = new QueryClient(path, {
      index: this.#index,
      walReaders: this.#walReaders,
      isServing: options.serving,
      onFatal: fail,
    })
    const { maxWaiting, maxGroup = 1000 } = options
    this.#queue = new WriteQueue(this.#writer, this.#index, { maxWaiting, maxGroup, maxDelay })
    const reads = () => this.#reads
    this.changes = changesKeep > 0 ? sqliteChanges(reads) : undefined
    this.actions = changesKeep > 0 ? sqliteActions(reads, () => this.#writes) : undefined
  }

  createPlant(plant: NewPlant, { mustBeNew }: CreateOptions, actor: Actor): Promise<CreateResult> {
    if (this.#fatal !== undefined) return Promise.reject(outOfReach(this.#fatal))
    return this.#queue.create(plant, mustBeNew, actor)
  }

  getPlant(id: bigint, caller?: LazySignal): Promise<NewPlant | undefined> {
    return this.#lookups.get(id, caller)
  }

  async changePlant(change: PlantChange, actor: Actor): Promise<ChangeOutcome> {
    return this.#writes.change(change, actor)
  }

  listPlants(query: PlantQuery, limit: number, caller?: LazySignal): Promise<readonly NewPlant[]> {
    return isShortPage(query, limit) ? this.#pages.get({ query, limit }, caller) : this.#search(query, limit, caller)
  }

  async listTags(query: TagQuery, limit: number, signal?: AbortSignal): Promise<TagCount[]> {
    return this.#reads.listTags(query, limit, signal)
  }

  async countMatches(filter: PlantFilter, max: number, signal?: AbortSignal): Promise<number> {
    return this.#reads.countMatches(filter, max, signal)
  }

  async importPlants(plants: readonly ImportedPlant[], mode: ImportMode, actor: Actor): Promise<ImportResult[]> {
    const writes = this.#writes
    const { milliseconds } = writes.commits.import
    const before = milliseconds.sum
    const results = await writes.import(plants, mode, actor)
    if (!this.#options.serving && isServed(this.#path)) {
      // SQLite's write lock is not fair: without a pause, consecutive imports kept a service waiting for seconds.
      await sleep(milliseconds.sum - before)
      await this.#reads.untilIndexIsNear()
    }
    return results
  }

  /** The search index follows the log of changes by itself. */
  async afterImport(): Promise<void> {}

  async startDryRun(mode: ImportMode, part?: Part): Promise<DryRun> {
    return this.#reads.startDryRun(mode, part)
  }

  async *exportPlants(
    filter: PlantFilter,
    order: PlantOrder,
    signal?: AbortSignal,
    onPosition?: (position: string) => void,
  ): AsyncIterable<readonly NewPlant[]> {
    yield* this.#reads.exportPlants(filter, order, signal, this.changes && onPosition)
  }

  async countPlants(): Promise<number> {
    return this.#reads.read((reader) => reader.countPlants())
  }

  async checkWritable(): Promise<void> {
    this.#opened(this.#watch)?.check()
    await this.#opened(this.#writer.thread).checkWritable(Date.now())
  }

  async checkSearchable(): Promise<void> {
    await this.#reads.check()
  }

  close(within?: number): Promise<void> {
    this.#closing ??= this.#close(within).finally(() => this.#lock?.release())
    return this.#closing
  }

  get writes(): WriteStats {
    return this.#queue
  }

  get indexBehind(): number {
    return this.#index.behind
  }

  async #search(query: PlantQuery, limit: number, caller?: LazySignal): Promise<readonly NewPlant[]> {
    caller?.signal.throwIfAborted()
    return this.#reads.listPlants(query, limit, caller?.signal)
  }

  get #reads(): QueryClient {
    return this.#opened(this.#queries)
  }

  get #writes(): WriteQueue {
    return this.#opened(this.#queue)
  }

  /** @throws AppError while the store is closing or out of reach */
  #opened<T>(part: T): T {
    if (this.#fatal !== undefined) throw outOfReach(this.#fatal)
    if (this.#closing !== undefined) throw shuttingDown()
    return part
  }

  async #close(within?: number): Promise<void> {
    this.#watch?.end()
    this.#walReaders.close()
    await this.#queue.close()
    const others = await Promise.allSettled([this.#queries.close(within), this.#index.close(within)])
    await this.#housekeeping.close()
    // The mark of the epoch stays while pages are copied; the last one to close then copies the first page alone.
    if (this.#watch !== undefined) await this.#writer.thread.checkpoint().catch(() => {})
    // The writer closes last: the last connection to close checkpoints the WAL, which a read-only one can't.
    this.#reader.close()
    await this.#writer.close()
    // The checkpoint may have freed enough space on a full disk.
    if (this.#options.serving && this.#watch !== undefined) keepReserve(this.#path)
    for (const closed of others) if (closed.status === 'rejected') throw closed.reason
  }

  async #begin(): Promise<void> {
    const { serving, onNotice } = this.#options
    try {
      await this.#writer.thread.beginWal()
    } catch (error) {
      if (!(error instanceof AppError) || error.number !== 50304) throw error
      onNotice?.('the store has no space left; reads continue, and writes resume once there is space')
    }
    if (this.#fatal !== undefined) throw outOfReach(this.#fatal)
    this.#watch = new FileWatch(this.#path, (error) => this.#fail(error))
    if (!serving) return
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
    if (this.#watch !== undefined) this.#options.onFatal(this.#fatal)
  }
}

/** Actions in the log of changes. The thread for queries reads them, and the writer undoes. */
const sqliteActions = (reads: () => QueryClient, writes: () => WriteQueue): ActionLog => ({
  list: async (query, limit, signal) => reads().read((reader) => reader.listActions(query, limit), signal),
  get: async (id, signal) => reads().read((reader) => reader.getAction(id), signal),
  undo: async (id, from, actor) =>
    actor.action === undefined
      ? reads().read((reader) => reader.tryUndo(id, from, actor.part))
      : writes().undo(id, from, actor),
})

export interface SqliteStoreOptions {
  /** Creates that may wait at once, and changes as many. */
  readonly maxWaiting: number
  /** Milliseconds that queued reads, and queued writes of more than one commit, may take; unbounded by default. */
  readonly maxDelay?: number
  /** Maximum number of creates in one commit; 1000 by default. */
  readonly maxGroup?: number
  /** Whether to take the lock that keeps a second service away from the store. */
  readonly serving: boolean
  readonly create: boolean
  /** Starts the follower, which updates the search index; a thread by default. */
  readonly startFollower?: StartFollower
  /** Milliseconds for which the log of changes is kept; 0 by default: only what the search index needs. */
  readonly changesKeep?: number
  /** Bytes of the log of changes beyond which it keeps only what the search index needs; unbounded by default. */
  readonly changesKeepSize?: number
  /** Called once when the store can't continue: a failed fsync, a corrupt or removed file. Only a restart helps. */
  readonly onFatal: (error: Error) => void
  /** Called after the store was created. */
  readonly onMade?: () => void
  /** Called with a message for the operator, who need not act on it at once. */
  readonly onNotice?: (text: string) => void
}
