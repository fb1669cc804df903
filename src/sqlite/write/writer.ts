import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { AppError } from '../../errors.ts'
import type { NewPlant } from '../../plant.ts'
import {
  type ChangeOutcome,
  decideChange,
  decidePut,
  idOf,
  isEqual,
  type PlantChange,
  type PutMode,
} from '../../plant-change.ts'
import type { ImportMode } from '../../store.ts'
import type { RevokeResult } from '../../token-store.ts'
import { type ChangeKind, ChangeLog } from '../change-log/change-log.ts'
import { openWriter, type WriterOptions } from '../connection.ts'
import { isRowFault, type SqliteFault, sqliteFault } from '../errors.ts'
import { PLANT_ROW_LENGTH, type PlantRows, plantAt, plantOf } from '../rows.ts'
import type { TokenRow } from '../token-rows.ts'
import { LogKeeper } from '../wal/log-keeper.ts'
import { advanceMark } from '../wal/log-mark.ts'
import type { Served } from '../worker/protocol.ts'
import { InsertTogether } from './insert-together.ts'
import { removeOldIndexes } from './old-indexes.ts'
import type { ChangeResponse, RowOutcome } from './results.ts'
import { type MintOutcome, TokenWriter } from './token-writer.ts'

/**
 * Rows lie flat in one array: id, name, tag, whether the plant must be new, and the id of the actor. It crosses to the
 * writer's thread in half the time of objects.
 */
export type CreateRows = (bigint | string | boolean | null)[]
export const CREATE_ROW_LENGTH = 5

/** A change, and the id of its actor. */
export interface ChangeRequest {
  readonly change: PlantChange
  readonly actor: string
}

/** The one connection that writes. Each method is one transaction, and returns after its commit. */
export class SqliteWriter implements Served {
  readonly #db: DatabaseSync
  readonly #keeper: LogKeeper
  readonly #insertTogether: InsertTogether
  readonly #insertPlant: StatementSync
  readonly #selectPlant: StatementSync
  readonly #putPlant: StatementSync
  readonly #deletePlant: StatementSync
  readonly #log: ChangeLog
  readonly #checkWrite: StatementSync
  readonly #tokens: TokenWriter

  constructor(path: string, options: WriterOptions = {}) {
    const db = openWriter(path, options)
    this.#db = db
    this.#keeper = new LogKeeper(db, { folds: options.isHasty !== true })
    this.#insertTogether = new InsertTogether(db)
    this.#insertPlant = db.prepare('INSERT INTO plants (id, name, tag) VALUES (?, ?, ?) ON CONFLICT (id) DO NOTHING')
    this.#selectPlant = db.prepare('SELECT id, name, tag FROM plants WHERE id = ?')
    this.#putPlant = db.prepare('INSERT OR REPLACE INTO plants (id, name, tag) VALUES (?, ?, ?)')
    this.#deletePlant = db.prepare('DELETE FROM plants WHERE id = ?')
    this.#log = new ChangeLog(db)
    this.#checkWrite = db.prepare('UPDATE write_check SET checked_at = ?')
    this.#tokens = new TokenWriter(db)
  }

