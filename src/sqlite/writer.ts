import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite'
import { openWriter, transaction } from './connection.ts'
import { isRowFault, type SqliteFault, sqliteFault } from './errors.ts'

/** Rows lie flat in one array, four values each: it crosses to the writer's thread in half the time of objects. */
export type CreateRows = (bigint | string | boolean | null)[]
export const CREATE_ROW_LENGTH = 4

/** What became of one row: a number, or the fault that refused this row alone. */
export type RowOutcome = (typeof OUTCOME)[keyof typeof OUTCOME] | SqliteFault
export const OUTCOME = { created: 0, unchanged: 1, conflict: 2, exists: 3 } as const

export interface TokenRow {
  readonly id: string
  readonly hash: Uint8Array
  readonly name: string
  readonly scopes: string
  readonly createdAt: number
  readonly expiresAt: number | null
}

/** The one connection that writes. Each method is one transaction, and returns after its commit. */
export class SqliteWriter {
  readonly #db: DatabaseSync
  readonly #insertPlant: StatementSync
  readonly #selectPlant: StatementSync
  readonly #checkWrite: StatementSync
  readonly #insertToken: StatementSync
  readonly #touchToken: StatementSync
  readonly #deleteToken: StatementSync

  constructor(path: string) {
    const db = openWriter(path)
    this.#db = db
    this.#insertPlant = db.prepare('INSERT INTO plants (id, name, tag) VALUES (?, ?, ?) ON CONFLICT (id) DO NOTHING')
    this.#selectPlant = db.prepare('SELECT name, tag FROM plants WHERE id = ?')
    this.#checkWrite = db.prepare('UPDATE write_check SET checked_at = ?')
    this.#insertToken = db.prepare(
      'INSERT INTO tokens (id, hash, name, scopes, created_at, expires_at) VALUES (?, ?, ?, ?, ?, ?)',
    )
    this.#touchToken = db.prepare('UPDATE tokens SET last_used_at = ? WHERE id = ?')
    this.#deleteToken = db.prepare('DELETE FROM tokens WHERE id = ?')
  }

  createPlants(rows: CreateRows): RowOutcome[] {
    return transaction(this.#db, () => {
      const outcomes: RowOutcome[] = []
      for (let i = 0; i < rows.length; i += CREATE_ROW_LENGTH) outcomes.push(this.#createPlant(rows, i))
      return outcomes
    })
  }

  checkWritable(now: number): void {
    transaction(this.#db, () => this.#checkWrite.run(now))
  }

  createToken(token: TokenRow): void {
    const { id, hash, name, scopes, createdAt, expiresAt } = token
    transaction(this.#db, () => this.#insertToken.run(id, hash, name, scopes, createdAt, expiresAt))
  }

  touchToken(id: string, usedAt: number): void {
    transaction(this.#db, () => this.#touchToken.run(usedAt, id))
  }

  revokeToken(id: string): boolean {
    return transaction(this.#db, () => this.#deleteToken.run(id).changes > 0)
  }

  close(): void {
    this.#db.close()
  }

  #createPlant(rows: CreateRows, i: number): RowOutcome {
    const id = rows[i] as bigint
    const name = rows[i + 1] as string
    const tag = rows[i + 2] as string | null
    try {
      if (this.#insertPlant.run(id, name, tag satisfies SQLInputValue).changes === 1n) return OUTCOME.created
    } catch (error) {
      const fault = sqliteFault(error)
      if (fault === undefined || !isRowFault(fault)) throw error
      return fault
    }
    if (rows[i + 3] === true) return OUTCOME.exists
    const there = this.#selectPlant.get(id)
    return there?.['name'] === name && there['tag'] === tag ? OUTCOME.unchanged : OUTCOME.conflict
  }
}

/** The methods of the writer that are called from another thread. */
export type WriterCalls = Pick<
  SqliteWriter,
  'createPlants' | 'checkWritable' | 'createToken' | 'touchToken' | 'revokeToken' | 'close'
>
