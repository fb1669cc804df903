import { type Stats, statSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { Condition } from '../condition.ts'
import { AppError } from '../errors.ts'
import { GroupCommit } from '../group-commit.ts'
import { OperatorError } from '../operator-error.ts'
import type { NewPlant } from '../plant.ts'
import type { PlantChange } from '../plant-change.ts'
import type { PlantFilter, PlantOrder, PlantQuery } from '../plant-query.ts'
import type {
  Answer,
  CreateOptions,
  CreateResult,
  ImportMode,
  ImportResult,
  ImportTrial,
  PlantPatch,
  ReplaceResult,
  Store,
  TagCount,
} from '../store.ts'
import type { Scope, Token } from '../token.ts'
import { openReader, openWriter } from './connection.ts'
import { appErrorOf, isFatal, outOfReach, sqliteFault } from './errors.ts'
import { createStoreFile, migrate } from './migrate.ts'
import { type ChangeResult, changeResultOf, createResultOf, importResultOf } from './outcome.ts'
import { PlacedWriter } from './placed-writer.ts'
import { preflight } from './preflight.ts'
import { SqliteExport, SqliteReader, SqliteTrial } from './reader.ts'
import { flatten, plantOf } from './rows.ts'
import { takeServeLock } from './serve-lock.ts'
import type { CreateRows } from './writer.ts'
import type { WriterPort } from './writer-port.ts'

export interface SqliteStoreOptions {
  readonly maxWaiting: number
  /** Creates in one commit; 1 gives each its own. */
  readonly maxGroup?: number
  /** Hold the lock that keeps a second server away from the file. */
  readonly serving: boolean
  /** Make the store where there is none. */
  readonly create: boolean
  /** Where the writer runs: where the disk lets it, if nothing else is said. */
  readonly startWriter?: (path: string, onFatal: (error: Error) => void) => WriterPort
  /** Called once when the store can't go on: a failed fsync, a corrupt or vanished file. Only a restart mends it. */
  readonly onFatal: (error: Error) => void
}

interface CreateRow {
  readonly plant: NewPlant
  readonly mustBeNew: boolean
}

/** UTF-16 code units of names and tags that may wait at once. */
const MAX_WAITING_TEXT = 64 * 2 ** 20
/**
 * On one core the writer runs when the event loop waits, so a second group would only make both smaller: 8% fewer creates
 * a second there, and 8% more on two.
 */
const GROUPS_IN_FLIGHT = availableParallelism() > 1 ? 2 : 1
/** How often the file is looked for at its path, in milliseconds: writes to a file that was removed go nowhere. */
const PRESENCE_INTERVAL = 1000

/** The embedded engine: one SQLite file, one writer in a thread of its own, reads on the main thread. */
export class SqliteStore implements Store {
  readonly #path: string
  readonly #unlock: () => void
  readonly #file: Stats
  readonly #reader: DatabaseSync
  readonly #writer: WriterPort
  readonly #creates: GroupCommit<CreateRow, CreateResult>
  readonly #changes: GroupCommit<PlantChange, ChangeResult>
  readonly #plants: SqliteReader
  /** Exports and trials that hold connections of their own. */
  readonly #held = new Set<{ close(): void }>()
  readonly #selectPlant: StatementSync
  readonly #selectToken: StatementSync
  readonly #selectTokens: StatementSync
  readonly #presence: NodeJS.Timeout
  readonly #onFatal: (error: Error) => void
  #isOpen = false
  #fatal: Error | undefined
  #closing: Promise<void> | undefined

  /**
   * Opens the store at `path`, or makes it there.
   *
   * @throws OperatorError in one line when the path can't hold a store or holds a damaged one
   */
  static async open(path: string, options: SqliteStoreOptions): Promise<SqliteStore> {
    try {
      const present = preflight(path) === 'present'
      if (!present && !options.create) throw new OperatorError(`store ${path}: there is none yet`)
      const unlock = options.serving ? takeServeLock(path) : () => {}
      try {
        if (!present) createStoreFile(path)
        migrateFile(path)
        return await SqliteStore.#openPresent(path, unlock, options)
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
      await store.checkWritable()
      store.#isOpen = true
      return store
    } catch (error) {
      await store.close()
      throw error
    }
  }

  private constructor(path: string, unlock: () => void, options: SqliteStoreOptions) {
    this.#path = path
    this.#unlock = unlock
    this.#file = statSync(path)
    this.#onFatal = options.onFatal
    this.#reader = openReader(path)
    this.#plants = new SqliteReader(path)
    this.#selectPlant = this.#reader.prepare('SELECT id, name, tag FROM plants WHERE id = ?')
    this.#selectToken = this.#reader.prepare('SELECT * FROM tokens WHERE hash = ?')
    this.#selectTokens = this.#reader.prepare('SELECT * FROM tokens ORDER BY created_at, id')
    const startWriter = options.startWriter ?? ((...args) => new PlacedWriter(...args))
    this.#writer = startWriter(path, (error) => this.#fail(error))
    this.#creates = new GroupCommit((rows) => this.#commitCreates(rows), {
      maxWaiting: options.maxWaiting,
      maxWeight: MAX_WAITING_TEXT,
      maxGroup: options.maxGroup ?? 1000,
      maxInFlight: GROUPS_IN_FLIGHT,
      weigh: ({ plant }) => plant.name.length + (plant.tag?.length ?? 0),
    })
    this.#changes = new GroupCommit((changes) => this.#commitChanges(changes), {
      maxWaiting: options.maxWaiting,
      maxWeight: MAX_WAITING_TEXT,
      maxGroup: options.maxGroup ?? 1000,
      maxInFlight: GROUPS_IN_FLIGHT,
      weigh: weightOf,
    })
    this.#presence = setInterval(() => this.#checkPresence(), PRESENCE_INTERVAL).unref()
  }

  createPlant(plant: NewPlant, { mustBeNew }: CreateOptions, answer: Answer<CreateResult>): void {
    if (this.#fatal !== undefined) answer(outOfReach(this.#fatal))
    else this.#creates.submit({ plant, mustBeNew }, answer)
  }

  getPlant(id: bigint, answer: Answer<NewPlant | undefined>): void {
    let plant: NewPlant | undefined
    try {
      const row = this.#read(() => this.#selectPlant.get(id))
      plant = row === undefined ? undefined : plantOf(row)
    } catch (error) {
      answer(error)
      return
    }
    answer(undefined, plant)
  }

  async replacePlant(plant: NewPlant, condition: Condition): Promise<ReplaceResult> {
    const changed = await this.#change({ kind: 'replace', plant, condition })
    return typeof changed === 'object' ? changed.result : neverDeleted()
  }

  async updatePlant(id: bigint, patch: PlantPatch, condition: Condition): Promise<NewPlant> {
    const changed = await this.#change({ kind: 'update', id, patch, condition })
    return typeof changed === 'object' ? changed.plant : neverDeleted()
  }

  async deletePlant(id: bigint, condition: Condition): Promise<void> {
    await this.#change({ kind: 'delete', id, condition })
  }

  async listPlants(query: PlantQuery, limit: number): Promise<NewPlant[]> {
    return this.#read(() => this.#plants.list(query, limit))
  }

  async listTags(after: string | undefined, limit: number): Promise<TagCount[]> {
    return this.#read(() => this.#plants.tags(after, limit))
  }

  async importPlants(plants: readonly NewPlant[], mode: ImportMode): Promise<ImportResult[]> {
    this.#mustBeOpen()
    const outcomes = await this.#writer.call('importPlants', flatten(plants), mode)
    return outcomes.map((outcome, i) => importResultOf(outcome, plants[i]?.id ?? 0n))
  }

  async tryImport(mode: ImportMode): Promise<ImportTrial> {
    const trial = this.#read(() => new SqliteTrial(this.#path, mode))
    this.#held.add(trial)
    return {
      tryPlants: async (plants) => this.#read(() => trial.try(plants)),
      close: async () => this.#release(trial),
    }
  }

  async *exportPlants(filter: PlantFilter, order: PlantOrder): AsyncIterable<readonly NewPlant[]> {
    const held = this.#read(() => new SqliteExport(this.#path, filter, order))
    this.#held.add(held)
    try {
      for (;;) {
        const page = this.#read(() => held.next())
        if (page.length === 0) return
        yield page
      }
    } finally {
      this.#release(held)
    }
  }

  async checkWritable(): Promise<void> {
    this.#mustBeOpen()
    this.#checkPresence()
    if (this.#fatal !== undefined) throw outOfReach(this.#fatal)
    await this.#writer.call('checkWritable', Date.now())
  }

  async createToken(token: Token, hash: Buffer): Promise<void> {
    this.#mustBeOpen()
    await this.#writer.call('createToken', {
      id: token.id,
      hash,
      name: token.name,
      scopes: token.scopes.join(' '),
      createdAt: token.createdAt.getTime(),
      expiresAt: token.expiresAt?.getTime() ?? null,
    })
  }

  async findToken(hash: Buffer): Promise<Token | undefined> {
    const row = this.#read(() => this.#selectToken.get(hash))
    return row === undefined ? undefined : tokenOf(row)
  }

  async listTokens(): Promise<Token[]> {
    return this.#read(() => this.#selectTokens.all()).map(tokenOf)
  }

  async touchToken(id: string, usedAt: Date): Promise<void> {
    this.#mustBeOpen()
    await this.#writer.call('touchToken', id, usedAt.getTime())
  }

  async revokeToken(id: string): Promise<boolean> {
    this.#mustBeOpen()
    return this.#writer.call('revokeToken', id)
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  /** Writes of single plants that wait for their commit, for the metrics. */
  get waiting(): number {
    return this.#creates.waiting + this.#changes.waiting
  }

  #mustBeOpen(): void {
    if (this.#closing !== undefined) throw new AppError(50303, 'the service is shutting down; nothing was done')
  }

  async #close(): Promise<void> {
    clearInterval(this.#presence)
    await Promise.all([this.#creates.close(), this.#changes.close()])
    // The writer goes last: whoever closes a database last folds its log into it, which a reader can't.
    for (const held of this.#held) this.#release(held)
    this.#plants.close()
    this.#reader.close()
    await this.#writer.close()
    this.#unlock()
  }

  async #commitCreates(rows: readonly CreateRow[]): Promise<(CreateResult | Error)[]> {
    const flat: CreateRows = []
    for (const { plant, mustBeNew } of rows) flat.push(plant.id, plant.name, plant.tag ?? null, mustBeNew)
    const outcomes = await this.#writer.call('createPlants', flat)
    return outcomes.map((outcome, i) => createResultOf(outcome, rows[i]?.plant.id ?? 0n))
  }

  async #commitChanges(changes: readonly PlantChange[]): Promise<(ChangeResult | Error)[]> {
    return (await this.#writer.call('changePlants', changes)).map(changeResultOf)
  }

  async #change(change: PlantChange): Promise<ChangeResult> {
    if (this.#fatal !== undefined) throw outOfReach(this.#fatal)
    return new Promise((resolve, reject) => {
      this.#changes.submit(change, (error, result) => {
        if (result === undefined) reject(error)
        else resolve(result)
      })
    })
  }

  #release(held: { close(): void }): void {
    this.#held.delete(held)
    held.close()
  }

  #read<T>(query: () => T): T {
    this.#mustBeOpen()
    try {
      return query()
    } catch (error) {
      const fault = sqliteFault(error)
      if (fault === undefined) throw error
      const appError = appErrorOf(fault)
      if (isFatal(fault)) this.#fail(appError)
      throw appError
    }
  }

  #checkPresence(): void {
    const now = statSync(this.#path, { throwIfNoEntry: false })
    if (now?.ino === this.#file.ino && now.dev === this.#file.dev) return
    this.#fail(new Error(`the file ${this.#path} was removed or replaced while it was in use`))
  }

  #fail(error: Error): void {
    if (this.#fatal !== undefined) return
    this.#fatal = error
    // While it is being opened, the opening itself throws.
    if (this.#isOpen) this.#onFatal(error)
  }
}

function migrateFile(path: string): void {
  const db = openWriter(path)
  try {
    migrate(db)
  } catch (error) {
    throw error instanceof OperatorError
      ? new OperatorError(`store ${path}: ${error.message}`, { cause: error })
      : error
  } finally {
    db.close()
  }
}

/** What the operator is told: the cause that SQLite names, in one line. */
function openingError(path: string, error: unknown): unknown {
  const reason = error instanceof AppError ? error.cause : error
  const fault = sqliteFault(reason)
  if (fault !== undefined)
    return new OperatorError(`store ${path}: ${fault.message} (SQLite ${fault.errcode})`, { cause: error })
  if (error instanceof AppError && reason instanceof Error)
    return new OperatorError(`store ${path}: ${reason.message}`, { cause: error })
  return error
}

function neverDeleted(): never {
  throw new Error('a plant that was to stay was deleted')
}

/** UTF-16 code units of the texts that a change brings. */
function weightOf(change: PlantChange): number {
  if (change.kind === 'delete') return 0
  const { name, tag } = change.kind === 'update' ? change.patch : change.plant
  return (name?.length ?? 0) + (tag?.length ?? 0)
}

function tokenOf(row: Record<string, unknown>): Token {
  const date = (value: unknown) => (value === null ? undefined : new Date(Number(value)))
  return {
    id: String(row['id']),
    name: String(row['name']),
    scopes: String(row['scopes']).split(' ') as Scope[],
    createdAt: new Date(Number(row['created_at'])),
    expiresAt: date(row['expires_at']),
    lastUsedAt: date(row['last_used_at']),
  }
}
