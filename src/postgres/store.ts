import type { Condition } from '../condition.ts'
import type { AppError } from '../errors.ts'
import { GroupCommit } from '../group-commit.ts'
import type { NewPlant } from '../plant.ts'
import { type PlantChange, weightOf } from '../plant-change.ts'
import type { PlantQuery } from '../plant-query.ts'
import type { PostgresAddress } from '../postgres-address.ts'
import type {
  Answer,
  CreateOptions,
  CreateResult,
  ImportMode,
  ImportResult,
  ImportTrial,
  KeptToken,
  PlantPatch,
  ReplaceResult,
  Store,
  TagCount,
} from '../store.ts'
import type { Token } from '../token.ts'
import { unlessAborted } from '../unless-aborted.ts'
import { countPlants, exported, Trial } from './bulk.ts'
import { type Changed, changePlants } from './changes.ts'
import { Connections } from './connections.ts'
import { appErrorOf, openingError, shuttingDown } from './errors.ts'
import { HeldConnections } from './held-connections.ts'
import { migrate } from './migrate.ts'
import { preflight, reach } from './preflight.ts'
import { listPlants, listTags, selectPlants } from './reader.ts'
import { PostgresTokens } from './tokens.ts'
import { WordIndex } from './word-index.ts'
import { byId, type CreateRow, PostgresWriter } from './writer.ts'

export interface PostgresStoreOptions {
  readonly maxWaiting: number
  /** Statements with creates that may be under way at once. */
  readonly groupsInFlight?: number
  /** Connections for requests, and as many again for imports and exports. */
  readonly connections: number
  /** Milliseconds that one statement may take. */
  readonly statementTimeout: number
  /** How long to wait for the database when it can't be reached, in ms; 0: not at all. */
  readonly patience: number
  /** Make the tables where there are none. */
  readonly create: boolean
  /** Called when there was no store yet and one was made. */
  readonly onMade?: () => void
  /** Told what the operator should know but need not act on at once. */
  readonly onNotice: (text: string) => void
}

/** UTF-16 code units of names and tags that may wait at once. */
const MAX_WAITING_TEXT = 64 * 2 ** 20
/** Creates in one statement. */
const MAX_GROUP = 1000
/** With one group at a time, this process and the database wait for each other: 15% fewer creates a second. */
const GROUPS_IN_FLIGHT = 2

/** The engine for several instances of the service: a PostgreSQL database that they share. */
export class PostgresStore implements Store {
  readonly #connections: Connections
  readonly #bulk: Connections
  readonly #writer: PostgresWriter
  readonly #tokens: PostgresTokens
  readonly #wordIndex: WordIndex
  readonly #creates: GroupCommit<CreateRow, CreateResult>
  readonly #changes: GroupCommit<PlantChange, Changed>
  readonly #gets: GroupCommit<bigint, { readonly plant: NewPlant | undefined }>
  /** For whatever may take long: close waits for none of it. */
  readonly #held: HeldConnections
  #closing: Promise<void> | undefined

  /**
   * Opens the store in a database, and makes its tables there.
   *
   * @throws OperatorError in one line when the database can't be reached or can't be a store
   */
  static async open(address: PostgresAddress, options: PostgresStoreOptions): Promise<PostgresStore> {
    const store = new PostgresStore(address, options)
    try {
      await store.#prepare(options)
      return store
    } catch (error) {
      await store.close()
      throw openingError(address, error)
    }
  }

