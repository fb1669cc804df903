import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { UndoStep } from '../../domain/actions.ts'
import {
  type ChangeOutcome,
  decideChange,
  decidePut,
  expectedBy,
  type ImportedPlant,
  type ImportMode,
  idOf,
  isEqual,
  type NewPlant,
  type PlantChange,
  type PutMode,
  type PutOutcome,
} from '../../domain/plant.ts'
import { addReservation, reserveIds } from '../../records/ids.ts'
import { SteadyClock } from '../../records/steady-clock.ts'
import type { Steps } from '../../records/steps.ts'
import { createToken, issueToken, revokeToken } from '../../records/tokens.ts'
import { undoStep } from '../change-log/action-reader.ts'
import type { Author } from '../change-log/action-writer.ts'
import { ChangeWriter } from '../change-log/change-writer.ts'
import { type Keep, trimChanges } from '../change-log/trim.ts'
import { openWriter, type WriterOptions } from '../connection.ts'
import { indexWork, PLANT_WORK, SQL_WORK } from '../indexed.ts'
import { ownText, type PlantColumns, plantAt, plantsOf, runSteps, type Statement, StatementCache } from '../rows.ts'
import { WalCheckpointer } from '../wal/checkpointer.ts'
import { type Refusal, refusalOf, type Served } from '../worker/protocol.ts'

/** Plants in one INSERT. It takes two thirds of the time of one INSERT for each plant. */
const ROWS_PER_INSERT = 8

const TABLES =
  'plants, tokens, write_check, changes, actions, action_rows, store_identity, id_reservations, webhooks, webhook_attempts, steady_times'

/** A create, or a plant of an import, with its author. */
export interface Put extends Author {
  readonly plant: ImportedPlant
  readonly mode: PutMode
}

export interface ChangeRequest extends Author {
  readonly change: PlantChange
}

/** A deleted plant comes with the work that it was for the search index. */
type Deleted = { readonly result: 'deleted'; readonly work: number }
export type PutResponse = Exclude<PutOutcome, 'deleted'> | Deleted | Refusal
export type ChangeResponse = ChangeOutcome | Deleted | Refusal

export interface UndoneStep {
  readonly step: UndoStep
  readonly work: number
  readonly changes: number
}

/** A connection that writes. Each method runs one transaction, and returns after its commit. */
export class SqliteWriter implements Served {
  readonly #db: DatabaseSync
  readonly #wal: WalCheckpointer
  readonly #insertMany: StatementSync
  readonly #insertPlant: StatementSync
  readonly #statements: StatementCache
  readonly #changeLog: ChangeWriter
  readonly #clock = new SteadyClock('SELECT max(position) FROM changes')
  readonly createToken = this.#transacting(createToken)
  readonly issueToken = this.#transacting(issueToken)
  readonly revokeToken = this.#transacting(revokeToken)
  readonly reserveIds = this.#transacting(
    (count: number, key: Uint8Array | undefined, actor: string, content?: Uint8Array) =>
      reserveIds(count, key, this.#clock, actor, content),
  )
  readonly addReservation = this.#transacting(addReservation)

