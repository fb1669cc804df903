import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { OperatorError } from '../base/operator-error.ts'
import { printable } from '../base/printable.ts'
import type { DistributeOptions } from '../citus/distribute.ts'
import type { Store } from '../domain/store.ts'
import { isActive } from '../domain/token.ts'
import type { StoreBytes, StoreStatus, Upkeep } from '../domain/upkeep.ts'
import type { ServedStore } from '../http/metrics/service-metrics.ts'
import type { PostgresStoreOptions } from '../postgres/store.ts'
import { type StoreAddress, shownStore } from '../settings/config.ts'
import type { SqliteStoreOptions } from '../sqlite/store.ts'

/** The options of both engines. Each of them ignores those of the other. */
interface OpenOptions
  extends Omit<PostgresStoreOptions, 'history' | 'retention'>,
    Pick<SqliteStoreOptions, 'serving' | 'changesKeepSize' | 'onFatal'> {
  /** Milliseconds for which the log of changes keeps old changes; undefined for a command, which keeps what there is. */
  readonly changesKeep?: number
}

/** Opens a store by its address. Only this module knows the engines, and it loads only the engine of the address. */
export async function openStore(address: StoreAddress, { changesKeep, ...options }: OpenOptions): Promise<ServedStore> {
  if (address.engine === 'postgres') {
    if (address.isDistributed) {
      const { CitusStore } = await import('../citus/store.ts')
      if (changesKeep !== undefined && changesKeep > 0) options.onNotice(WITHOUT_CHANGES)
      return CitusStore.open(address, options)
    }
    const { PostgresStore } = await import('../postgres/store.ts')
    const history = changesKeep === undefined ? {} : historyOf(changesKeep, options.changesKeepSize)
    return PostgresStore.open(address, { ...options, ...history })
  }
  if (options.create && address.isDefault) mkdirSync(dirname(address.path), { recursive: true, mode: 0o700 })
  const { SqliteStore } = await import('../sqlite/store.ts')
  return SqliteStore.open(address.path, { ...options, changesKeep: changesKeep ?? 0 })
}

const WITHOUT_CHANGES =
  'Citus distributes the store over several servers, so it has no log of changes: no feed, no history of a plant, no ' +
  'webhooks; with --changes-keep 0s, this notice stays away'

const historyOf = (
  keep: number,
  keepSize = Number.MAX_SAFE_INTEGER,
): Pick<PostgresStoreOptions, 'history' | 'retention'> =>
  keep === 0 ? { history: 'end' } : { history: 'keep', retention: { keep, keepSize } }

const sqliteFiles = () => import('../sqlite/upkeep/status.ts')

/** Returns the long operations on the store as a whole. Those of a PostgreSQL store refuse, and name its own tool. */
export async function upkeepOf(address: StoreAddress): Promise<Upkeep> {
  if (address.engine === 'sqlite') return (await sqliteFiles()).sqliteUpkeep(address.path)
  const refuse = (what: string, instead: string): Promise<never> => {
    const why = `${what} is for stores in a SQLite file; ${instead} (docs/guides/backup-and-restore.md says how)`
    return Promise.reject(new OperatorError(why, { exitCode: 2 }))
  }
  return {
    backup: () => refuse('plantstore backup', 'back up a PostgreSQL store by pg_dump'),
    restore: () => refuse('plantstore restore', 'restore a PostgreSQL store by pg_restore'),
    check: () => refuse('plantstore check', 'check a PostgreSQL store by pg_amcheck'),
  }
}

/** Returns the identity of the SQLite store in a file, also of a backup; undefined for a file without one. */
export const identityOf = async (path: string): Promise<string | undefined> => (await sqliteFiles()).identityOf(path)

/** Returns a function that reads the sizes of a store's files; undefined for a store in a database. */
export async function bytesOf(address: StoreAddress): Promise<(() => StoreBytes) | undefined> {
  if (address.engine !== 'sqlite') return undefined
  const files = await sqliteFiles()
  return () => files.bytesOf(address.path)
}

export async function statusOf(address: StoreAddress): Promise<StoreStatus> {
  if (address.engine === 'sqlite') return (await sqliteFiles()).statusOf(address.path)
  return withStore(address, { create: false }, async (store) => {
    const tokens = (await store.tokens.listTokens()).filter((token) => isActive(token, Date.now())).length
    return { store: shownStore(address), engine: 'postgres', plants: await store.countPlants(), tokens }
  })
}

export async function distributeStore(address: StoreAddress, options: DistributeOptions): Promise<void> {
  if (address.engine !== 'postgres') {
    const message = `the store ${shownStore(address)} is a file; only a store in PostgreSQL can be distributed`
    throw new OperatorError(`${message}. "plantstore copy" moves it there`)
  }
  const { distribute } = await import('../citus/distribute.ts')
  await distribute(address, options)
}

/** Options for a command, which makes one request at a time. */
const FOR_COMMAND = { serving: false, maxWaiting: 1, connections: 4, timeout: 60_000, retryTime: 0 } as const

interface WithStoreOptions {
  /** Whether to create the store if it does not exist, with a notice unless `quiet`. */
  readonly create: boolean
  readonly quiet?: boolean
  /** Whether the work reads the log of changes of a store in a file. */
  readonly hasLog?: boolean
  /** Called with a message for the operator. By default, standard error shows it. */
  readonly onNotice?: (text: string) => void
}

/** Opens a store for one command, even while a service serves it, and closes it after the work. */
export async function withStore<T>(
  address: StoreAddress,
  { create, quiet = false, hasLog = false, onNotice = toStandardError }: WithStoreOptions,
  work: (store: Store) => Promise<T>,
): Promise<T> {
  const onMade = () => {
    if (!quiet) onNotice(`created a new store at ${shownStore(address)}`)
  }
  // No command removes anything from the log, however short a time it names.
  const log = hasLog && address.engine === 'sqlite' ? { changesKeep: 1 } : {}
  const store = await openStore(address, { ...FOR_COMMAND, ...log, create, onFatal: () => {}, onMade, onNotice })
  try {
    return await work(store)
  } finally {
    await store.close()
  }
}

const toStandardError = (text: string): void => void process.stderr.write(`plantstore: ${printable(text)}\n`)
