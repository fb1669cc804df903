import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import type { WriteStats } from '../base/group-commit.ts'
import { OperatorError } from '../base/operator-error.ts'
import { printable } from '../base/printable.ts'
import type { Store, StorePool } from '../domain/store.ts'
import type { Token } from '../domain/token.ts'
import type { StoreBytes, StoreStatus, Upkeep } from '../domain/upkeep.ts'
import type { DistributeOptions } from '../postgres/sharding/distribute.ts'
import type { PostgresStoreOptions } from '../postgres/store.ts'
import { type ChangesKeep, DEFAULT_CHANGES_KEEP, type StoreAddress, shownStore } from '../settings/config.ts'

interface OpenOptions {
  /** Whether a service opens the store, which locks out a second service. */
  readonly serving: boolean
  /** Whether to create the store if it does not exist. */
  readonly create: boolean
  readonly maxWaiting: number
  readonly maxDelay?: number
  readonly connections: number
  /** Milliseconds that a request may take. */
  readonly timeout: number
  /** Milliseconds to wait for a database that can not be reached. */
  readonly wait: number
  /** Milliseconds for which the log of changes keeps old changes; undefined for a command, which keeps what there is. */
  readonly changesKeep?: ChangesKeep
  /** Bytes of the log of changes. */
  readonly changesKeepSize?: number
  /** Called once when the store can't continue. Only a restart helps. */
  readonly onFatal: (error: Error) => void
  /** Called after the store was created. */
  readonly onMade: () => void
  /** Called with a message for the operator, who need not act on it at once. */
  readonly onNotice: (text: string) => void
}

export interface OpenStore extends Store {
  readonly writes: WriteStats
  /** The number of changes that the search index lacks; absent for an engine whose writes update the index. */
  readonly indexBehind?: number
  /** The use of the pool; absent for an engine without one. */
  readonly pool?: StorePool
  /** The reachable part of a sharded store; undefined while it is not sharded. Absent for an engine without shards. */
  readonly shardState?: { readonly shards: number; readonly outOfReach: number } | undefined
}

/**
 * Opens a store by its address. Only this module knows the engines, and it loads only the engine of the address.
 *
 * @throws OperatorError when the store can't be opened
 */
export async function openStore(address: StoreAddress, options: OpenOptions): Promise<OpenStore> {
  const { serving, create, maxWaiting, connections, timeout, wait, onFatal, onMade, onNotice } = options
  const { changesKeep, changesKeepSize, maxDelay = Number.POSITIVE_INFINITY } = options
  if (address.engine === 'postgres') {
    const { PostgresStore } = await import('../postgres/store.ts')
    return PostgresStore.open(address, {
      create,
      maxWaiting,
      maxDelay,
      connections,
      timeout,
      retryTime: wait,
      ...(changesKeep === undefined ? {} : postgresLog(changesKeep, changesKeepSize)),
      onMade,
      onNotice,
    })
  }
  if (create && address.isDefault) mkdirSync(dirname(address.path), { recursive: true, mode: 0o700 })
  const { SqliteStore } = await import('../sqlite/store.ts')
  return SqliteStore.open(address.path, {
    serving,
    create,
    maxWaiting,
    maxDelay,
    changesKeep: changesKeep === 'auto' ? DEFAULT_CHANGES_KEEP : (changesKeep ?? 0),
    ...(changesKeepSize === undefined ? {} : { changesKeepSize }),
    onFatal,
    onMade,
    onNotice,
  })
}

const postgresLog = (
  keep: ChangesKeep,
  keepSize = Number.MAX_SAFE_INTEGER,
): Pick<PostgresStoreOptions, 'history' | 'retention'> => {
  if (keep === 0) return { history: 'end' }
  if (keep === 'auto') return { history: 'auto', retention: { keep: DEFAULT_CHANGES_KEEP, keepSize } }
  return { history: 'keep', retention: { keep, keepSize } }
}

