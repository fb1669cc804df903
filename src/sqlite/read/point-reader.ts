import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { IdReservation } from '../../domain/id-store.ts'
import { type NewPlant, textLength } from '../../domain/plant.ts'
import { isDescending, PAGE_TEXT, type PlantQuery } from '../../domain/plant-query.ts'
import type { Token } from '../../domain/token.ts'
import type { StoredToken, TokenPage } from '../../domain/token-store.ts'
import { openReader } from '../connection.ts'
import { appErrorOf } from '../errors.ts'
import { FreeIds } from '../free-ids.ts'
import { plantOf } from '../rows.ts'
import type { Row } from '../statement-cache.ts'
import { tokenOf } from '../token-rows.ts'
import { ReadCache } from './read-cache.ts'
import { ResultPage } from './result-page.ts'

/** Plants that one query reads. With more, each takes less time, but long ones take more memory. */
const PART = 64
/** UTF-16 units of the pages that the cache holds. */
const CACHED_PAGES = 1_000_000
/** UTF-16 units after which one turn of the event loop reads no more plants: their answers take about 10 ms. */
const TURN_TEXT = PAGE_TEXT
/** UTF-16 units that take as long as the work of each answer apart from its text: about 20 µs. */
const ANSWER_TEXT = 4096
/** Maximum number of bytes, or of UTF-16 units, of a small plant or page. */
const SMALL = 2 ** 16
/** Milliseconds for which one turn looks up sizes. */
const SIZES_TIME = 5

export interface PlantPage {
  readonly query: PlantQuery
  readonly limit: number
}

interface PageStatements {
  readonly first: StatementSync
  readonly next: StatementSync
}

/** Bytes of a plant. SQLite takes them from the header of the row, and does not read the texts. */
const SIZE = 'octet_length(name) + coalesce(octet_length(tag), 0)'

