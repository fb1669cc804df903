import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { NewPlant } from '../../plant.ts'
import { isDescending, PAGE_TEXT, type PlantQuery } from '../../plant-query.ts'
import type { Token } from '../../token.ts'
import type { StoredToken, TokenPage } from '../../token-store.ts'
import { openReader } from '../connection.ts'
import { appErrorOf, isFatal, sqliteFault } from '../errors.ts'
import { plantOf, textOf } from '../rows.ts'
import type { Row } from '../statement-cache.ts'
import { tokenOf } from '../token-rows.ts'
import { ReadCache } from './read-cache.ts'
import { ResultPage } from './result-page.ts'

/** Plants that are read at once: more take less time for each, and more memory where they are long. */
const PART = 64
/** Characters of plants, and of pages of them, that are kept while nobody writes. */
const KEPT_PLANTS = 100_000
const KEPT_PAGES = 1_000_000
/** Characters of plants from which on no more are read in one turn of the event loop: their answers take 10 ms or so. */
const TURN_TEXT = PAGE_TEXT

export interface PlantPage {
  readonly query: PlantQuery
  readonly limit: number
}

/** The reads that are over sooner than a message to another thread and back, on the thread that asks. */
export class PointReader {
  readonly #db: DatabaseSync
  readonly #onFatal: (error: Error) => void
  readonly #version: StatementSync
  readonly #plant: StatementSync
  readonly #token: StatementSync
  readonly #tokens: StatementSync
  readonly #pages: Readonly<Record<'id' | '-id', { first: StatementSync; next: StatementSync }>>
  readonly #keptPlants = new ReadCache<bigint, NewPlant>(KEPT_PLANTS, textOf)
  readonly #keptPages = new ReadCache<string, readonly NewPlant[]>(KEPT_PAGES, textOfPage)

  /** @param onFatal called when the file can't be trusted any more */
  constructor(path: string, onFatal: (error: Error) => void) {
    const db = openReader(path)
    this.#db = db
    this.#onFatal = onFatal
    const prepare = (sql: string) => {
      const statement = db.prepare(`SELECT id, name, tag FROM plants ${sql}`)
      statement.setReturnArrays(true)
      return statement
    }
    this.#version = db.prepare('PRAGMA data_version')
    this.#plant = prepare('WHERE id = ?')
    this.#token = db.prepare('SELECT * FROM tokens WHERE hash = ? AND revoked_at IS NULL')
    // By row values SQLite finds the place in the index (https://sqlite.org/rowvalue.html#scrolling_window_queries).
    this.#tokens = db.prepare('SELECT * FROM tokens WHERE (created_at, id) > (?, ?) ORDER BY created_at, id LIMIT ?')
    const pages = (sign: string, direction: string) => ({
      first: prepare(`ORDER BY id ${direction} LIMIT ?`),
      next: prepare(`WHERE id ${sign} ? ORDER BY id ${direction} LIMIT ?`),
    })
    this.#pages = { id: pages('>', 'ASC'), '-id': pages('<', 'DESC') }
  }

  /** The plants with these ids, each where its id stands, as far as TURN_TEXT reaches. */
  plants(ids: readonly bigint[]): (NewPlant | undefined)[] {
    const read = (id: bigint) => {
      const row = this.#plant.get(id) as unknown as Row | undefined
      return row === undefined ? undefined : plantOf(row)
    }
    return this.#together(this.#keptPlants, (kept) => upToTurnText(ids, textOf, (id) => kept.get(id, read)))
  }

  /** Pages of plants by id, each at its place, as far as TURN_TEXT reaches; only such as are `isShortPage`. */
  pages(pages: readonly PlantPage[]): (readonly NewPlant[])[] {
    const keyOf = ({ query: { order, after }, limit }: PlantPage) => `${order} ${after?.id} ${limit}`
    return this.#together(this.#keptPages, (kept) =>
      upToTurnText(pages, textOfPage, (page) => kept.get(keyOf(page), () => this.#page(page))),
    )
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
      const most = Math.min(PART, limit - found.plants.length)
      const rows = (last === undefined ? first.all(most) : next.all(last, most)) as unknown as Row[]
      for (const row of rows) {
        found.add(plantOf(row))
        if (found.isFull) return found.plants
      }
      if (rows.length < most) return found.plants
    }
  }

  /**
   * Several reads take SQLite's locks once, which take four times as long as one read of a plant. What is kept is as true
   * as what is read: the version is that of the very moment that the transaction sees, and changes with every commit of
   * another connection (https://sqlite.org/pragma.html#pragma_data_version).
   */
  #together<Key, Value extends object, T>(kept: ReadCache<Key, Value>, reads: (kept: ReadCache<Key, Value>) => T): T {
    return this.#read(() => {
      this.#db.exec('BEGIN')
      try {
        kept.readAt(this.#version.get()?.['data_version'])
        return reads(kept)
      } finally {
        this.#db.exec('COMMIT')
      }
    })
  }

  #read<T>(query: () => T): T {
    try {
      return query()
    } catch (error) {
      const fault = sqliteFault(error)
      if (fault === undefined) throw error
      const appError = appErrorOf(fault)
      if (isFatal(fault)) this.#onFatal(appError)
      throw appError
    }
  }
}

/** The first time that a Date can hold: no token was created sooner. */
const BEFORE_ALL = { createdAt: new Date(-8.64e15), id: '' }

const textOfPage = (plants: readonly NewPlant[]): number => plants.reduce((sum, plant) => sum + textOf(plant), 0)

function upToTurnText<Key, Value extends object, Read extends Value | undefined>(
  keys: readonly Key[],
  lengthOf: (value: Value) => number,
  read: (key: Key) => Read | Value,
): (Read | Value)[] {
  const values: (Read | Value)[] = []
  let text = 0
  for (const key of keys) {
    const value = read(key)
    values.push(value)
    if (value !== undefined) text += lengthOf(value)
    if (text >= TURN_TEXT) break
  }
  return values
}