/** Returns the operations on the store as a whole. It opens and creates nothing yet. */
export async function upkeepOf(address: StoreAddress): Promise<Pick<Upkeep, 'backup' | 'restore' | 'check'>> {
  if (address.engine === 'postgres') return (await import('../postgres/upkeep.ts')).postgresUpkeep
  const { sqliteUpkeep } = await import('../sqlite/upkeep/status.ts')
  return sqliteUpkeep(address.path)
}

/** Reports the content of a store, even while a service serves it. */
export async function statusOf(address: StoreAddress): Promise<StoreStatus> {
  if (address.engine === 'sqlite') {
    const { sqliteUpkeep } = await import('../sqlite/upkeep/status.ts')
    return sqliteUpkeep(address.path).status()
  }
  return withStore(address, { create: false }, async (store) => {
    const isActive = ({ revokedAt, expiresAt }: Token) =>
      revokedAt === undefined && (expiresAt === undefined || expiresAt.getTime() > Date.now())
    const tokens = (await store.tokens.listTokens()).filter(isActive).length
    const plants = await store.countPlants()
    return { store: shownStore(address), engine: 'postgres', plants, tokens, ...UNKNOWN }
  })
}

/** What only the files of a SQLite store tell. */
const UNKNOWN = {
  bytes: undefined,
  schema: undefined,
  nextSchema: undefined,
  identity: undefined,
  index: undefined,
  isServed: undefined,
} as const satisfies Partial<StoreStatus>

/** Returns the identity of the SQLite store in a file, also of a backup; undefined for a file without one. */
export async function identityOf(path: string): Promise<string | undefined> {
  const { sqliteUpkeep } = await import('../sqlite/upkeep/status.ts')
  return sqliteUpkeep(path).identity()
}

/** Returns a function that reads the sizes of a store's files; undefined for a store in a database. */
export async function bytesOf(address: StoreAddress): Promise<(() => StoreBytes) | undefined> {
  if (address.engine === 'postgres') return undefined
  const { sqliteUpkeep } = await import('../sqlite/upkeep/status.ts')
  return sqliteUpkeep(address.path).bytes
}

/**
 * Distributes a PostgreSQL store over several servers.
 *
 * @throws OperatorError when the store can't be distributed
 */
export async function distributeStore(address: StoreAddress, options: DistributeOptions): Promise<void> {
  if (address.engine !== 'postgres') {
    const message = `the store ${shownStore(address)} is a file; only a store in PostgreSQL can be distributed`
    throw new OperatorError(`${message}. "plantstore copy" moves it there`)
  }
  const { distribute } = await import('../postgres/sharding/distribute.ts')
  await distribute(address, options)
}

/** Options for a command, which makes one request at a time. */
const FOR_COMMAND = { serving: false, maxWaiting: 1, connections: 4, timeout: 60_000, wait: 0 } as const

interface WithStoreOptions {
  /** Whether to create the store if it does not exist, with a notice unless `quiet`. */
  readonly create: boolean
  readonly quiet?: boolean
  /** Called with a message for the operator. By default, standard error shows it. */
  readonly onNotice?: (text: string) => void
}

/**
 * Opens a store for one command, even while a service serves it, and closes it after the work.
 *
 * @throws OperatorError when the store can't be opened
 */
export async function withStore<T>(
  address: StoreAddress,
  { create, quiet = false, onNotice = toStandardError }: WithStoreOptions,
  work: (store: Store) => Promise<T>,
): Promise<T> {
  const onMade = () => {
    if (!quiet) onNotice(`created a new store at ${shownStore(address)}`)
  }
  const store = await openStore(address, { ...FOR_COMMAND, create, onFatal: () => {}, onMade, onNotice })
  try {
    return await work(store)
  } finally {
    await store.close()
  }
}

const toStandardError = (text: string): void => void process.stderr.write(`plantstore: ${printable(text)}\n`)