  private constructor(address: PostgresAddress, options: PostgresStoreOptions) {
    const { connections: max, statementTimeout, maxWaiting, onNotice } = options
    const onTrouble = (error: Error) => onNotice(`a connection to the database broke: ${error.message}`)
    this.#connections = new Connections({ address, max, statementTimeout, onTrouble })
    this.#bulk = new Connections({ address, max, statementTimeout, onTrouble })
    this.#held = new HeldConnections(this.#bulk)
    this.#writer = new PostgresWriter(this.#connections, this.#bulk)
    this.#tokens = new PostgresTokens(this.#connections)
    this.#wordIndex = new WordIndex(this.#held)
    const limits = {
      maxWaiting,
      maxWeight: MAX_WAITING_TEXT,
      maxGroup: MAX_GROUP,
      maxInFlight: options.groupsInFlight ?? GROUPS_IN_FLIGHT,
      parts: options.groupsInFlight === undefined ? GROUPS_IN_FLIGHT : 1,
    }
    this.#creates = new GroupCommit<CreateRow, CreateResult>((rows) => this.#create(rows), {
      ...limits,
      weigh: ({ plant }) => plant.name.length + (plant.tag?.length ?? 0),
    })
    this.#changes = new GroupCommit<PlantChange, Changed>(
      (changes) => this.#do(() => changePlants(this.#connections, changes)),
      // Two groups with the same plants would only overtake each other.
      { ...limits, maxInFlight: 1, parts: 1, weigh: weightOf },
    )
    // Reads that come together share a statement as creates do.
    this.#gets = new GroupCommit((ids) => this.#do(() => this.#getPlants(ids)), { ...limits, weigh: () => 1 })
  }

  createPlant(plant: NewPlant, { mustBeNew }: CreateOptions, answer: Answer<CreateResult>): void {
    this.#creates.submit({ plant, mustBeNew }, answer)
  }

  getPlant(id: bigint, answer: Answer<NewPlant | undefined>): void {
    this.#gets.submit(id, (error, result) => answer(error, result?.plant))
  }

  async replacePlant(plant: NewPlant, condition: Condition): Promise<ReplaceResult> {
    const { before } = await this.#change({ kind: 'replace', plant, condition })
    return before === undefined ? 'created' : 'replaced'
  }

  async updatePlant(id: bigint, patch: PlantPatch, condition: Condition): Promise<NewPlant> {
    const { after } = await this.#change({ kind: 'update', id, patch, condition })
    if (after === undefined) throw new Error('an update deleted its plant')
    return after
  }

  async deletePlant(id: bigint, condition: Condition): Promise<void> {
    await this.#change({ kind: 'delete', id, condition })
  }

  listPlants(query: PlantQuery, limit: number, signal?: AbortSignal): Promise<NewPlant[]> {
    return this.#search(signal, () => listPlants(this.#connections, query, limit))
  }

  listTags(after: string | undefined, limit: number, signal?: AbortSignal): Promise<TagCount[]> {
    return this.#search(signal, () => listTags(this.#connections, after, limit))
  }

  importPlants(plants: readonly NewPlant[], mode: ImportMode): Promise<ImportResult[]> {
    return this.#ask(async () => {
      const results = await this.#writer.importPlants(plants, mode)
      this.#wordIndex.wrote(plants.length)
      return results
    })
  }

  /** Every write has done so. */
  async indexPlants(): Promise<void> {}

  async tryImport(mode: ImportMode): Promise<ImportTrial> {
    const connection = await this.#ask(() => this.#held.hold())
    const trial = new Trial(connection, mode)
    return {
      tryPlants: (plants) => this.#ask(() => trial.tryPlants(plants)),
      close: async () => this.#held.letGo(connection),
    }
  }

  async *exportPlants(...query: Parameters<Store['exportPlants']>): AsyncIterable<readonly NewPlant[]> {
    const [filter, order, signal] = query
    signal?.throwIfAborted()
    const connection = await this.#ask(() => this.#held.hold())
    // Ending the connection ends the statement under way.
    const letGo = () => this.#held.letGo(connection)
    signal?.addEventListener('abort', letGo, { once: true })
    try {
      signal?.throwIfAborted()
      yield* exported(connection, filter, order)
    } catch (error) {
      signal?.throwIfAborted()
      throw this.#closing === undefined ? appErrorOf(error) : shuttingDown()
    } finally {
      signal?.removeEventListener('abort', letGo)
      letGo()
    }
  }

  countPlants(): Promise<number> {
    return this.#ask(() => this.#held.during(countPlants))
  }

  checkWritable(): Promise<void> {
    const values = [Date.now()]
    return this.#ask(async () => {
      await this.#connections.run({ name: 'check', text: 'UPDATE write_check SET checked_at = $1', values })
    })
  }

  createToken(token: Token, hash: Buffer): Promise<void> {
    return this.#ask(() => this.#tokens.create(token, hash))
  }

  findToken(hash: Buffer): Promise<Token | undefined> {
    return this.#ask(() => this.#tokens.find(hash))
  }

  listTokens(): Promise<Token[]> {
    return this.#ask(() => this.#tokens.list())
  }

  exportTokens(): Promise<KeptToken[]> {
    return this.#ask(() => this.#tokens.export())
  }

  touchToken(id: string, usedAt: Date): Promise<void> {
    return this.#ask(() => this.#tokens.touch(id, usedAt))
  }

  revokeToken(id: string): Promise<boolean> {
    return this.#ask(() => this.#tokens.revoke(id))
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  /** Writes of single plants that wait for their commit, for the metrics. */
  get waiting(): number {
    return this.#creates.waiting + this.#changes.waiting
  }

  async #prepare({ patience, create, onMade, onNotice }: PostgresStoreOptions): Promise<void> {
    const onWaiting = (reason: string) => onNotice(`waiting for the database: ${reason}`)
    await reach(this.#connections, { patience, onWaiting })
    for (const notice of await preflight(this.#connections)) onNotice(notice)
    const isNew = await migrate(this.#bulk, create)
    await this.checkWritable()
    if (isNew) onMade?.()
  }

  #create(rows: readonly CreateRow[]): Promise<(CreateResult | AppError)[]> {
    return this.#do(async () => {
      const results = await this.#writer.createPlants(rows)
      this.#wordIndex.wrote(rows.length)
      return results
    })
  }

  async #getPlants(ids: readonly bigint[]): Promise<{ plant: NewPlant | undefined }[]> {
    const found = byId(
      await selectPlants(
        this.#connections.run,
        ids.map((id) => ({ id })),
      ),
    )
    return ids.map((id) => ({ plant: found.get(id) }))
  }

  #change(change: PlantChange): Promise<Changed> {
    return new Promise((resolve, reject) => {
      this.#changes.submit(change, (error, result) => {
        if (result === undefined) reject(error)
        else resolve(result)
      })
    })
  }

  #search<T>(signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T> {
    return unlessAborted(this.#ask(work), signal)
  }

  async #ask<T>(work: () => Promise<T>): Promise<T> {
    if (this.#closing !== undefined) throw shuttingDown()
    return this.#do(work)
  }

  async #do<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (error) {
      throw appErrorOf(error)
    }
  }

  async #close(): Promise<void> {
    await Promise.all([this.#creates.close(), this.#changes.close(), this.#gets.close()])
    this.#held.end()
    await Promise.all([this.#connections.close(), this.#bulk.close()])
  }
}
