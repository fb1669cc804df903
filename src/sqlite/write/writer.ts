import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { IdRange } from '../../domain/id-store.ts'
import { type NewPlant, textLength } from '../../domain/plant.ts'
import {
  type ChangeOutcome,
  decideChange,
  decidePut,
  idOf,
  isEqual,
  type PlantChange,
  type PutMode,
  type PutOutcome,
} from '../../domain/plant-change.ts'
import type { ImportMode } from '../../domain/store.ts'
import type { RevokeResult } from '../../domain/token-store.ts'
import { type ChangeKind, ChangeLog } from '../change-log/change-log.ts'
import { openWriter, type WriterOptions } from '../connection.ts'
import { type PlantColumns, plantOf, plantsOf } from '../rows.ts'
import { StatementCache } from '../statement-cache.ts'
import type { TokenRow } from '../token-rows.ts'
import { LogKeeper } from '../wal/log-keeper.ts'
import { advanceMark } from '../wal/log-mark.ts'
import { type Refusal, refusalOf } from '../worker/failure.ts'
import type { Served } from '../worker/protocol.ts'
import { IdWriter, type ReservationRow } from './id-writer.ts'
import { removeOldIndexes } from './old-indexes.ts'
import { type IssuedRow, TokenWriter } from './token-writer.ts'

/** Plants in one INSERT. It takes two thirds of the time of one INSERT for each plant. */
const ROWS_PER_INSERT = 8

/** A create, or a plant of an import, with the id of its actor. */
export interface Put {
  readonly plant: NewPlant
  readonly mode: PutMode
  readonly actor: string
}

/** A change, with the id of its actor. */
export interface ChangeRequest {
  readonly change: PlantChange
  readonly actor: string
}

/** The outcome of one put or change, or its refusal. */
export type PutResponse = PutOutcome | Refusal
export type ChangeResponse = ChangeOutcome | Refusal

/** A connection that writes. Each method runs one transaction, and returns after its commit. */
export class SqliteWriter implements Served {
  readonly #db: DatabaseSync
  readonly #keeper: LogKeeper
  readonly #insertMany: StatementSync
  readonly #insertPlant: StatementSync
  readonly #statements: StatementCache
  readonly #putPlant: StatementSync
  readonly #deletePlant: StatementSync
  readonly #log: ChangeLog
  readonly #checkWrite: StatementSync
  readonly #tokens: TokenWriter
  readonly #ids: IdWriter

