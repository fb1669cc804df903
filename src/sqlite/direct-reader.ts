import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { NewPlant } from '../plant.ts'
import { isByName, isDescending, type PlantQuery } from '../plant-query.ts'
import type { Scope, Token } from '../token.ts'
import { openReader } from './connection.ts'
import { appErrorOf, isFatal, sqliteFault } from './errors.ts'
import { plantOf } from './rows.ts'

/** A page that takes less than a millisecond. */
const SHORT_PAGE = 200

/** The reads that are over sooner than a message to another thread and back, on the thread that asks. */
export class DirectReader {
  readonly #db: DatabaseSync
  readonly #onFatal: (error: Error) => void
  readonly #plant: StatementSync
  readonly #token: StatementSync
  readonly #tokens: StatementSync
  readonly #pages: Readonly<Record<'id' | '-id', { first: StatementSync; next: StatementSync }>>

  /** @param onFatal called when the file can't be trusted any more */
  constructor(path: string, onFatal: (error: Error) => void) {
    const db = openReader(path)
    this.#db = db
    this.#onFatal = onFatal
    this.#plant = db.prepare('SELECT id, name, tag FROM plants WHERE id = ?')
    this.#token = db.prepare('SELECT * FROM tokens WHERE hash = ?')
    this.#tokens = db.prepare('SELECT * FROM tokens ORDER BY created_at, id')
    const pages = (sign: string, direction: string) => ({
      first: db.prepare(`SELECT id, name, tag FROM plants ORDER BY id ${direction} LIMIT ?`),
      next: db.prepare(`SELECT id, name, tag FROM plants WHERE id ${sign} ? ORDER BY id ${direction} LIMIT ?`),
    })
    this.#pages = { id: pages('>', 'ASC'), '-id': pages('<', 'DESC') }
  }

  plant(id: bigint): NewPlant | undefined {
    const row = this.#read(() => this.#plant.get(id))
    return row === undefined ? undefined : plantOf(row)
  }

  /** A page of plants by id; undefined when it is not short or needs an index. */
  page(query: PlantQuery, limit: number): NewPlant[] | undefined {
    if (isByName(query.order) || query.tags.length + query.words.length > 0 || limit > SHORT_PAGE) return undefined
    const { first, next } = this.#pages[isDescending(query.order) ? '-id' : 'id']
    const { after } = query
    return this.#read(() => (after === undefined ? first.all(limit) : next.all(after.id, limit))).map(plantOf)
  }

  token(hash: Buffer): Token | undefined {
    const row = this.#read(() => this.#token.get(hash))
    return row === undefined ? undefined : tokenOf(row)
  }

  tokens(): Token[] {
    return this.#read(() => this.#tokens.all()).map(tokenOf)
  }

  close(): void {
    this.#db.close()
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

function tokenOf(row: Record<string, unknown>): Token {
  const date = (value: unknown) => (value === null ? undefined : new Date(Number(value)))
  return {
    id: String(row['id']),
    name: String(row['name']),
    scopes: String(row['scopes']).split(' ') as Scope[],
    createdAt: new Date(Number(row['created_at'])),
    expiresAt: date(row['expires_at']),
    lastUsedAt: date(row['last_used_at']),
  }
}