/** Makes the short reads on the event loop: each takes less time than a message to another thread and back. */
export class PointReader {
  readonly #db: DatabaseSync
  readonly #onFatal: (error: Error) => void
  readonly #version: StatementSync
  readonly #plant: StatementSync
  readonly #token: StatementSync
  readonly #tokens: StatementSync
  readonly #reservations: StatementSync
  readonly #freeIds: FreeIds
  readonly #pages: Readonly<Record<'id' | '-id', PageStatements>>
  readonly #plantSize: StatementSync
  readonly #pageSizes: Readonly<Record<'id' | '-id', PageStatements>>
  readonly #cachedPages = new ReadCache<string, readonly NewPlant[]>(CACHED_PAGES, textOfPage)

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
    this.#token = db.prepare('SELECT * FROM tokens WHERE hash = ?')
    // A row value lets SQLite seek in the index (https://sqlite.org/rowvalue.html#scrolling_window_queries).
    this.#tokens = db.prepare('SELECT * FROM tokens WHERE (created_at, id) > (?, ?) ORDER BY created_at, id LIMIT ?')
    this.#reservations = db.prepare('SELECT * FROM id_reservations ORDER BY first_id')
    this.#freeIds = new FreeIds(db)
    const pages = (sign: string, direction: string, columns?: string) => ({
      first: prepare(`ORDER BY id ${direction} LIMIT ?`, columns),
      next: prepare(`WHERE id ${sign} ? ORDER BY id ${direction} LIMIT ?`, columns),
    })
    this.#pages = { id: pages('>', 'ASC'), '-id': pages('<', 'DESC') }
    this.#plantSize = prepare('WHERE id = ?', SIZE)
    this.#pageSizes = { id: pages('>', 'ASC', SIZE), '-id': pages('<', 'DESC', SIZE) }
  }

  /** Returns the plants with these ids, in their order. Stops after TURN_TEXT. */
  plants(ids: readonly bigint[]): (NewPlant | undefined)[] {
    const read = (id: bigint) => {
      const row = this.#plant.get(id)
      return row === undefined ? undefined : plantOf(row)
    }
    return this.#together(() => upToTurnText(ids, (plant) => (plant === undefined ? 0 : textLength(plant)), read))
  }

  /**
   * Returns pages of plants by id, in their order. Stops after TURN_TEXT. Pass only pages that are an `isShortPage`.
   * Cached pages are never stale: the version belongs to the snapshot of the transaction, and changes with every commit
   * of another connection (https://sqlite.org/pragma.html#pragma_data_version).
   */
  pages(pages: readonly PlantPage[]): (readonly NewPlant[])[] {
    const keyOf = ({ query: { order, after }, limit }: PlantPage) => `${order} ${after?.id} ${limit}`
    return this.#together(() => {
      this.#cachedPages.readAt(this.#version.get()?.['data_version'])
      return upToTurnText(pages, textOfPage, (page) => this.#cachedPages.get(keyOf(page), () => this.#page(page)))
    })
  }

  /** Returns for each id, in order, whether its plant is small. Stops after SIZES_TIME. */
  arePlantsSmall(ids: readonly bigint[]): boolean[] {
    return this.#areSmall(ids, (id) => sizeOf(this.#plantSize.all(id)))
  }

  /** Returns for each page, in order, whether it is small. Stops after SIZES_TIME. */
  arePagesSmall(pages: readonly PlantPage[]): boolean[] {
    return this.#areSmall(pages, ({ query: { order, after }, limit }) => {
      const { first, next } = this.#pageSizes[isDescending(order) ? '-id' : 'id']
      return sizeOf(after === undefined ? first.all(limit) : next.all(after.id, limit))
    })
  }

  token(hash: Buffer): Token | undefined {
    const row = this.#read(() => this.#token.get(hash))
    return row === undefined ? undefined : tokenOf(row)
  }

  tokens(page: TokenPage): Token[] {
    return this.#tokenRows(page).map(tokenOf)
  }

  storedTokens(): StoredToken[] {
    const rows = this.#tokenRows({})
    return rows.map((row) => ({ token: tokenOf(row), hash: Buffer.from(row['hash'] as Uint8Array) }))
  }

  freeId(): bigint | undefined {
    return this.#read(() => this.#freeIds.find(1))?.first
  }

  reservations(): IdReservation[] {
    return this.#read(() => this.#reservations.all()).map((row) => ({
      first: row['first_id'] as bigint,
      last: row['last_id'] as bigint,
      key: row['key'] === null ? undefined : Buffer.from(row['key'] as Uint8Array),
      at: new Date(Number(row['at'])),
      actor: String(row['actor']),
    }))
  }

  close(): void {
    this.#db.close()
  }

  #tokenRows({ after, limit = -1 }: TokenPage): Record<string, unknown>[] {
    const { createdAt, id } = after ?? BEFORE_ALL
    return this.#read(() => this.#tokens.all(createdAt.getTime(), id, limit))
  }

  #page({ query: { order, after }, limit }: PlantPage): NewPlant[] {
    const { first, next } = this.#pages[isDescending(order) ? '-id' : 'id']
    const found = new ResultPage({ plants: limit, text: PAGE_TEXT })
    for (let last = after?.id; ; last = found.plants.at(-1)?.id) {
      const count = Math.min(PART, limit - found.plants.length)
      const rows = last === undefined ? first.all(count) : next.all(last, count)
      for (const row of rows) {
        found.add(plantOf(row))
        if (found.isFull) return found.plants
      }
      if (rows.length < count) return found.plants
    }
  }

  #areSmall<Key>(keys: readonly Key[], sizeOf: (key: Key) => number): boolean[] {
    const end = performance.now() + SIZES_TIME
    return this.#read(() => {
      const areSmall: boolean[] = []
      for (const key of keys) {
        areSmall.push(sizeOf(key) <= SMALL)
        if (performance.now() > end) break
      }
      return areSmall
    })
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

/** The earliest time of a Date: no token is older. */
const BEFORE_ALL = { createdAt: new Date(-8.64e15), id: '' }

export const isSmallPlant = (plant: NewPlant | undefined): boolean => plant === undefined || textLength(plant) <= SMALL

export const isSmallPage = (plants: readonly NewPlant[]): boolean => textOfPage(plants) <= SMALL

/** The sum of rows of SIZE. */
const sizeOf = (rows: readonly Row[]): number => rows.reduce((sum, row) => sum + Number(row[0]), 0)

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