  constructor(path: string, options: WriterOptions = {}) {
    const db = openWriter(path, options)
    this.#db = db
    this.#keeper = new LogKeeper(db, { checkpoints: options.forEventLoop !== true })
    this.#insertMany = db.prepare(
      `INSERT INTO plants (id, name, tag) VALUES ${Array(ROWS_PER_INSERT).fill('(?, ?, ?)').join(', ')}`,
    )
    this.#insertPlant = db.prepare('INSERT INTO plants (id, name, tag) VALUES (?, ?, ?) ON CONFLICT (id) DO NOTHING')
    this.#statements = new StatementCache(db)
    this.#putPlant = db.prepare('INSERT OR REPLACE INTO plants (id, name, tag) VALUES (?, ?, ?)')
    this.#deletePlant = db.prepare('DELETE FROM plants WHERE id = ?')
    this.#log = new ChangeLog(db)
    this.#checkWrite = db.prepare('UPDATE write_check SET checked_at = ?')
    this.#tokens = new TokenWriter(db)
    this.#ids = new IdWriter(db)
  }

  createPlants(puts: readonly Put[]): PutResponse[] {
    return this.#writePlants(() => {
      const inserted = this.#insertFirst(puts.map(({ plant }) => plant))
      return puts.map(({ plant, mode, actor }, i) =>
        i < inserted ? this.#created(plant, actor) : this.#put(plant, mode, actor),
      )
    })
  }

  importPlants(columns: PlantColumns, mode: ImportMode, actor: string): PutResponse[] {
    return this.#writePlants(() => {
      const plants = plantsOf(columns)
      const inserted = this.#insertFirst(plants)
      return plants.map((plant, i) => (i < inserted ? this.#created(plant, actor) : this.#put(plant, mode, actor)))
    })
  }

  /** Applies the changes in their order. A refused change leaves the others alone. */
  changePlants(requests: readonly ChangeRequest[]): ChangeResponse[] {
    const areDeletes = requests.every(({ change }) => change.kind === 'delete')
    return this.#writePlants(() => requests.map((request) => this.#change(request)), areDeletes)
  }

  /**
   * Removes changes from the log that lie before a position, and are older than a time in milliseconds since 1970.
   *
   * @returns whether more such changes may remain
   */
  trimChanges(position: number, before: number): boolean {
    return this.#keeper.transaction(() => this.#log.trim(position, before), true)
  }

  /** Removes a part of the indexes of older versions. @returns whether more remains */
  removeOldIndexes(): boolean {
    return removeOldIndexes(this.#db, this.#keeper)
  }

  checkWritable(now: number): void {
    this.#keeper.transaction(() => {
      this.#checkWrite.run(now)
      this.#keeper.mustHaveRoom()
    })
  }

  createToken(token: TokenRow): void {
    this.#keeper.transaction(() => this.#tokens.insert(token))
  }

  issueToken(...request: Parameters<TokenWriter['issue']>): IssuedRow {
    return this.#keeper.transaction(() => this.#tokens.issue(...request))
  }

  touchToken(id: string, usedAt: number): void {
    this.#keeper.transaction(() => this.#tokens.touch(id, usedAt))
  }

  revokeToken(id: string, now: number, sparesLast: boolean): RevokeResult {
    return this.#keeper.transaction(() => this.#tokens.revoke(id, now, sparesLast))
  }

  reserveIds(...request: Parameters<IdWriter['reserve']>): IdRange | undefined {
    return this.#keeper.transaction(() => this.#ids.reserve(...request))
  }

  addReservation(reservation: ReservationRow): void {
    this.#keeper.transaction(() => this.#ids.add(reservation))
  }

  /** Writes the store's mark to the WAL. This real write also shows whether the store is writable. */
  beginLog(): void {
    this.#keeper.transaction(() => advanceMark(this.#db))
  }

  /** Whether the WAL is long enough for a checkpoint. */
  isLogLong(): boolean {
    return this.#keeper.isLong()
  }

  checkpoint(): void {
    this.#keeper.checkpoint()
  }

  restartLog(): void {
    this.#keeper.restart()
  }

  /** Called when another connection found the disk full. */
  makeRoom(): void {
    this.#keeper.makeRoom()
  }

  close(): void {
    this.#db.close()
  }

  /** Runs `work` in one transaction, and logs its changes in the same transaction. */
  #writePlants<T>(work: () => T, isDelete = false): T {
    return this.#keeper.transaction(() => {
      this.#log.begin()
      const result = work()
      this.#log.flush()
      return result
    }, isDelete)
  }

  /**
   * Inserts the first plants, ROWS_PER_INSERT with each statement, until SQLite refuses a statement. A refused
   * statement inserts none of its plants (https://sqlite.org/lang_conflict.html, ABORT).
   *
   * @returns the number of inserted plants
   */
  #insertFirst(plants: readonly NewPlant[]): number {
    let count = 0
    while (count + ROWS_PER_INSERT <= plants.length) {
      const values: (bigint | string | null)[] = []
      for (const { id, name, tag } of plants.slice(count, count + ROWS_PER_INSERT)) values.push(id, name, tag ?? null)
      if (orRefusal(() => void this.#insertMany.run(...values)) !== undefined) break
      count += ROWS_PER_INSERT
    }
    return count
  }

  /** Inserts the plant, and reads the present one only after a conflict: most puts are of new plants. */
  #put(plant: NewPlant, mode: PutMode, actor: string): PutResponse {
    const { id, name, tag } = plant
    const isNew = orRefusal(() => this.#insertPlant.run(id, name, tag ?? null).changes === 1n)
    if (isNew === true) return this.#created(plant, actor)
    if (isNew !== false) return isNew
    const present = this.#plant(id)
    if (present === undefined) throw new Error(`SQLite has not inserted the plant ${id}, and has none with its id`)
    const outcome = decidePut(mode, plant, present)
    return outcome === 'updated' ? (this.#replace(plant, present, 'replace', actor) ?? outcome) : outcome
  }

  #created(plant: NewPlant, actor: string): 'created' {
    this.#log.created(plant.id, textLength(plant), actor)
    return 'created'
  }

  #change({ change, actor }: ChangeRequest): ChangeResponse {
    // node:sqlite refuses to bind an id beyond int64.
    const decided = orRefusal(() => {
      const present = this.#plant(idOf(change))
      return { present, outcome: decideChange(change, present) }
    })
    if ('failure' in decided) return decided
    const { present, outcome } = decided
    if (outcome.result === 'deleted') return this.#delete(present, actor) ?? outcome
    if (isEqual(present, outcome.plant)) return outcome
    const kind = change.kind === 'update' ? 'update' : 'replace'
    return this.#replace(outcome.plant, present, kind, actor) ?? outcome
  }

  #plant(id: bigint): NewPlant | undefined {
    const row = this.#statements.get('SELECT id, name, tag FROM plants WHERE id = ?', id)
    return row === undefined ? undefined : plantOf(row)
  }

  /** @returns the refusal of this plant. Throws a fault of the log of changes, which rolls the whole group back */
  #replace(plant: NewPlant, present: NewPlant | undefined, kind: ChangeKind, actor: string): Refusal | undefined {
    const { id, name, tag } = plant
    const refusal = orRefusal(() => void this.#putPlant.run(id, name, tag ?? null))
    if (refusal !== undefined) return refusal
    if (present !== undefined) this.#log.changed(kind, present, actor)
    else this.#log.created(id, textLength(plant), actor)
    return undefined
  }

  /** @returns the refusal of this plant; see `#replace` */
  #delete(plant: NewPlant | undefined, actor: string): Refusal | undefined {
    if (plant === undefined) return undefined
    const refusal = orRefusal(() => void this.#deletePlant.run(plant.id))
    if (refusal === undefined) this.#log.changed('delete', plant, actor)
    return refusal
  }
}

/** Returns an error that concerns one plant alone. Throws every other error, which rolls the transaction back. */
function orRefusal<T>(work: () => T): T | Refusal {
  try {
    return work()
  } catch (error) {
    const refusal = refusalOf(error)
    if (refusal === undefined) throw error
    return refusal
  }
}
