import type { AppError } from '../../domain/errors.ts'
import {
  type CreateResult,
  createResult,
  decidePut,
  type ImportedPlant,
  type ImportMode,
  type ImportResult,
  importResult,
  type NewPlant,
} from '../../domain/plant.ts'
import { ALL_PLANTS } from '../../domain/plant-query.ts'
import type { DryRun } from '../../domain/store.ts'
import type { LoggedChange } from '../changes/log-rows.ts'
import { WriteConflict } from '../errors.ts'
import type { CreateRow } from '../groups.ts'
import type { Budget, Client, Statement } from '../pool/client.ts'
import { type DedicatedClients, type PoolShare, sessionOf } from '../pool/pool-share.ts'
import { exported } from '../read/long-reads.ts'
import { selectPlants } from '../read/point-reader.ts'
import { byId, COLUMNS, columnsOf, refusalOf, rowOf } from '../rows.ts'
import { type Insert, insertPlants, putPlants, type Update, updatePlants } from './write-plants.ts'

/** Creates and imports plants. Each method resolves after the commit. */
export class PostgresWriter {
  readonly #share: PoolShare
  readonly #longWrites: PoolShare
  readonly #insert: Insert
  readonly #isLogging: () => boolean

  /**
   * @param longWrites the share for long transactions
   * @param isLogging whether writes belong into the log of changes
   */
  constructor(share: PoolShare, longWrites: PoolShare, insert: Insert, isLogging: () => boolean) {
    this.#isLogging = isLogging
    this.#share = share
    this.#longWrites = longWrites
    this.#insert = insert
  }

  /**
   * Inserts all rows with one statement, and reads the plants of existing ids with a second one. Decides the rows in
   * their order: the second row of an id finds the plant of the first.
   */
  async createPlants(rows: readonly CreateRow[], budget: Budget): Promise<(CreateResult | AppError)[]> {
    const refusals = rows.map(({ plant }) => refusalOf(plant))
    const firsts = new Map<bigint, NewPlant>()
    const log = this.#isLogging() ? new Map<bigint, LoggedChange[]>() : undefined
    for (const [i, { plant, token }] of rows.entries()) {
      if (refusals[i] !== undefined || firsts.has(plant.id)) continue
      firsts.set(plant.id, plant)
      log?.set(plant.id, [{ before: undefined, after: plant, token }])
    }
    const present = await putPlants(this.#share.session(budget), [...firsts.values()], this.#insert, log)
    return rows.map(({ plant, mustBeNew }, i) => {
      const refusal = refusals[i]
      if (refusal !== undefined) return refusal
      const outcome = decidePut(mustBeNew ? 'new' : 'add', plant, present.get(plant.id))
      if (outcome === 'created') present.set(plant.id, plant)
      return createResult(outcome, plant.id)
    })
  }

  /**
   * Imports plants in one transaction, and decides them in their order. The reads lock no rows: after a concurrent
   * write of the same plants, the transaction starts again.
   */
  importPlants(plants: readonly ImportedPlant[], mode: ImportMode, token: string): Promise<ImportResult[]> {
    return this.#longWrites.transaction('BEGIN', async (run) => {
      const wanted = plants.filter((plant) => refusalOf(plant) === undefined)
      const present = byId(await selectPlants(run, wanted))
      const { results, changed, log: changes } = decideImport(plants, mode, present, token)
      const log = this.#isLogging() ? changes : undefined
      const added: NewPlant[] = []
      const updated: Update[] = []
      for (const after of changed) {
        const before = present.get(after.id)
        if (before === undefined) added.push(after)
        else updated.push({ before, after })
      }
      const session = sessionOf(run)
      const written = await updatePlants(session, updated, log)
      const done = [...written, ...(await insertPlants(session, added, this.#insert, log))]
      if (done.length < changed.length) throw new WriteConflict('a concurrent write changed one of the plants')
      return results
    })
  }
}

/**
 * Decides an import, given the plants that exist.
 *
 * @param token the id of the actor
 * @returns one result for each plant, and for those that it changes the new state and the changes
 */
export function decideImport(
  plants: readonly ImportedPlant[],
  mode: ImportMode,
  present: ReadonlyMap<bigint, NewPlant>,
  token = '',
): { results: ImportResult[]; changed: NewPlant[]; log: Map<bigint, LoggedChange[]> } {
  const log = new Map<bigint, LoggedChange[]>()
  const changed = new Map<bigint, NewPlant>()
  const results = plants.map((plant) => {
    const refusal = refusalOf(plant)
    if (refusal !== undefined) return refusal
    const before = changed.get(plant.id) ?? present.get(plant.id)
    const outcome = decidePut(mode, plant, before)
    if (outcome === 'created' || outcome === 'updated') {
      changed.set(plant.id, plant)
      const change = { before, after: plant, token }
      const changes = log.get(plant.id)
      if (changes === undefined) log.set(plant.id, [change])
      else changes.push(change)
    }
    return importResult(outcome, plant.id)
  })
  return { results, changed: [...changed.values()], log }
}

/**
 * An import that changes no plant of the store. It writes new and replaced plants to a temporary table of its
 * connection, where later plants with the same id find them.
 */
export class PostgresDryRun implements DryRun {
  readonly #clients: DedicatedClients
  readonly #client: Client
  readonly #mode: ImportMode
  #hasTable = false

  static async start(clients: DedicatedClients, mode: ImportMode): Promise<PostgresDryRun> {
    return new PostgresDryRun(clients, await clients.acquire(), mode)
  }

  private constructor(clients: DedicatedClients, client: Client, mode: ImportMode) {
    this.#clients = clients
    this.#client = client
    this.#mode = mode
  }

  async importPlants(plants: readonly ImportedPlant[]): Promise<ImportResult[]> {
    try {
      return await this.#try(plants)
    } catch (error) {
      throw this.#clients.faultOf(error)
    }
  }

  storedPlants(signal?: AbortSignal): AsyncIterable<readonly NewPlant[]> {
    return this.#clients.withFaults(this.#stored(signal), signal)
  }

  async close(): Promise<void> {
    this.#clients.release(this.#client)
  }

  async #try(plants: readonly ImportedPlant[]): Promise<ImportResult[]> {
    const run = (statement: Statement) => this.#client.run(statement)
    if (!this.#hasTable) {
      await run({ text: 'CREATE TEMPORARY TABLE tried (id bigint PRIMARY KEY, name text NOT NULL, tag text)' })
      this.#hasTable = true
    }
    const wanted = plants.filter((plant) => refusalOf(plant) === undefined)
    const present = byId([...(await selectPlants(run, wanted)), ...(await selectPlants(run, wanted, 'tried'))])
    const { results, changed } = decideImport(plants, this.#mode, present)
    if (changed.length > 0) await run({ name: 'try', text: TRY, values: columnsOf(changed.map(rowOf)) })
    return results
  }

  /** Ends its transaction at the end, because later rows are tried on the same connection. */
  async *#stored(signal?: AbortSignal): AsyncGenerator<readonly NewPlant[], void, void> {
    try {
      yield* exported(this.#client, ALL_PLANTS, 'id', signal)
    } finally {
      await this.#client.run({ text: 'COMMIT' })
    }
  }
}

const TRY = `INSERT INTO tried SELECT id, name, tag FROM unnest(${COLUMNS}) AS v (id, name, tag, sort_key, words)
  ON CONFLICT (id) DO UPDATE SET name = excluded.name, tag = excluded.tag`
