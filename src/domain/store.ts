import type { ActionLog } from './actions.ts'
import type { ChangeLog } from './changes.ts'
import type { IdStore } from './id-store.ts'
import type { Part } from './part.ts'
import type {
  ChangeOutcome,
  CreateOptions,
  CreateResult,
  ImportedPlant,
  ImportMode,
  ImportResult,
  NewPlant,
  PlantChange,
} from './plant.ts'
import type { PlantFilter, PlantOrder, PlantQuery, TagQuery } from './plant-query.ts'
import type { Actor, TokenStore } from './token.ts'
import type { WebhookStore } from './webhook-store.ts'

export interface TagCount {
  readonly tag: string
  readonly plants: number
}

/** An import that stores nothing, and gives each plant the result that a real import would give it. */
export interface DryRun {
  /** Later calls see the plants of earlier ones as if the store had them. Results are in the order of the plants. */
  importPlants(plants: readonly ImportedPlant[]): Promise<ImportResult[]>

  /** Yields all plants of the store by id, without those of the dry run. Like Store.exportPlants otherwise. */
  storedPlants(signal?: AbortSignal): AsyncIterable<readonly NewPlant[]>

  /** Releases what the dry run holds. A second call does nothing. */
  close(): Promise<void>
}

/**
 * The record of all plants and access tokens. These comments are the specification for every engine; each runs the same
 * test suite (test/store-suite.ts).
 *
 * The promise of a write resolves only once the write is on stable storage. Any method may throw AppError 50301 (out of
 * reach; a write may or may not have been done), and every write 50304 (no space; nothing was done) and 50303 (the
 * store is closing; nothing was done).
 *
 * Every write of plants names its actor. An engine with a log of changes stores the actor's id with the change, and its
 * action. It refuses a write with 40907 whose action is another token's. Each write keeps to the actor's part, as
 * `decidePut`, `decideChange` and `decideUndo` do with it.
 */
export interface Store {
  /** The access tokens. They share the store's file or database, and its state. */
  readonly tokens: TokenStore

  readonly ids: IdStore

  readonly webhooks: WebhookStore

  /** The log of changes of plants; absent while it is switched off. */
  readonly changes?: ChangeLog | undefined

  /** What was done together in the log of changes; absent where the log is. */
  readonly actions?: ActionLog | undefined

  /** The connections that reads and writes share, where their number is bounded. */
  readonly pool?: StorePool

  /**
   * Puts the plant if its id is absent. An equal plant under the id stays. Resolves after the commit that holds the
   * plant.
   *
   * @throws AppError 40901 when the id belongs to a plant with another name or tag, 41201 when `mustBeNew` and the id
   *   exists; nothing changes. 50302 when too many creates are waiting; nothing is done
   */
  createPlant(plant: NewPlant, options: CreateOptions, actor: Actor): Promise<CreateResult>

  /**
   * Returns the plant with this id; undefined when there is none. It sees every write that was answered before. Several
   * calls may get the same object, which never changes.
   *
   * @param caller a caller that is over before its turn drops the read, and the call rejects
   */
  getPlant(id: bigint, caller?: LazySignal): Promise<NewPlant | undefined>

  /**
   * Replaces, updates or deletes a plant. A replace puts a plant whose id is absent. Concurrent updates of different
   * parts are both kept. Resolves after the commit.
   *
   * @throws AppError 40402 when an update or a delete finds no plant; 41201 when the expectation does not hold; nothing
   *   changes
   */
  changePlant(change: PlantChange, actor: Actor): Promise<ChangeOutcome>

  /**
   * Returns at most `limit` plants of the query, in its order, from its position on, from one snapshot. It sees every
   * write that was answered before the call. Calls with the same query and limit may get the same array, which
   * never changes.
   *
   * @param caller ends the search early: the call rejects with the signal's reason, and frees what it holds within a
   *   second
   * @throws AppError 50301 also while an index that the query needs is being built, but never for a list by id without
   *   a filter
   */
  listPlants(query: PlantQuery, limit: number, caller?: LazySignal): Promise<readonly NewPlant[]>