  createPlants(rows: CreateRows): RowOutcome[] {
    return this.#writePlants(() => {
      const outcomes: RowOutcome[] = []
      const actorAt = (i: number) => rows[i + 4] as string
      const rest = this.#insertNew(rows, CREATE_ROW_LENGTH, actorAt, outcomes)
      for (let i = rest; i < rows.length; i += CREATE_ROW_LENGTH) {
        outcomes.push(this.#put(plantAt(rows, i), rows[i + 3] === true ? 'new' : 'add', actorAt(i)))
      }
      return outcomes
    })
  }

  /** In the order of the changes, each on what the one before has left; a refused one changes nothing. */
  changePlants(requests: readonly ChangeRequest[]): ChangeResponse[] {
    return this.#writePlants(() => requests.map(({ change, actor }) => this.#change(change, actor)))
  }

  importPlants(rows: PlantRows, mode: ImportMode, actor: string): RowOutcome[] {
    return this.#writePlants(() => {
      const outcomes: RowOutcome[] = []
      const rest = this.#insertNew(rows, PLANT_ROW_LENGTH, () => actor, outcomes)
      for (let i = rest; i < rows.length; i += PLANT_ROW_LENGTH) {
        outcomes.push(this.#put(plantAt(rows, i), mode, actor))
      }
      return outcomes
    })
  }

  /**
   * Forgets changes up to, and without, a position that were made before a time in milliseconds since 1970.
   *
   * @returns whether there may be more of them
   */
  trimChanges(position: number, before: number): boolean {
    return this.#keeper.transaction(() => this.#log.trim(position, before))
  }

  /** Removes a part of the indexes of older versions. @returns whether there is more of them */
  removeOldIndexes(): boolean {
    return removeOldIndexes(this.#db, this.#keeper)
  }

  checkWritable(now: number): void {
    this.#keeper.transaction(() => this.#checkWrite.run(now))
  }

  createToken(token: TokenRow): void {
    this.#keeper.transaction(() => this.#tokens.insert(token))
  }

  mintToken(...request: Parameters<TokenWriter['mint']>): MintOutcome {
    return this.#keeper.transaction(() => this.#tokens.mint(...request))
  }

  touchToken(id: string, usedAt: number): void {
    this.#keeper.transaction(() => this.#tokens.touch(id, usedAt))
  }

  revokeToken(id: string, now: number, sparesLast: boolean): RevokeResult {
    return this.#keeper.transaction(() => this.#tokens.revoke(id, now, sparesLast))
  }

  /** Begins a log by the mark that tells whose it is; a real write, so it also tells whether there can be any. */
  beginLog(): void {
    this.#keeper.transaction(() => advanceMark(this.#db))
  }

  /** Whether it is time to fold the log in. */
  isLogLong(): boolean {
    return this.#keeper.isLong()
  }

  foldLog(): void {
    this.#keeper.fold()
  }

  /** Called when another connection found no space. */
  makeRoom(): void {
    this.#keeper.makeRoom()
  }

  close(): void {
    this.#db.close()
  }

  /** One transaction that also logs its changes. */
  #writePlants<T>(work: () => T): T {
    return this.#keeper.transaction(() => {
      this.#log.begin()
      const result = work()
      this.#log.flush()
      return result
    })
  }

  /** Inserts those of the first rows that are new, many with one statement, and returns where the rest begins. */
  #insertNew(
    rows: CreateRows | PlantRows,
    rowLength: number,
    actorAt: (i: number) => string,
    outcomes: RowOutcome[],
  ): number {
    const rest = this.#insertTogether.insertFirst(rows, rowLength)
    for (let i = 0; i < rest; i += rowLength) {
      this.#log.created(rows[i] as bigint, textAt(rows, i), actorAt(i))
      outcomes.push('created')
    }
    return rest
  }

  /** Inserts first and reads only on a conflict, as most puts are new. */
  #put(plant: NewPlant, mode: PutMode, actor: string): RowOutcome {
    const { id, name, tag } = plant
    let isNew: boolean
    try {
      isNew = this.#insertPlant.run(id, name, tag ?? null).changes === 1n
    } catch (error) {
      return rowFault(error)
    }
    if (isNew) {
      this.#log.created(id, textOf(plant), actor)
      return 'created'
    }
    const present = this.#plant(id)
    if (present === undefined) throw new Error(`SQLite has not inserted the plant ${id}, and has none with its id`)
    const outcome = decidePut(mode, plant, present)
    return outcome === 'updated' ? (this.#replace(plant, present, 'replace', actor) ?? outcome) : outcome
  }

  #change(change: PlantChange, actor: string): ChangeResponse {
    let present: NewPlant | undefined
    let outcome: ChangeOutcome
    try {
      present = this.#plant(idOf(change))
      outcome = decideChange(change, present)
    } catch (error) {
      return error instanceof AppError ? { refusal: error.number, message: error.message } : rowFault(error)
    }
    if (outcome.result === 'deleted') return this.#delete(present, actor) ?? outcome
    if (isEqual(present, outcome.plant)) return outcome
    const kind = change.kind === 'update' ? 'update' : 'replace'
    return this.#replace(outcome.plant, present, kind, actor) ?? outcome
  }

  #plant(id: bigint): NewPlant | undefined {
    const row = this.#selectPlant.get(id)
    return row === undefined ? undefined : plantOf(row)
  }

  /** @returns the fault that refused this row alone; a fault of the log of changes is thrown, and undoes the group */
  #replace(plant: NewPlant, present: NewPlant | undefined, kind: ChangeKind, actor: string): SqliteFault | undefined {
    try {
      this.#putPlant.run(plant.id, plant.name, plant.tag ?? null)
    } catch (error) {
      return rowFault(error)
    }
    if (present !== undefined) this.#log.changed(kind, present, actor)
    else this.#log.created(plant.id, textOf(plant), actor)
    return undefined
  }

  /** @returns the same as `#replace` */
  #delete(plant: NewPlant | undefined, actor: string): SqliteFault | undefined {
    if (plant === undefined) return undefined
    try {
      this.#deletePlant.run(plant.id)
    } catch (error) {
      return rowFault(error)
    }
    this.#log.changed('delete', plant, actor)
    return undefined
  }
}

/** UTF-16 units of the name and the tag. */
const textOf = ({ name, tag }: NewPlant): number => name.length + (tag?.length ?? 0)

/** The same of the plant that begins at `i`. */
const textAt = (rows: CreateRows | PlantRows, i: number): number =>
  (rows[i + 1] as string).length + ((rows[i + 2] as string | null)?.length ?? 0)

function rowFault(error: unknown): SqliteFault {
  const fault = sqliteFault(error)
  if (fault === undefined || !isRowFault(fault)) throw error
  return fault
}
