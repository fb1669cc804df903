import type { Action, ActionQuery, UndoStep } from '../../domain/actions.ts'
import type {
  ChangeEntry,
  ChangeLogUse,
  ChangePage,
  ChangeRequest,
  NewestPage,
  NewestRequest,
} from '../../domain/changes.ts'
import type { Part } from '../../domain/part.ts'
import type { ImportMode, NewPlant, PutOutcome } from '../../domain/plant.ts'
import {
  hasFilter,
  isByName,
  isDescending,
  type PlantFilter,
  type PlantOrder,
  type PlantQuery,
  positionOf,
  type TagQuery,
} from '../../domain/plant-query.ts'
import type { TagCount } from '../../domain/store.ts'
import { getAction, listActions, undoStep } from '../change-log/action-reader.ts'
import { UnreadyIndex } from '../indexed.ts'
import { columnsOf, type PlantColumns } from '../rows.ts'
import { IndexFault } from '../search-index/index-file.ts'
import { LOOKED_UP_WORK } from '../search-index/index-throttle.ts'
import type { Task } from '../worker/cooperative.ts'
import type { Served } from '../worker/protocol.ts'
import { SqliteDryRun } from './dry-run.ts'
import { addTo, type Content, needsIndex, Snapshot, type Unindexed } from './snapshot.ts'

/** Plants of one message of an export. */
const CHUNK = 1000
/** Maximum number of idle connections. */
const MAX_IDLE = 4

/**
 * The work of the index for the plants that a read looks up once it has waited long, as the index may be making no
 * progress, and that a search by id looks at while a scan fills the index.
 */
const MAX_LOOKED_UP_WORK = 4 * LOOKED_UP_WORK
/** The same that an import of another process may be ahead of the index. */
const WORK_AHEAD = LOOKED_UP_WORK / 3

interface Export {
  readonly snapshot: Snapshot
  readonly query: PlantFilter & { readonly order: PlantOrder }
  /** Undefined for an export by id. */
  readonly unindexed: Unindexed | undefined
  /** The plants of an export by id that are left, and perhaps others; undefined for one that looks at all plants. */
  left: BigInt64Array | undefined
  /** The plants so far of an export by name, which the index finds. */
  readonly exported: Content
  after: PlantQuery['after']
}

/** Runs the long reads as tasks. Each task has a connection of its own. */
export class QueryReader implements Served {
  readonly #path: string
  readonly #idle: Snapshot[] = []
  readonly #exports = new Map<number, Export>()
  readonly #dryRuns = new Map<number, SqliteDryRun>()
  #handle = 0

  constructor(path: string) {
    this.#path = path
  }