  /**
   * Counts the plants of a filter; with words at most `max`, because each of these is looked at. Sees writes, throws and
   * ends early as listPlants does.
   */
  countMatches(filter: PlantFilter, max: number, signal?: AbortSignal): Promise<number>

  /**
   * Returns the first `limit` tags of a query in the order of code points. Sees writes, throws and ends early as
   * listPlants does.
   */
  listTags(query: TagQuery, limit: number, signal?: AbortSignal): Promise<TagCount[]>

  /**
   * Puts many plants with one commit, in their order, so that a later plant sees the earlier ones. Results are in the
   * same order. Rejects as a whole, with nothing stored, only by 50301, 50303 and 50304. Plants beside one
   * that the engine refuses, and parts that an engine stores apart, may have commits of their own, of which some may be
   * done when it rejects.
   */
  importPlants(plants: readonly ImportedPlant[], mode: ImportMode, actor: Actor): Promise<ImportResult[]>

  /**
   * Renews what searches rely on, if the imports since the last call have put many plants. Call it after the last batch
   * of an import. Reads and writes go on meanwhile. Never rejects.
   */
  afterImport(): Promise<void>

  /** @param part that of the actor, as an import would have it */
  startDryRun(mode: ImportMode, part?: Part): Promise<DryRun>

  /**
   * Yields all plants of the filter, in the order, in chunks of up to about a thousand. They come from one snapshot,
   * taken at the first chunk. Writes go on meanwhile, unseen and without waiting. Takes the same memory for any number
   * of plants. Leaving the iteration early frees what it holds.
   *
   * @param signal ends the chunk under way early: the iteration throws the signal's reason, and frees what it holds
   *   within a second
   * @param onPosition called before the first chunk with the position of the snapshot in the log of changes: entries
   *   after it are exactly the changes that the export lacks. Not called while the log is switched off
   * @throws AppError 50301 as listPlants does, before the first chunk
   */
  exportPlants(
    filter: PlantFilter,
    order: PlantOrder,
    signal?: AbortSignal,
    onPosition?: (position: string) => void,
  ): AsyncIterable<readonly NewPlant[]>

  /** Counts the plants, by a read of all of them. Writes go on meanwhile. */
  countPlants(): Promise<number>

  /** Resolves after a committed write. Readiness depends on it. */
  checkWritable(): Promise<void>

  /**
   * Resolves when the store has all that a search needs, such as a file descriptor, even while it is busy with other
   * searches. Readiness depends on it.
   *
   * @throws AppError 50301 when the store lacks something
   */
  checkSearchable(): Promise<void>

  /**
   * Finishes the waiting writes, then frees everything. A second call does nothing.
   *
   * @param within milliseconds for a call under way that a crash may cut off too; without them, it ends by itself
   * @throws NotEnded when such a call has not ended in this time
   */
  close(within?: number): Promise<void>
}

/** The use of a store's connections by one kind of work. */
export interface PoolUse {
  /** Connections that it may now use at once. */
  readonly max: number
  readonly used: number
  /** Statements that wait for a connection. */
  readonly waiting: number
  /** Statements that got none in time. */
  readonly refused: number
}

export interface StorePool {
  /** `all`: all kinds of work together. */
  readonly uses: Readonly<Record<'all' | 'search' | 'import' | 'long', PoolUse>>
}

/** An AbortSignal that its owner creates only when its work uses it. */
export interface LazySignal {
  /** Whether the caller no longer waits. */
  readonly isOver: boolean
  /** Aborts when the caller no longer waits. The first use creates it, which costs as much as the rest of a short page. */
  readonly signal: AbortSignal
}

export const lazySignalOf = (signal: AbortSignal): LazySignal => ({
  signal,
  get isOver() {
    return signal.aborted
  },
})

/** Settles like the work, or rejects with the signal's reason once the signal aborts. It does not end the work. */
export function abortable<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return work
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason)
    if (signal.aborted) abort()
    else signal.addEventListener('abort', abort, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  })
}
