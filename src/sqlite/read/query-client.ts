import { setTimeout as sleep } from 'node:timers/promises'
import type { ChangeLog } from '../../domain/changes.ts'
import { AppError, outOfReach, shuttingDown } from '../../domain/errors.ts'
import type { Part } from '../../domain/part.ts'
import { type ImportMode, importResult, type NewPlant } from '../../domain/plant.ts'
import {
  ALL_PLANTS,
  type PlantFilter,
  type PlantOrder,
  type PlantQuery,
  type TagQuery,
} from '../../domain/plant-query.ts'
import { abortable, type DryRun, type TagCount } from '../../domain/store.ts'
import { UnreadyIndex } from '../indexed.ts'
import { columnsOf, type PlantColumns, plantsOf } from '../rows.ts'
import type { SearchIndex } from '../search-index/search-index.ts'
import type { WalReaders } from '../wal/wal-readers.ts'
import { ThreadClient } from '../worker/client.ts'
import type { Remote } from '../worker/protocol.ts'
import type { QueryReader } from './query-reader.ts'

/** Milliseconds that a read waits for the index. Clients of a service would give up sooner than a command. */
const INDEX_TIMEOUT = 5000
const INDEX_TIMEOUT_OF_COMMANDS = 3_600_000
/** Milliseconds after which a read is late (QueryReader.listPlants). */
const PATIENCE = 2500
/** Milliseconds between two attempts of a read that waits for the index. */
const RETRY_INTERVAL = 500

/** Milliseconds that an import beside a service waits for its index after each part. */
const MAX_IMPORT_WAIT = 20_000
const IMPORT_PAUSE = 20

interface QueryClientParts {
  readonly index: SearchIndex
  readonly walReaders: WalReaders
  readonly isServing: boolean
  /** Called when the file is corrupt or unreadable. */
  readonly onFatal: (error: Error) => void
}

/** Sends the long reads to a thread. The first read starts the thread. */
export class QueryClient {
  readonly #path: string
  readonly #parts: QueryClientParts
  #client: ThreadClient<QueryReader> | undefined
  #lastExport = 0
  #isClosed = false

  constructor(path: string, parts: QueryClientParts) {
    this.#path = path
    this.#parts = parts
  }

