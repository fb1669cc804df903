import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite'
import { type NewPlant, textLength } from '../../domain/plant.ts'
import { PAGE_TEXT, type PlantQuery } from '../../domain/plant-query.ts'
import { openReader } from '../connection.ts'
import { appErrorOf } from '../errors.ts'
import { idsAfter } from '../lookup.ts'
import type { Row } from '../rows.ts'
import { plantOf, ResultPage, StatementCache } from '../rows.ts'
import { LARGE, type Sizes } from './group-read.ts'

/** Plants that one query reads. With more, each takes less time, but long ones take more memory. */
const PART = 64
/** Pages that the cache knows, and UTF-16 units of each that it holds: 2 MB together, or 4 beyond Latin-1. */
const CACHED_PAGES = 256
const CACHED_TEXT = 8192
/** UTF-16 units after which one turn of the event loop reads no more plants: their answers take about 10 ms. */
const TURN_TEXT = PAGE_TEXT
/** UTF-16 units that take as long as the work of each answer apart from its text: about 20 µs. */
const ANSWER_TEXT = 4096
/** Maximum number of bytes of the name and of the tag of a small plant. A small page has fewer UTF-16 units. */
const SMALL = 2 ** 16
/** The same of the plants of a small page, so that a part of a large page takes no more than 512 KiB. */
const SMALL_IN_PAGE = SMALL / 16

export interface PlantPage {
  readonly query: PlantQuery
  readonly limit: number
}

const COLUMNS = 'id, name, tag'
/**
 * The columns of a plant, with null for a longer name and 0 for a longer tag. SQLite takes the lengths from the header of
 * the row, and does not read long texts.
 */
const columnsUpTo = (bytes: number): string =>
  `id, iif(octet_length(name) > ${bytes}, NULL, name), iif(octet_length(tag) > ${bytes}, 0, tag)`

/** Makes the short reads on the event loop: each takes less time than a message to another thread and back. */
export class PointReader {
  readonly #db: DatabaseSync
  readonly #onFatal: (error: Error) => void
  readonly #version: StatementSync
  readonly #plant: StatementSync
  readonly #smallPlant: StatementSync
  readonly #statements: StatementCache
  readonly #cachedPages = new PageCache()

  /** @param onFatal called when the file is corrupt or unreadable */
  constructor(path: string, onFatal: (error: Error) => void) {
    const db = openReader(path)
    this.#db = db
    this.#onFatal = onFatal
    const prepare = (columns: string) => {
      const statement = db.prepare(`SELECT ${columns} FROM plants WHERE id = ?`)
      statement.setReturnArrays(true)
      return statement
    }
    this.#version = db.prepare('PRAGMA data_version')
    this.#plant = prepare(COLUMNS)
    this.#smallPlant = prepare(columnsUpTo(SMALL))
    this.#statements = new StatementCache(db)
  }

  /** Returns the plants with these ids, in their order, LARGE instead of large ones. Stops after TURN_TEXT. */
  plants(ids: readonly bigint[], sizes: Sizes): (NewPlant | undefined | typeof LARGE)[] {
    const statement = sizes === 'small' ? this.#smallPlant : this.#plant
    const read = (id: bigint) => {
      const row = statement.get(id)
      return row === undefined ? undefined : isWhole(row) ? plantOf(row) : LARGE
    }
    return this.#together(() => upToTurnText(ids, textOf, read))
  }

  /**
   * Returns pages of plants by id, in their order, LARGE instead of large ones. Stops after TURN_TEXT. Pass only pages
   * that are an `isShortPage`. Cached pages are never stale: the version belongs to the snapshot of the transaction, and
   * changes with every commit of another connection (https://sqlite.org/pragma.html#pragma_data_version).
   */
  pages(pages: readonly PlantPage[], sizes: Sizes): (readonly NewPlant[] | typeof LARGE)[] {
    return this.#together(() => {
      const lengthOf = (page: readonly NewPlant[] | typeof LARGE) => (page === LARGE ? SMALL : textOfPage(page))
      if (sizes === 'any') return upToTurnText(pages, lengthOf, (page) => this.#page(page, COLUMNS, PAGE_TEXT))
      const version = this.#version.get()?.['data_version']
      return upToTurnText(pages, lengthOf, (page) => this.#cachedPages.get(page, version, () => this.#smallPage(page)))
    })
  }

  /** Returns the rows of a short query. */
  all(sql: string, ...values: SQLInputValue[]): Row[] {
    return this.#read(() => this.#statements.all(sql, ...values))
  }

  close(): void {
    this.#db.close()
  }

  #smallPage(page: PlantPage): readonly NewPlant[] | typeof LARGE {
    const plants = this.#page(page, columnsUpTo(SMALL_IN_PAGE), SMALL)
    return plants !== LARGE && textOfPage(plants) >= SMALL ? LARGE : plants
  }

  #page({ query: { order, after }, limit }: PlantPage, columns: string, text: number): NewPlant[] | typeof LARGE {
    const found = new ResultPage({ plants: limit, text })
    for (let last = after?.id; ; last = found.plants.at(-1)?.id) {
      const count = Math.min(PART, limit - found.plants.length)
      const { condition, direction, values } = idsAfter(last, order)
      const sql = `SELECT ${columns} FROM plants WHERE ${condition} ORDER BY id ${direction} LIMIT ?`
      const rows = this.#statements.all(sql, ...values, count)
      for (const row of rows) {
        if (!isWhole(row)) return LARGE
        found.add(plantOf(row))
        if (found.isFull) return found.plants
      }
      if (rows.length < count) return found.plants
    }
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

/** Whether a row has its texts; see `columnsUpTo`. Numbers are bigints. */
const isWhole = (row: Row): boolean => row[1] !== null && typeof row[2] !== 'bigint'

/** No text of a large plant is read before its size shows. */
const textOf = (plant: NewPlant | undefined | typeof LARGE): number =>
  plant === undefined || plant === LARGE ? 0 : textLength(plant)

const textOfPage = (plants: readonly NewPlant[]): number => plants.reduce((sum, plant) => sum + textLength(plant), 0)

function upToTurnText<Key, Value>(
  keys: readonly Key[],
  lengthOf: (value: Value) => number,
  read: (key: Key) => Value,
): Value[] {
  const values: Value[] = []
  let text = 0
  for (const key of keys) {
    const value = read(key)
    values.push(value)
    text += ANSWER_TEXT + lengthOf(value)
    if (text >= TURN_TEXT) break
  }
  return values
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
    read: () => readonly NewPlant[] | typeof LARGE,
  ): readonly NewPlant[] | typeof LARGE {
    const key = `${order} ${after?.id} ${limit}`
    const cached = this.#pages.get(key)
    if (cached !== undefined && cached.version === version) return cached.plants
    const plants = read()
    const isRepeated = this.#pages.has(key)
    // Cheaper than to track the least recently used page.
    if (this.#pages.size === CACHED_PAGES && !isRepeated) this.#pages.clear()
    const isWorth = isRepeated && plants !== LARGE && textOfPage(plants) <= CACHED_TEXT
    this.#pages.set(key, isWorth ? { version, plants } : undefined)
    return plants
  }
}
