import { type Stats, statSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { AppError } from '../errors.ts'
import { GroupCommit } from '../group-commit.ts'
import { OperatorError } from '../operator-error.ts'
import type { NewPlant } from '../plant.ts'
import type { Answer, CreateOptions, CreateResult, Store } from '../store.ts'
import type { Scope, Token } from '../token.ts'
import { openReader, openWriter } from './connection.ts'
import { appErrorOf, isFatal, outOfReach, sqliteFault } from './errors.ts'
import { createStoreFile, migrate } from './migrate.ts'
import { preflight } from './preflight.ts'
import { takeServeLock } from './serve-lock.ts'
import { type CreateRows, OUTCOME, type RowOutcome } from './writer.ts'
import { WriterClient, type WriterPort } from './writer-client.ts'

export interface SqliteStoreOptions {
  readonly maxWaiting: number
  /** Creates in one commit; 1 gives each its own. */
  readonly maxGroup?: number
  /** Hold the lock that keeps a second server away from the file. */
  readonly serving: boolean
  /** Make the store where there is none. */
  readonly create: boolean
  /** Where the writer runs: in a thread of its own, if nothing else is said. */
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
    this.#selectToken = this.#reader.prepare('SELECT * FROM tokens WHERE hash = ?')
    this.#selectTokens = this.#reader.prepare('SELECT * FROM tokens ORDER BY created_at, id')
    const startWriter = options.startWriter ?? ((...args) => new WriterClient(...args))
    this.#writer = startWriter(path, (error) => this.#fail(error))
    this.#creates = new GroupCommit((rows) => this.#commitCreates(rows), {
      maxWaiting: options.maxWaiting,
      maxWeight: MAX_WAITING_TEXT,
      maxGroup: options.maxGroup ?? 1000,
      maxInFlight: GROUPS_IN_FLIGHT,
      weigh: ({ plant }) => plant.name.length + (plant.tag?.length ?? 0),
    })
    this.#presence = setInterval(() => this.#checkPresence(), PRESENCE_INTERVAL).unref()
  }

  createPlant(plant: NewPlant, { mustBeNew }: CreateOptions, answer: Answer<CreateResult>): void {
    if (this.#fatal !== undefined) answer(outOfReach(this.#fatal))
    else this.#creates.submit({ plant, mustBeNew }, answer)
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

  /** Creates that wait for their commit, for the metrics. */
  get waiting(): number {
    return this.#creates.waiting
  }

  #mustBeOpen(): void {
    if (this.#closing !== undefined) throw new AppError(50303, 'the service is shutting down; nothing was done')
  }

  async #close(): Promise<void> {
    clearInterval(this.#presence)
    await this.#creates.close()
    // The writer goes last: whoever closes a database last folds its log into it, which a reader can't.
    this.#reader.close()
    await this.#writer.close()
    this.#unlock()
  }

  async #commitCreates(rows: readonly CreateRow[]): Promise<(CreateResult | Error)[]> {
    const flat: CreateRows = []
    for (const { plant, mustBeNew } of rows) flat.push(plant.id, plant.name, plant.tag ?? null, mustBeNew)
    const outcomes = await this.#writer.call('createPlants', flat)
    return outcomes.map((outcome, i) => resultOf(outcome, rows[i]?.plant.id))
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

function resultOf(outcome: RowOutcome, id: bigint | undefined): CreateResult | Error {
  switch (outcome) {
    case OUTCOME.created:
      return 'created'
    case OUTCOME.unchanged:
      return 'unchanged'
    case OUTCOME.conflict:
      return new AppError(40901, `the id ${id} belongs to a different plant; nothing was changed`)
    case OUTCOME.exists:
      return new AppError(41201, `a plant with the id ${id} exists (If-None-Match: *); nothing was changed`)
    default:
      return appErrorOf(outcome)
  }
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