  async listPlants(query: PlantQuery, limit: number, signal?: AbortSignal): Promise<NewPlant[]> {
    return plantsOf(await this.#find(signal, (reader, isLate) => reader.listPlants(query, limit, isLate)))
  }

  listTags(query: TagQuery, limit: number, signal?: AbortSignal): Promise<TagCount[]> {
    return this.#find(signal, (reader, isLate) => reader.listTags(query, limit, isLate))
  }

  countMatches(filter: PlantFilter, max: number, signal?: AbortSignal): Promise<number> {
    return this.#find(signal, (reader, isLate) => reader.countMatches(filter, max, isLate))
  }

  async *exportPlants(
    filter: PlantFilter,
    order: PlantOrder,
    signal?: AbortSignal,
    onPosition?: (position: string) => void,
  ): AsyncGenerator<readonly NewPlant[], void, undefined> {
    // This side chooses the handle, so that it can close an export whose opening was aborted before the reply.
    const handle = ++this.#lastExport
    const { signal: ending, end } = this.#parts.walReaders.beginExport(signal)
    const close = async () => {
      if (!this.#isClosed) await this.#reader().closeExport(handle)
    }
    // A slow client may not ask for the next chunk for long, and must not keep the snapshot meanwhile.
    ending.addEventListener('abort', () => void close().catch(() => {}))
    try {
      let tries = 0
      const open = (isLate: boolean) => this.#reader(ending).openExport(handle, filter, order, isLate, tries++ > 0)
      const position = await this.#indexed(open, ending)
      onPosition?.(position)
      for (;;) {
        const chunk = plantsOf(await this.#readExport(handle, ending))
        if (chunk.length === 0) return
        yield chunk
      }
    } finally {
      end()
      await close()
    }
  }

  read<T>(read: (reader: Remote<QueryReader>) => Promise<T>, signal?: AbortSignal): Promise<T> {
    return this.#during(signal, (ending) => read(this.#reader(ending)))
  }

  /** See Store.checkSearchable. */
  async check(): Promise<void> {
    try {
      await this.#reader().check()
    } catch (cause) {
      if (cause instanceof AppError && cause.number !== 50301) throw cause
      throw new AppError(50301, 'no search can start; the process may have run out of file descriptors', { cause })
    }
  }

  /** Closes the connections to the index that no read uses: they would keep the space of a removed file. */
  forgetIndex(): void {
    if (this.#isClosed || this.#client === undefined || this.#client.hasEnded) return
    this.#client.remote.forgetIndex().catch(() => {})
  }

  /** Waits while the index that a service updates is far behind, for the import of a command. */
  async untilIndexIsNear(): Promise<void> {
    const deadline = performance.now() + MAX_IMPORT_WAIT
    while (!(await this.#reader().isIndexNear()) && performance.now() < deadline) await sleep(IMPORT_PAUSE)
  }

  async startDryRun(mode: ImportMode, part?: Part): Promise<DryRun> {
    const handle = await this.#reader().openDryRun(mode, part)
    let isOpen = true
    return {
      importPlants: async (plants) => {
        const outcomes = await this.read((reader) => reader.dryRunPlants(handle, columnsOf(plants)))
        return outcomes.map((outcome, i) => importResult(outcome, plants[i]?.id ?? 0n))
      },
      storedPlants: (signal) => this.exportPlants(ALL_PLANTS, 'id', signal),
      close: async () => {
        if (isOpen && !this.#isClosed) await this.#reader().closeDryRun(handle)
        isOpen = false
      },
    }
  }

  /** Ends the thread, and rejects the calls under way with AppError 50303. */
  async close(within?: number): Promise<void> {
    this.#isClosed = true
    await this.#client?.close({ abandon: shuttingDown(), within })
  }

  #find<T>(
    signal: AbortSignal | undefined,
    read: (reader: Remote<QueryReader>, isLate: boolean) => Promise<T>,
  ): Promise<T> {
    return this.#during(signal, (ending) => this.#indexed((isLate) => read(this.#reader(ending), isLate), ending))
  }

  async #during<T>(signal: AbortSignal | undefined, read: (ending: AbortSignal) => Promise<T>): Promise<T> {
    const { signal: ending, end } = await this.#parts.walReaders.begin(signal)
    try {
      return await read(ending)
    } finally {
      end()
    }
  }

  async #readExport(handle: number, signal: AbortSignal | undefined): Promise<PlantColumns> {
    try {
      return await this.#reader(signal).readExport(handle)
    } catch (error) {
      // The chunks so far are right, but the export can't continue.
      if (!(error instanceof UnreadyIndex)) throw error
      this.#parts.index.reportDamage(error)
      throw outOfReach(error)
    }
  }

  #reader(signal?: AbortSignal): Remote<QueryReader> {
    if (this.#isClosed) throw shuttingDown()
    if (this.#client === undefined || this.#client.hasEnded) {
      this.#client = new ThreadClient<QueryReader>('queries', this.#path, { onFatal: this.#parts.onFatal })
    }
    return this.#client.unlessAborted(signal)
  }

  /**
   * Retries a read while the index lacks too many plants or is being rebuilt.
   *
   * @throws AppError 50301 when the index takes too long
   */
  async #indexed<T>(read: (isLate: boolean) => Promise<T>, signal: AbortSignal | undefined): Promise<T> {
    const { index, isServing } = this.#parts
    const startedAt = performance.now()
    let waited = 0
    for (;;) {
      try {
        return await read(waited > PATIENCE)
      } catch (error) {
        if (!(error instanceof UnreadyIndex)) throw error
        index.reportDamage(error)
      }
      if (this.#isClosed) throw shuttingDown()
      waited = performance.now() - startedAt
      if (waited > (isServing ? INDEX_TIMEOUT : INDEX_TIMEOUT_OF_COMMANDS)) throw this.#beingBuilt()
      index.hurry()
      await abortable(index.changed(RETRY_INTERVAL), signal)
    }
  }

  #beingBuilt(): AppError {
    const { share, behind } = this.#parts.index
    const state = share < 1 ? `being built: ${Math.floor(share * 100)}% done` : `${behind} changes behind`
    return new AppError(50301, `the search index is ${state}; only searches and lists by name or tag need it`, {
      retryAfter: 5,
    })
  }
}

/** The log of changes for clients. The thread for queries reads it. */
export const sqliteChanges = (reads: () => QueryClient): ChangeLog => ({
  end: async () => reads().read((reader) => reader.endOfChanges()),
  read: async (request, signal) => reads().read((reader) => reader.readChanges(request), signal),
  history: async (id, before, limit, signal) => reads().read((reader) => reader.history(id, before, limit), signal),
  newest: async (request, signal) => reads().read((reader) => reader.newestChanges(request), signal),
  usage: async () => reads().read((reader) => reader.usageOfChanges()),
})