  /** @param isLate whether this read has waited long for the index; likewise below */
  listPlants(query: PlantQuery, limit: number, isLate: boolean): Task<PlantColumns> {
    return this.#task(needsIndex(query, query.order), function* (snapshot) {
      return columnsOf(yield* pageOf(snapshot, query, limit, isLate))
    })
  }

  listTags(query: TagQuery, limit: number, isLate: boolean): Task<TagCount[]> {
    return this.#task(true, (snapshot) => snapshot.tags(query, limit, unindexedIn(snapshot, isLate)))
  }

  countMatches(filter: PlantFilter, max: number, isLate: boolean): Task<number> {
    return this.#task(true, function* (snapshot) {
      if (filter.words.length === 0) return yield* snapshot.count(filter, unindexedIn(snapshot, isLate))
      return (yield* pageOf(snapshot, { ...filter, order: 'id', after: undefined }, max, isLate)).length
    })
  }

  /**
   * Whether an import of another process may go on: the index is not far behind. An index that is missing or being built
   * takes too long to wait for.
   */
  isIndexNear(): boolean {
    try {
      return this.#at((snapshot) => snapshot.isFilling || snapshot.unindexed(WORK_AHEAD) !== undefined, true)
    } catch (error) {
      if (error instanceof UnreadyIndex) return false
      throw error
    }
  }

  /**
   * Begins an export. Its transaction stays open until `closeExport`.
   *
   * An export must not lack a plant that a damaged index hides. So one by id has the index prove that it hides none, or
   * looks at all plants, and one by name compares its content with the store at its end.
   *
   * @param handle chosen by the caller, for `readExport` and `closeExport`
   * @param isRetry whether the index has failed before: an export by id then does without it
   * @returns the position of the transaction in the log of changes
   */
  *openExport(handle: number, filter: PlantFilter, order: PlantOrder, isLate: boolean, isRetry: boolean): Task<string> {
    const isIndexed = isByName(order) || (hasFilter(filter) && !isRetry)
    const snapshot = this.#begin(isIndexed)
    try {
      const unindexed = isByName(order) ? unindexedIn(snapshot, isLate) : undefined
      const left = isIndexed && !isByName(order) ? yield* snapshot.proven(filter) : undefined
      if (!isByName(order)) snapshot.leaveIndex()
      if (isDescending(order)) left?.reverse()
      const exported = { plants: 0, ids: 0n }
      this.#exports.set(handle, { snapshot, query: { ...filter, order }, unindexed, left, exported, after: undefined })
      return snapshot.feed.end()
    } catch (error) {
      throw snapshot.faultOf(error)
    } finally {
      if (!this.#exports.has(handle)) this.#end(snapshot)
    }
  }

  /** Returns the next chunk; an empty one at the end. */
  *readExport(handle: number): Task<PlantColumns> {
    const current = mustBeOpen(this.#exports.get(handle))
    const { snapshot, query, after, unindexed, left } = current
    try {
      const next = { ...query, after }
      if (left !== undefined) return columnsOf(yield* nextOf(current, left))
      const chunk = yield* unindexed ? snapshot.list(next, CHUNK, unindexed) : snapshot.scan(next, CHUNK)
      const last = chunk.at(-1)
      if (last !== undefined) current.after = positionOf(query.order, last)
      if (isByName(query.order)) yield* verify(current, chunk)
      return columnsOf(chunk)
    } catch (error) {
      throw snapshot.faultOf(error)
    }
  }

  /** Does nothing for an export that is not open. */
  closeExport(handle: number): void {
    const closed = this.#exports.get(handle)
    this.#exports.delete(handle)
    if (closed !== undefined) this.#end(closed.snapshot)
  }

  readChanges(request: ChangeRequest): Task<ChangePage> {
    return this.#task(false, ({ feed }) => feed.read(request))
  }

  history(id: bigint, before: string | undefined, limit: number): ChangeEntry[] {
    return this.#at(({ feed }) => feed.history(id, before, limit))
  }

  newestChanges(request: NewestRequest): Task<NewestPage> {
    return this.#task(false, ({ feed }) => feed.newest(request))
  }

  endOfChanges(): string {
    return this.#at(({ feed }) => feed.end())
  }

  usageOfChanges(): ChangeLogUse {
    return this.#at(({ feed }) => feed.usage())
  }

  listActions(query: ActionQuery, limit: number): readonly Action[] {
    return this.#at(({ statements }) => listActions(statements, query, limit))
  }

  getAction(id: string): Action | undefined {
    return this.#at(({ statements }) => getAction(statements, id))
  }

  /** Makes a step of the dry run of an undo. */
  tryUndo(action: string, from: string | undefined, part: Part | undefined): UndoStep {
    return this.#at(({ statements }) => undoStep(statements, { action, undo: undefined, from, part }))
  }

  forgetIndex(): void {
    for (const snapshot of this.#idle) snapshot.forgetIndex()
  }

  /** Makes a small read. On a new connection, SQLite opens the WAL with it, which takes file descriptors. */
  check(): void {
    this.#at((snapshot) => snapshot.check(), true)
  }

  countPlants(): Task<number> {
    return this.#task(false, (snapshot) => snapshot.countPlants())
  }

  openDryRun(mode: ImportMode, part: Part | undefined): number {
    this.#dryRuns.set(++this.#handle, new SqliteDryRun(this.#path, mode, part))
    return this.#handle
  }

  dryRunPlants(handle: number, plants: PlantColumns): Task<PutOutcome[]> {
    return mustBeOpen(this.#dryRuns.get(handle)).importPlants(plants)
  }

  closeDryRun(handle: number): void {
    this.#dryRuns.get(handle)?.close()
    this.#dryRuns.delete(handle)
  }

  /** Closes all connections, including those of exports and dry runs. */
  close(): void {
    const connections = [...this.#idle, ...this.#dryRuns.values()]
    for (const { snapshot } of this.#exports.values()) connections.push(snapshot)
    for (const connection of connections) connection.close()
  }

  #at<T>(read: (snapshot: Snapshot) => T, withIndex = false): T {
    const snapshot = this.#begin(withIndex)
    try {
      return read(snapshot)
    } catch (error) {
      throw snapshot.faultOf(error)
    } finally {
      this.#end(snapshot)
    }
  }

  *#task<T>(withIndex: boolean, read: (snapshot: Snapshot) => Task<T>): Task<T> {
    const snapshot = this.#begin(withIndex)
    try {
      return yield* read(snapshot)
    } catch (error) {
      throw snapshot.faultOf(error)
    } finally {
      this.#end(snapshot)
    }
  }

  #begin(withIndex: boolean): Snapshot {
    const snapshot = this.#idle.pop() ?? new Snapshot(this.#path)
    snapshot.begin(withIndex)
    return snapshot
  }

  #end(snapshot: Snapshot): void {
    if (this.#idle.length >= MAX_IDLE) {
      snapshot.close()
      return
    }
    snapshot.end()
    this.#idle.push(snapshot)
  }
}

const unindexedIn = (snapshot: Snapshot, isLate: boolean): Unindexed =>
  snapshot.unindexed(isLate ? MAX_LOOKED_UP_WORK : LOOKED_UP_WORK)

function pageOf(snapshot: Snapshot, query: PlantQuery, limit: number, isLate: boolean): Task<NewPlant[]> {
  if (!needsIndex(query, query.order)) return snapshot.scan(query, limit)
  try {
    return snapshot.list(query, limit, unindexedIn(snapshot, isLate))
  } catch (error) {
    if (!(error instanceof UnreadyIndex) || isByName(query.order) || !snapshot.isFilling || isLate) throw error
    return snapshot.scan(query, limit, MAX_LOOKED_UP_WORK)
  }
}

/** Returns the next plants of an export by its proven ids. */
function* nextOf(current: Export, left: BigInt64Array): Task<NewPlant[]> {
  let chunk: NewPlant[] = []
  for (let rest = left; chunk.length === 0 && rest.length > 0; current.left = rest) {
    chunk = yield* current.snapshot.matching(current.query, rest.subarray(0, CHUNK))
    rest = rest.subarray(CHUNK)
  }
  return chunk
}

/** @throws IndexFault at the end of an export whose content differs from that of the store */
function* verify({ snapshot, query, exported }: Export, chunk: readonly NewPlant[]): Task<void> {
  for (const { id } of chunk) addTo(exported, id)
  if (chunk.length > 0) return
  const { plants, ids } = yield* snapshot.contentOf(query)
  if (plants === exported.plants && ids === exported.ids) return
  throw new IndexFault(`it has ${exported.plants} plants of an export by name, and the store has ${plants}`)
}

function mustBeOpen<T>(work: T | undefined): T {
  if (work === undefined) throw new Error('the export or dry run is closed already')
  return work
}
