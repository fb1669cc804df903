import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite'
import type { NewPlant } from '../../domain/plant.ts'
import type { PlantQuery } from '../../domain/plant-query.ts'
import { openReader } from '../connection.ts'
import { appErrorOf } from '../errors.ts'
import { idsAfter } from '../lookup.ts'
import type { SqliteRow } from '../rows.ts'
import { plantOf, StatementCache } from '../rows.ts'

/** Pages that the cache knows, and plants of each that it holds: 16 MB together, if all are as large as can be. */
const CACHED_PAGES = 64
const CACHED_PLANTS = 101

export interface PlantPage {
  readonly query: PlantQuery
  readonly limit: number
}

/** Makes the short reads on the event loop: each takes less time than a message to another thread and back. */
export class PointReader {
  readonly #db: DatabaseSync
  readonly #onFatal: (error: Error) => void
  readonly #version: StatementSync
  readonly #plant: StatementSync
  readonly #statements: StatementCache
  readonly #cachedPages = new PageCache()

  constructor(path: string, onFatal: (error: Error) => void) {
    const db = openReader(path)
    this.#db = db
    this.#onFatal = onFatal
    this.#version = db.prepare('PRAGMA data_version')
    this.#plant = db.prepare('SELECT id, name, tag FROM plants WHERE id = ?')
    this.#plant.setReturnArrays(true)
    this.#statements = new StatementCache(db)
  }

  plants(ids: readonly bigint[]): (NewPlant | undefined)[] {
    const read = (id: bigint) => {
      const row: SqliteRow | undefined = this.#plant.get(id)
      return row && plantOf(row)
    }
    return this.#together(() => ids.map(read))
  }

  /**
   * Returns pages of plants by id, in their order. Pass only pages that are an `isShortPage`.
   * Cached pages are never stale: the version belongs to the snapshot of the transaction, and changes with every commit of
   * another connection (https://sqlite.org/pragma.html#pragma_data_version).
   */
  pages(pages: readonly PlantPage[]): (readonly NewPlant[])[] {
    return this.#together(() => {
      const version = this.#version.get()?.['data_version']
      return pages.map((page) => this.#cachedPages.get(page, version, () => this.#page(page)))
    })
  }

  all(sql: string, ...values: SQLInputValue[]): SqliteRow[] {
    return this.#read(() => this.#statements.all(sql, ...values))
  }

  close(): void {
    this.#db.close()
  }

  #page({ query: { order, after }, limit }: PlantPage): NewPlant[] {
    const { condition, direction, values } = idsAfter(after?.id, order)
    const sql = `SELECT id, name, tag FROM plants WHERE ${condition} ORDER BY id ${direction} LIMIT ?`
    return this.#statements.all(sql, ...values, limit).map(plantOf)
  }

  /** Takes SQLite's locks once for several reads, as the locks cost four times as much as one read of a plant. */
  #together<T>(reads: () => T): T {
    return this.#read(() => {
      this.#db.exec('BEGIN')
      try {
        return reads()
      } finally {
        this.#db.exec('COMMIT')
      }
    })
  }

  #read<T>(query: () => T): T {
    try {
      return query()
    } catch (error) {
      throw appErrorOf(error, this.#onFatal)
    }
  }
}

/**
 * Caches pages that were read twice, until the next write of any connection. To cache every page slowed reads that do not
 * repeat by 25%, as the pages outlived the young generation of the heap. Callers share a cached page, and must not change
 * it.
 */
export class PageCache {
  /** Undefined for a page that was read once. A write does not remove the keys, as clients read the same pages after it. */
  readonly #pages = new Map<string, { readonly version: unknown; readonly plants: readonly NewPlant[] } | undefined>()

  /** @param version the version of the store that `read` sees */
  get(
    { query: { order, after }, limit }: PlantPage,
    version: unknown,
    read: () => readonly NewPlant[],
  ): readonly NewPlant[] {
    const key = `${order} ${after?.id} ${limit}`
    const cached = this.#pages.get(key)
    if (cached !== undefined && cached.version === version) return cached.plants
    const plants = read()
    const isRepeated = this.#pages.has(key)
    // Cheaper than to track the least recently used page.
    if (this.#pages.size === CACHED_PAGES && !isRepeated) this.#pages.clear()
    const isWorth = isRepeated && plants.length <= CACHED_PLANTS
    this.#pages.set(key, isWorth ? { version, plants } : undefined)
    return plants
  }
}