  constructor(path: string, options: WriterOptions = {}) {
    const db = openWriter(path, options)
    this.#db = db
    this.#wal = new WalCheckpointer(db, path, { checkpoints: options.forEventLoop !== true })
    const rows = Array.from({ length: ROWS_PER_INSERT }, (_, i) => `(?${3 * i + 2}, ?${3 * i + 3}, ?${3 * i + 4}, ?1)`)
    this.#insertMany = db.prepare(`INSERT INTO plants (id, name, tag, created) VALUES ${rows.join(', ')}`)
    this.#insertPlant = db.prepare(
      'INSERT INTO plants (id, name, tag, created) VALUES (?, ?, ?, ?) ON CONFLICT (id) DO NOTHING',
    )
    // A store that lacks a table is refused when it opens, and not by the first request that needs the table.
    db.prepare(`SELECT 1 FROM ${TABLES}`)
    this.#statements = new StatementCache(db)
    this.#changeLog = new ChangeWriter(this.#statements)
  }

  createPlants(puts: readonly Put[]): PutResponse[] {
    const areDeletes = puts.every(({ mode }) => mode === 'delete')
    return this.#writePlants(() => {
      const inserted = this.#insertFirst(puts)
      return puts.map((put, i) => (i < inserted ? this.#created(put.plant, put) : orRefusal(() => this.#put(put))))
    }, areDeletes)
  }

  importPlants(columns: PlantColumns, mode: ImportMode, author: Author): PutResponse[] {
    return this.createPlants(plantsOf(columns).map((plant) => ({ plant, mode, ...author })))
  }

  /** Applies the changes in their order. A refused change leaves the others alone. */
  changePlants(requests: readonly ChangeRequest[]): ChangeResponse[] {
    const areDeletes = requests.every(({ change }) => change.kind === 'delete')
    return this.#writePlants(() => requests.map((request) => orRefusal(() => this.#change(request))), areDeletes)
  }

  /** Makes one step of an undo (ActionLog.undo). @returns also the plants changed and their work for the search index */
  undoAction(action: string, from: string | undefined, author: Author): UndoneStep {
    let work = 0
    let changes = 0
    return this.#writePlants(() => {
      this.#changeLog.mustOwn(author)
      const undo = author.action?.id
      const { position, ...step } = undoStep(
        this.#statements,
        { action, undo, from, part: author.part },
        ({ id, before }) => {
          const present = plantAt(this.#statements, id)
          if (isEqual(present, before)) return
          if (before !== undefined) this.#replace(before, present, 'replace', author)
          work += before === undefined ? this.#delete(present, author).work : indexWork(before)
          changes++
        },
      )
      if (undo !== undefined) this.#changeLog.undone(undo, position)
      return { step, work, changes }
    })
  }

  /** Returns the work of each of these plants for the search index; that of an empty one for a plant that is not stored. */
  worksOf(ids: BigInt64Array): number[] {
    const sql = `SELECT ${SQL_WORK} FROM plants WHERE id = ?`
    return Array.from(ids, (id) => Number(this.#statements.get(sql, id)?.[0] ?? PLANT_WORK))
  }

  trimChanges(position: number, keep: Keep): boolean {
    return this.#wal.transaction(() => trimChanges(this.#statements, this.#clock, position, keep), true)
  }

  checkWritable(now: number): void {
    this.#wal.transaction(() => {
      this.#statements.run('UPDATE write_check SET checked_at = ?', now)
      this.#wal.mustHaveRoom()
    })
  }

  /** Runs statements that change no plants. Returns how many rows each of them changed. */
  run(statements: readonly Statement[]): number[] {
    return this.#wal.transaction(() =>
      statements.map(([text, ...values]) => Number(this.#statements.run(ownText(text), ...values))),
    )
  }

  beginWal(): void {
    this.#wal.begin()
  }

  isWalLong(): boolean {
    return this.#wal.isLong()
  }

  checkpoint(): void {
    this.#wal.checkpoint()
  }

  restartWal(): void {
    this.#wal.restart()
  }

  close(): void {
    this.#wal.end()
    this.#db.close()
  }

  /** Makes a method of steps, which runs them in one transaction. */
  #transacting<Args extends unknown[], Result>(steps: (...args: Args) => Steps<Result>): (...args: Args) => Result {
    return (...args) => this.#wal.transaction(() => runSteps(this.#statements, steps(...args)))
  }

  /** Runs `work` in one transaction, and logs its changes in the same transaction. */
  #writePlants<T>(work: () => T, isDelete = false): T {
    return this.#wal.transaction(() => {
      this.#changeLog.begin()
      const result = work()
      this.#changeLog.end()
      return result
    }, isDelete)
  }

  /**
   * Inserts the first plants, ROWS_PER_INSERT with each statement, until SQLite refuses a statement. A refused
   * statement inserts none of its plants (https://sqlite.org/lang_conflict.html, ABORT).
   *
   * @returns the number of inserted plants
   */
  #insertFirst(puts: readonly Put[]): number {
    let count = 0
    while (count + ROWS_PER_INSERT <= puts.length) {
      const part = puts.slice(count, count + ROWS_PER_INSERT)
      // A plant that must find another one, or deletes it, is not inserted.
      if (part.some(({ mode, plant }) => mode === 'delete' || expectedBy(mode, plant) !== undefined)) break
      const values: (number | bigint | string | null)[] = [this.#changeLog.base]
      for (const { plant } of part) values.push(plant.id, plant.name, plant.tag ?? null)
      const insert = () => {
        for (const put of part) this.#changeLog.mustOwn(put)
        this.#insertMany.run(...values)
      }
      if (orRefusal(insert) !== undefined) break
      count += ROWS_PER_INSERT
    }
    return count
  }

  /** Inserts the plant, and reads the present one only after a conflict: most puts are of new plants. */
  #put(put: Put): Exclude<PutOutcome, 'deleted'> | Deleted {
    const { plant, mode } = put
    this.#changeLog.mustOwn(put)
    if (mode !== 'delete' && expectedBy(mode, plant) === undefined && this.#insert(plant))
      return this.#created(plant, put)
    const present = plantAt(this.#statements, plant.id)
    const outcome = decidePut(mode, plant, present, put.part)
    if (outcome === 'created')
      throw new Error(`SQLite has not inserted the plant ${plant.id}, and has none with its id`)
    if (outcome === 'updated') this.#replace(plant, present, 'replace', put)
    if (outcome === 'deleted') return this.#delete(present, put)
    return outcome
  }

  #change(request: ChangeRequest): ChangeResponse {
    const { change } = request
    this.#changeLog.mustOwn(request)
    const present = plantAt(this.#statements, idOf(change))
    const outcome = decideChange(change, present, request.part)
    if (outcome.result === 'deleted') return this.#delete(present, request)
    if (!isEqual(present, outcome.plant))
      this.#replace(outcome.plant, present, change.kind === 'update' ? 'update' : 'replace', request)
    return outcome
  }

  /** @returns whether there was no plant with this id */
  #insert({ id, name, tag }: NewPlant): boolean {
    return this.#insertPlant.run(id, name, tag ?? null, this.#changeLog.base).changes === 1n
  }

  #created(plant: NewPlant, author: Author): 'created' {
    this.#changeLog.created(plant, author)
    return 'created'
  }

  #replace(plant: NewPlant, present: NewPlant | undefined, kind: 'replace' | 'update', author: Author): void {
    const { id, name, tag } = plant
    if (present === undefined) {
      this.#insert(plant)
      this.#created(plant, author)
    } else {
      this.#statements.run('UPDATE plants SET name = ?, tag = ? WHERE id = ?', name, tag ?? null, id)
      this.#changeLog.changed(kind, present, plant, author)
    }
  }

  #delete(plant: NewPlant | undefined, author: Author): Deleted {
    if (plant === undefined) return { result: 'deleted', work: 0 }
    const [created = null] = this.#statements.all('DELETE FROM plants WHERE id = ? RETURNING created', plant.id)
    this.#changeLog.deleted(plant, author, created?.[0] as bigint | null)
    return { result: 'deleted', work: indexWork(plant) }
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
