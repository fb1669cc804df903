import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite'
import { type NewPlant, textLength } from '../../domain/plant.ts'
import { isDescending, PAGE_TEXT, type PlantQuery } from '../../domain/plant-query.ts'
import { openReader } from '../connection.ts'
import { appErrorOf } from '../errors.ts'
import type { Row } from '../rows.ts'
import { plantOf, ResultPage, StatementCache } from '../rows.ts'
import { LARGE, type Sizes } from './group-read.ts'

/** Plants that one query reads. With more, each takes less time, but long ones take more memory. */
const PART = 64
/** UTF-16 units of the pages that the cache holds. */
const CACHED_PAGES = 1_000_000
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

interface PageStatements {
  readonly first: StatementSync
  readonly next: StatementSync
}

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
  readonly #pages: Readonly<Record<'id' | '-id', PageStatements>>
  readonly #smallPages: Readonly<Record<'id' | '-id', PageStatements>>
  readonly #cachedPages = new PageCache(CACHED_PAGES)

  /** @param onFatal called when the file is corrupt or unreadable */
  constructor(path: string, onFatal: (error: Error) => void) {
    const db = openReader(path)
    this.#db = db
    this.#onFatal = onFatal
    const prepare = (sql: string, columns = 'id, name, tag') => {
      const statement = db.prepare(`SELECT ${columns} FROM plants ${sql}`)
      statement.setReturnArrays(true)
      return statement
    }
    this.#version = db.prepare('PRAGMA data_version')
    this.#plant = prepare('WHERE id = ?')
    this.#statements = new StatementCache(db)
    const pages = (sign: string, direction: string, columns?: string) => ({
      first: prepare(`ORDER BY id ${direction} LIMIT ?`, columns),
      next: prepare(`WHERE id ${sign} ? ORDER BY id ${direction} LIMIT ?`, columns),
    })
    this.#smallPlant = prepare('WHERE id = ?', columnsUpTo(SMALL))
    this.#pages = { id: pages('>', 'ASC'), '-id': pages('<', 'DESC') }
    const small = columnsUpTo(SMALL_IN_PAGE)
    this.#smallPages = { id: pages('>', 'ASC', small), '-id': pages('<', 'DESC', small) }
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
      if (sizes === 'any') return upToTurnText(pages, lengthOf, (page) => this.#page(page, this.#pages, PAGE_TEXT))
      this.#cachedPages.readAt(this.#version.get()?.['data_version'])
      return upToTurnText(pages, lengthOf, (page) => this.#cachedPages.get(keyOf(page), () => this.#smallPage(page)))
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
    const plants = this.#page(page, this.#smallPages, SMALL)
    return plants !== LARGE && textOfPage(plants) >= SMALL ? LARGE : plants
  }

  #page(
    { query: { order, after }, limit }: PlantPage,
    statements: Readonly<Record<'id' | '-id', PageStatements>>,
    text: number,
  ): readonly NewPlant[] | typeof LARGE {
    const { first, next } = statements[isDescending(order) ? '-id' : 'id']
    const found = new ResultPage({ plants: limit, text })
    for (let last = after?.id; ; last = found.plants.at(-1)?.id) {
      const count = Math.min(PART, limit - found.plants.length)
      const rows = last === undefined ? first.all(count) : next.all(last, count)
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

const keyOf = ({ query: { order, after }, limit }: PlantPage): string => `${order} ${after?.id} ${limit}`

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
 * Caches pages that are read repeatedly, until the next write of any connection. It empties a full cache, which is
 * cheaper than to track the least recently used page.
 *
 * It caches only pages that were read twice. To cache every page slowed non-repeating reads by 25%, as the pages
 * outlived the young generation of the heap. Callers share a cached page, and must not change it.
 */
export class PageCache {
  readonly #maxText: number
  readonly #pages = new Map<string, readonly NewPlant[]>()
  /** Keys that were read once. A write does not clear them, as clients read the same keys after it. */
  readonly #readOnce = new Set<string>()
  #version: unknown
  #text = 0

  /** @param maxText UTF-16 units of all pages, an estimate of their memory */
  constructor(maxText: number) {
    this.#maxText = maxText
  }

  /** Call it before `get`, with the version of the store that `read` sees. */
  readAt(version: unknown): void {
    if (version === this.#version) return
    this.#clear()
    this.#version = version
  }

  get(key: string, read: () => readonly NewPlant[] | typeof LARGE): readonly NewPlant[] | typeof LARGE {
    const cached = this.#pages.get(key)
    if (cached !== undefined) return cached
    const page = read()
    if (page !== LARGE && this.#isSecondRead(key)) this.#add(key, page)
    return page
  }

  #isSecondRead(key: string): boolean {
    if (this.#readOnce.delete(key)) return true
    if (this.#readOnce.size === MAX_READ_ONCE) this.#readOnce.clear()
    this.#readOnce.add(key)
    return false
  }

  #add(key: string, page: readonly NewPlant[]): void {
    const text = OVERHEAD + textOfPage(page)
    if (text > this.#maxText) return
    if (this.#text + text > this.#maxText) this.#clear()
    this.#text += text
    this.#pages.set(key, page)
  }

  #clear(): void {
    this.#pages.clear()
    this.#text = 0
  }
}

/** Maximum number of keys in #readOnce. */
const MAX_READ_ONCE = 2000
/** UTF-16 units added to each page, which bounds the number of empty pages too. */
const OVERHEAD = 50
