import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import type { WriteStats } from '../commit-stats.ts'
import { type StoreAddress, shownStore } from '../config.ts'
import { OperatorError } from '../operator-error.ts'
import type { DistributeOptions } from '../postgres/sharding/distribute.ts'
import { printable } from '../printable.ts'
import type { Store } from '../store.ts'
import type { StorePool } from '../store-pool.ts'
import type { Token } from '../token.ts'
import type { StoreBytes, StoreStatus, Upkeep } from '../upkeep.ts'

export interface OpenOptions {
  /** Opens the store for a service, which locks out a second one. */
  readonly serving: boolean
  /** Creates the store where there is none. */
  readonly create: boolean
  readonly maxWaiting: number
  readonly maxDelay?: number
  readonly connections: number
  readonly searchConnections?: number | undefined
  readonly longConnections?: number | undefined
  /** Milliseconds. */
  readonly timeout: number
  readonly wait: number
  readonly changesKeep?: number
  /** Called once when the store can't go on until a restart. */
  readonly onFatal: (error: Error) => void
  /** Called when it has created the store. */
  readonly onMade: () => void
  /** Called with what the operator should know but need not act on at once. */
  readonly onNotice: (text: string) => void
}

export interface OpenStore extends Store {
  /** Writes that wait for their commit. */
  readonly waiting: number
  readonly writes: WriteStats
  /** Changes that the search index does not have yet; absent where each write updates it. */
  readonly indexBehind?: number
  /** Absent for an engine without connections. */
  readonly pool?: StorePool
  /** The reachable part of a sharded store; undefined while it is not sharded. Absent for an engine without shards. */
  readonly shardState?: { readonly shards: number; readonly outOfReach: number } | undefined
}

/**
 * Opens a store by its address. Only this module knows which engine the address means, and it loads no other engine.
 *
 * @throws OperatorError when it can't be opened
 */
export async function openStore(address: StoreAddress, options: OpenOptions): Promise<OpenStore> {
  const { serving, create, maxWaiting, connections, timeout, wait, onFatal, onMade, onNotice } = options
  const { searchConnections, longConnections, changesKeep = 0, maxDelay = Number.POSITIVE_INFINITY } = options
  if (address.engine === 'postgres') {
    const { PostgresStore } = await import('../postgres/store.ts')
    return PostgresStore.open(address, {
      create,
      maxWaiting,
      maxDelay,
      connections,
      searchConnections,
      longConnections,
      timeout,
      retryTime: wait,
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
    changesKeep,
    onFatal,
    onMade,
    onNotice,
  })
}

/** The operations on the store as a whole. Opens and creates nothing yet. */
export async function upkeepOf(address: StoreAddress): Promise<Pick<Upkeep, 'backup' | 'restore' | 'check'>> {
  if (address.engine === 'postgres') return (await import('../postgres/upkeep.ts')).postgresUpkeep
  const { sqliteUpkeep } = await import('../sqlite/upkeep/upkeep.ts')
  return sqliteUpkeep(address.path)
}

/** Reports what a store holds. A service may serve it meanwhile. */
export async function statusOf(address: StoreAddress): Promise<StoreStatus> {
  if (address.engine === 'sqlite') {
    const { sqliteUpkeep } = await import('../sqlite/upkeep/upkeep.ts')
    return sqliteUpkeep(address.path).status()
  }
  return withStore(address, { create: false }, async (store) => {
    const isActive = ({ revokedAt, expiresAt }: Token) =>
      revokedAt === undefined && (expiresAt === undefined || expiresAt.getTime() > Date.now())
    const tokens = (await store.tokens.listTokens()).filter(isActive).length
    const plants = await store.countPlants()
    const unknown = { bytes: undefined, schema: undefined, index: undefined, isServed: undefined }
    return { store: shownStore(address), engine: 'postgres', plants, tokens, ...unknown }
  })
}

/** The sizes of the files of a store; undefined where a database keeps them. */
export async function bytesOf(address: StoreAddress): Promise<(() => StoreBytes) | undefined> {
  if (address.engine === 'postgres') return undefined
  const { sqliteUpkeep } = await import('../sqlite/upkeep/upkeep.ts')
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

/** Options of a command, which does one thing at a time while a person waits. */
const FOR_COMMAND = { serving: false, maxWaiting: 1, connections: 4, timeout: 60_000, wait: 0 } as const

export interface WithStoreOptions {
  /** Creates the store where there is none, and says so unless `quiet`. */
  readonly create: boolean
  readonly quiet?: boolean
  /** Called with what the operator should know. By default, prints it on standard error. */
  readonly onNotice?: (text: string) => void
}

/**
 * Opens a store for one command, also while a service serves it, and closes it when the work is done.
 *
 * @throws OperatorError when it can't be opened
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
