import type { PutOutcome } from '../../plant-change.ts'
import {
  isByName,
  PAGE_TEXT,
  type PlantFilter,
  type PlantOrder,
  type PlantQuery,
  positionOf,
} from '../../plant-query.ts'
import type { ImportMode, TagCount } from '../../store.ts'
import { columnsOf, type PlantColumns } from '../rows.ts'
import { BehindError } from '../search-index/index-fault.ts'
import type { Task } from '../worker/cooperative.ts'
import type { Served } from '../worker/protocol.ts'
import { SqliteDryRun } from '../write/dry-run.ts'
import type { PageLimit } from './result-page.ts'
import { needsIndex, Snapshot } from './snapshot.ts'
import { NOTHING, type Unindexed } from './unindexed.ts'

const CHUNK: PageLimit = { plants: 1000, text: 2 ** 20 }
/** Idle connections that are kept. */
const MAX_IDLE = 4

/**
 * How many plants a read looks at one by one, where the index lacks them; with more to look at it throws BehindError.
 */
export interface Effort {
  readonly unindexed: number
  /**
   * All plants in the order of their ids, while the index is being filled. A chunk of an export looks at any number.
   */
  readonly scanned: number
}

interface Export {
  readonly snapshot: Snapshot
  readonly query: PlantFilter & { readonly order: PlantOrder }
  /** Undefined where it looks at all plants. */
  readonly unindexed: Unindexed | undefined
  after: PlantQuery['after']
}

/** Runs the reads that may take long as tasks. Each has a connection of its own while it runs. */
export class QueryReader implements Served {
  readonly #path: string
  readonly #idle: Snapshot[] = []
  readonly #exports = new Map<number, Export>()
  readonly #dryRuns = new Map<number, SqliteDryRun>()
  #handle = 0

  constructor(path: string) {
    this.#path = path
  }

  *listPlants(effort: Effort, query: PlantQuery, limit: number): Task<PlantColumns> {
    const snapshot = this.#begin(needsIndex(query, query.order))
    try {
      const unindexed = unindexedFor(query, query.order, snapshot, effort)
      const bounds = { plants: limit, text: PAGE_TEXT }
      const plants = unindexed && snapshot.list(query, bounds, unindexed)
      return columnsOf(yield* plants ?? snapshot.scan(query, bounds, effort.scanned))
    } catch (error) {
      throw snapshot.faultOf(error)
    } finally {
      this.#end(snapshot)
    }
  }

  *listTags({ unindexed }: Effort, after: string | undefined, limit: number): Task<TagCount[]> {
    const snapshot = this.#begin(true)
    try {
      return yield* snapshot.tags(after, limit, snapshot.unindexed(unindexed))
    } catch (error) {
      throw snapshot.faultOf(error)
    } finally {
      this.#end(snapshot)
    }
  }

  /**
   * Begins an export, whose transaction stays open until `closeExport`.
   *
   * @param handle chosen by the caller, for `readExport` and `closeExport`
   */
  openExport(handle: number, effort: Effort, filter: PlantFilter, order: PlantOrder): void {
    const snapshot = this.#begin(needsIndex(filter, order))
    try {
      const unindexed = unindexedFor(filter, order, snapshot, effort)
      this.#exports.set(handle, { snapshot, query: { ...filter, order }, unindexed, after: undefined })
    } catch (error) {
      throw snapshot.faultOf(error)
    } finally {
      if (!this.#exports.has(handle)) this.#end(snapshot)
    }
  }

  /** The next chunk; empty at the end. */
  *readExport(handle: number): Task<PlantColumns> {
    const held = found(this.#exports.get(handle))
    const { snapshot, query, after, unindexed } = held
    try {
      const next = { ...query, after }
      const plants = unindexed && snapshot.list(next, CHUNK, unindexed)
      const chunk = yield* plants ?? snapshot.scan(next, CHUNK, Number.POSITIVE_INFINITY)
      const last = chunk.at(-1)
      if (last !== undefined) held.after = positionOf(query.order, last)
      return columnsOf(chunk)
    } catch (error) {
      throw snapshot.faultOf(error)
    }
  }

  /** Does nothing for an export that is not open. */
  closeExport(handle: number): void {
    const held = this.#exports.get(handle)
    this.#exports.delete(handle)
    if (held !== undefined) this.#end(held.snapshot)
  }

  /** Makes a small read, on a new connection if none is idle: SQLite opens the log with the first read. */
  check(): void {
    const snapshot = this.#begin(true)
    try {
      snapshot.check()
    } finally {
      this.#end(snapshot)
    }
  }

  *countPlants(): Task<number> {
    const snapshot = this.#begin(false)
    try {
      return yield* snapshot.plants()
    } finally {
      this.#end(snapshot)
    }
  }

  openDryRun(mode: ImportMode): number {
    this.#dryRuns.set(++this.#handle, new SqliteDryRun(this.#path, mode))
    return this.#handle
  }

  dryRunPlants(handle: number, plants: PlantColumns): Task<PutOutcome[]> {
    return found(this.#dryRuns.get(handle)).importPlants(plants)
  }

  closeDryRun(handle: number): void {
    this.#dryRuns.get(handle)?.close()
    this.#dryRuns.delete(handle)
  }

  /** Closes all connections, also those of exports and dry runs. */
  close(): void {
    const connections = [...this.#idle, ...this.#dryRuns.values()]
    for (const { snapshot } of this.#exports.values()) connections.push(snapshot)
    for (const connection of connections) connection.close()
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

/** @returns undefined where the read has to look at all plants */
function unindexedFor(
  filter: PlantFilter,
  order: PlantOrder,
  snapshot: Snapshot,
  { unindexed, scanned }: Effort,
): Unindexed | undefined {
  if (!needsIndex(filter, order)) return NOTHING
  try {
    return snapshot.unindexed(unindexed)
  } catch (error) {
    if (!(error instanceof BehindError) || isByName(order) || !snapshot.isFilling || scanned === 0) throw error
    return undefined
  }
}

function found<T>(held: T | undefined): T {
  if (held === undefined) throw new Error('what was to be read on was closed already')
  return held
}
