import type { NewPlant } from '../plant.ts'
import type { PlantFilter, PlantOrder, PlantQuery } from '../plant-query.ts'
import type { ImportMode, ImportTrial, TagCount } from '../store.ts'
import { BehindError } from './behind.ts'
import { shuttingDown } from './errors.ts'
import type { Indexer } from './indexer.ts'
import { importResultOf } from './outcome.ts'
import { ReaderClient } from './reader-client.ts'
import { flatten, plantsOf } from './rows.ts'

/** How long a read waits for the indexes, in milliseconds. */
const PATIENCE = 5000
/**
 * Unindexed plants that a read looks at one by one, at about 5 µs each: few, but more each time that others have written
 * too many while it waited for the indexes, as an import does all the time.
 */
const MOST_UNINDEXED = [400, 2000, 10_000]

/** The reads that may take long: in a thread, which is started by the first of them. */
export class PlantReads {
  readonly #path: string
  readonly #indexer: Indexer
  readonly #onFatal: (error: Error) => void
  #client: ReaderClient | undefined
  #isClosed = false

  /** @param onFatal called when the file can't be trusted any more */
  constructor(path: string, indexer: Indexer, onFatal: (error: Error) => void) {
    this.#path = path
    this.#indexer = indexer
    this.#onFatal = onFatal
  }

  async listPlants(query: PlantQuery, limit: number): Promise<NewPlant[]> {
    return plantsOf(await this.#indexed((most) => this.#reader.call('listPlants', most, query, limit)))
  }

  listTags(after: string | undefined, limit: number): Promise<TagCount[]> {
    return this.#indexed((most) => this.#reader.call('listTags', most, after, limit))
  }

  async *exportPlants(filter: PlantFilter, order: PlantOrder): AsyncGenerator<readonly NewPlant[], void, undefined> {
    const handle = await this.#indexed((most) => this.#reader.call('openExport', most, filter, order))
    try {
      for (;;) {
        const chunk = plantsOf(await this.#reader.call('readExport', handle))
        if (chunk.length === 0) return
        yield chunk
      }
    } finally {
      await this.#release('closeExport', handle)
    }
  }

  countPlants(): Promise<number> {
    return this.#reader.call('countPlants')
  }

  async tryImport(mode: ImportMode): Promise<ImportTrial> {
    const handle = await this.#reader.call('openTrial', mode)
    let isOpen = true
    return {
      tryPlants: async (plants) => {
        const outcomes = await this.#reader.call('tryPlants', handle, flatten(plants))
        return outcomes.map((outcome, i) => importResultOf(outcome, plants[i]?.id ?? 0n))
      },
      close: async () => {
        if (isOpen) await this.#release('closeTrial', handle)
        isOpen = false
      },
    }
  }

  /** Ends what is under way with AppError 50303. */
  async close(): Promise<void> {
    this.#isClosed = true
    await this.#client?.close()
  }

  get #reader(): ReaderClient {
    if (this.#isClosed) throw shuttingDown()
    if (this.#client === undefined || this.#client.isDead) this.#client = new ReaderClient(this.#path, this.#onFatal)
    return this.#client
  }

  /** Closing the reader has released everything already. */
  async #release(method: 'closeExport' | 'closeTrial', handle: number): Promise<void> {
    if (!this.#isClosed) await this.#reader.call(method, handle)
  }

  async #indexed<T>(read: (mostUnindexed: number) => Promise<T>): Promise<T> {
    const deadline = performance.now() + PATIENCE
    for (let attempt = 0; ; attempt++) {
      try {
        return await read(MOST_UNINDEXED[Math.min(attempt, MOST_UNINDEXED.length - 1)] ?? 0)
      } catch (error) {
        if (!(error instanceof BehindError)) throw error
        await this.#indexer.catchUp(error.plants, deadline)
      }
    }
  }
}
