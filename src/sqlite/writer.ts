import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { AppError } from '../errors.ts'
import { afterChange, idOf, type PlantChange } from '../plant-change.ts'
import type { ImportMode } from '../store.ts'
import { openWriter, transaction, type WriterOptions } from './connection.ts'
import { isRowFault, sqliteFault } from './errors.ts'
import { type ChangeOutcome, OUTCOME, type RowOutcome } from './outcome.ts'
import { PLANT_ROW_LENGTH, type PlantRows, plantOf } from './rows.ts'

/** Rows lie flat in one array, four values each: it crosses to the writer's thread in half the time of objects. */
export type CreateRows = (bigint | string | boolean | null)[]
export const CREATE_ROW_LENGTH = 4

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
  readonly #putPlant: StatementSync
  readonly #deletePlant: StatementSync
  readonly #checkWrite: StatementSync
  readonly #logPages: StatementSync
  readonly #insertToken: StatementSync
  readonly #touchToken: StatementSync
  readonly #deleteToken: StatementSync

  constructor(path: string, options: WriterOptions = {}) {
    const db = openWriter(path, options)
    this.#db = db
    this.#insertPlant = db.prepare('INSERT INTO plants (id, name, tag) VALUES (?, ?, ?) ON CONFLICT (id) DO NOTHING')
    this.#selectPlant = db.prepare('SELECT id, name, tag FROM plants WHERE id = ?')
    this.#putPlant = db.prepare('INSERT OR REPLACE INTO plants (id, name, tag) VALUES (?, ?, ?)')
    this.#deletePlant = db.prepare('DELETE FROM plants WHERE id = ?')
    this.#checkWrite = db.prepare('UPDATE write_check SET checked_at = ?')
    this.#logPages = db.prepare('PRAGMA wal_checkpoint(NOOP)')
    this.#insertToken = db.prepare(
      'INSERT INTO tokens (id, hash, name, scopes, created_at, expires_at) VALUES (?, ?, ?, ?, ?, ?)',
    )
    this.#touchToken = db.prepare('UPDATE tokens SET last_used_at = ? WHERE id = ?')
    this.#deleteToken = db.prepare('DELETE FROM tokens WHERE id = ?')
  }

  createPlants(rows: CreateRows): RowOutcome[] {
    return transaction(this.#db, () => {
      const outcomes: RowOutcome[] = []
      for (let i = 0; i < rows.length; i += CREATE_ROW_LENGTH) {
        const outcome = this.#putIfAbsent(rows[i] as bigint, rows[i + 1] as string, rows[i + 2] as string | null)
        outcomes.push(rows[i + 3] === true && isThere(outcome) ? OUTCOME.exists : outcome)
      }
      return outcomes
    })
  }

  /** In the order of the changes, each on what the one before has left; a refused one changes nothing. */
  changePlants(changes: readonly PlantChange[]): ChangeOutcome[] {
    return transaction(this.#db, () => changes.map((change) => this.#change(change)))
  }

  importPlants(rows: PlantRows, mode: ImportMode): RowOutcome[] {
    return transaction(this.#db, () => {
      const outcomes: RowOutcome[] = []
      for (let i = 0; i < rows.length; i += PLANT_ROW_LENGTH) {
        const [id, name, tag] = [rows[i] as bigint, rows[i + 1] as string, rows[i + 2] as string | null]
        let outcome = this.#putIfAbsent(id, name, tag)
        if (outcome === OUTCOME.conflict && mode === 'update') {
          this.#putPlant.run(id, name, tag)
          outcome = OUTCOME.updated
        }
        outcomes.push(outcome)
      }
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

  /** Pages that the log holds now; some may be in the file already (https://sqlite.org/pragma.html#pragma_wal_checkpoint). */
  logPages(): number {
    return Number(this.#logPages.get()?.['log'] ?? 0)
  }

  /** Copies the log back into the file, so that it can be written from its start again. */
  checkpoint(): void {
    this.#db.exec('PRAGMA wal_checkpoint(PASSIVE)')
  }

  close(): void {
    this.#db.close()
  }

  #putIfAbsent(id: bigint, name: string, tag: string | null): RowOutcome {
    try {
      if (this.#insertPlant.run(id, name, tag).changes === 1n) return OUTCOME.created
    } catch (error) {
      const fault = sqliteFault(error)
      if (fault === undefined || !isRowFault(fault)) throw error
      return fault
    }
    const there = this.#selectPlant.get(id)
    return there?.['name'] === name && there['tag'] === tag ? OUTCOME.unchanged : OUTCOME.conflict
  }

  #change(change: PlantChange): ChangeOutcome {
    try {
      const id = idOf(change)
      const row = this.#selectPlant.get(id)
      const plant = afterChange(change, row === undefined ? undefined : plantOf(row))
      if (plant === undefined) {
        this.#deletePlant.run(id)
        return 'deleted'
      }
      this.#putPlant.run(id, plant.name, plant.tag ?? null)
      return { result: row === undefined ? 'created' : 'replaced', plant }
    } catch (error) {
      if (error instanceof AppError) return { refusal: error.number, message: error.message }
      const fault = sqliteFault(error)
      if (fault === undefined || !isRowFault(fault)) throw error
      return fault
    }
  }
}

const isThere = (outcome: RowOutcome): boolean => outcome === OUTCOME.unchanged || outcome === OUTCOME.conflict

/** The methods of the writer that can be called through a WriterPort. */
export type WriterCalls = Pick<
  SqliteWriter,
  | 'createPlants'
  | 'changePlants'
  | 'importPlants'
  | 'checkWritable'
  | 'createToken'
  | 'touchToken'
  | 'revokeToken'
  | 'logPages'
  | 'checkpoint'
  | 'close'
>
