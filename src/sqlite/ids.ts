import type { SQLInputValue } from 'node:sqlite'
import {
  findFreeRange,
  type IdRange,
  type IdReservation,
  type IdStore,
  joinRanges,
  KEY_TIME,
  later,
  MAX_FORGOTTEN,
} from '../domain/id-store.ts'
import type { Actor } from '../domain/token.ts'
import type { StatementCache } from './rows.ts'
import type { Remote, Served } from './worker/protocol.ts'

/** The calls of SqliteWriter that reserve ids. */
interface IdWrites extends Served {
  reserveIds(...request: Parameters<IdWriter['reserve']>): IdRange | undefined
  addReservation(reservation: ReservationRow): void
}

/** The calls of PointReader that read ids. */
interface IdReads {
  freeId(): bigint | undefined
  reservations(): IdReservation[]
}

/** Keeps reservations of ids in the file of the store. */
export class SqliteIdStore implements IdStore {
  readonly #reader: () => IdReads
  readonly #writer: () => Remote<IdWrites>

  /** Both functions throw the AppError of a store that is closing or out of reach. */
  constructor(reader: () => IdReads, writer: () => Remote<IdWrites>) {
    this.#reader = reader
    this.#writer = writer
  }

  async proposeId(): Promise<bigint | undefined> {
    return this.#reader().freeId()
  }

  async reserveIds(count: number, key: Buffer | undefined, { id: actor }: Actor): Promise<IdRange | undefined> {
    return this.#writer().reserveIds(count, { key: key ?? null, at: Date.now(), actor })
  }

  async exportReservations(): Promise<IdReservation[]> {
    return this.#reader().reservations()
  }

  async addReservation({ key, at, ...rest }: IdReservation): Promise<void> {
    await this.#writer().addReservation({ ...rest, key: key ?? null, at: at.getTime() })
  }
}

/** A reservation in a message to the writer's thread. `at` is in milliseconds since 1970. */
export interface ReservationRow extends IdRange {
  readonly key: Uint8Array | null
  readonly at: number
  readonly actor: string
}

/** Reserves ids. Call each method inside a transaction of the writer. */
export class IdWriter {
  readonly #statements: StatementCache

  constructor(statements: StatementCache) {
    this.#statements = statements
  }

  /** @returns the present range of a known key; undefined when no range is free */
  reserve(count: number, request: Omit<ReservationRow, keyof IdRange>): IdRange | undefined {
    const { key, at } = request
    const [known] = key === null ? [] : this.#ranges('key = ? AND at > ?', key, at - KEY_TIME)
    if (known !== undefined) return known
    this.#forget(`key IS NOT NULL AND at <= ? ORDER BY at LIMIT ${MAX_FORGOTTEN}`, at - KEY_TIME)
    const range = findFree(this.#statements, count)
    if (range === undefined) return undefined
    this.add({ ...range, ...request })
    if (key === null) this.#join([range])
    return range
  }

  add({ first, last, key, at, actor }: ReservationRow): void {
    const within = 'first_id > ?1 AND first_id <= ?2 AND last_id <= ?2'
    this.#statements.run(`DELETE FROM id_reservations WHERE ${within}`, first, last)
    if (key !== null) this.#forget('key = ? AND first_id <> ?', key, first)
    this.#statements.run(PUT, first, last, key, at, actor)
  }

  /** Takes the keys from the reservations that meet a condition, and joins them with their neighbours. */
  #forget(condition: string, ...values: SQLInputValue[]): void {
    const old = this.#ranges(condition, ...values)
    for (const { first } of old) this.#statements.run('UPDATE id_reservations SET key = NULL WHERE first_id = ?', first)
    this.#join(old)
  }

  /** Joins ranges without a key with their neighbours. */
  #join(own: readonly IdRange[]): void {
    const near = own.flatMap(({ first, last }) => [
      // The index finds the one reservation that may end there.
      ...this.#ranges('first_id < ? ORDER BY first_id DESC LIMIT 1', first)
        .filter((below) => below.last === first - 1n)
        .flatMap((below) => this.#withoutKey(below.first)),
      ...this.#withoutKey(last + 1n),
    ])
    const { grown, gone } = joinRanges([...own, ...near])
    for (const first of gone) this.#statements.run('DELETE FROM id_reservations WHERE first_id = ?', first)
    for (const { first, last } of grown)
      this.#statements.run('UPDATE id_reservations SET last_id = ? WHERE first_id = ?', last, first)
  }

  #withoutKey(first: bigint): IdRange[] {
    return this.#ranges('first_id = ? AND key IS NULL', first)
  }

  #ranges(condition: string, ...values: SQLInputValue[]): IdRange[] {
    const rows = this.#statements.all(`SELECT first_id, last_id FROM id_reservations WHERE ${condition}`, ...values)
    return rows.map(({ 0: first, 1: last }) => ({ first: first as bigint, last: last as bigint }))
  }
}

const PUT = `INSERT INTO id_reservations (first_id, last_id, key, at, actor) VALUES (?, ?, ?, ?, ?)
  ON CONFLICT (first_id) DO UPDATE SET last_id = excluded.last_id, key = excluded.key, at = excluded.at, actor = excluded.actor
  WHERE excluded.last_id >= id_reservations.last_id`

/** Finds free ids, on any connection to the store. @returns undefined when no range of this length is free */
export function findFree(statements: StatementCache, count: number): IdRange | undefined {
  const below = (sql: string, id: bigint): IdRange | undefined => {
    const row = statements.get(sql, id)
    return row && { first: row[0] as bigint, last: row[1] as bigint }
  }
  const search = findFreeRange(count)
  for (let step = search.next(); ; step = search.next(later(below(PLANT, step.value), below(RESERVED, step.value)))) {
    if (step.done === true) return step.value
  }
}

const PLANT = 'SELECT id, id FROM plants WHERE id >= 1 AND id < ? ORDER BY id DESC LIMIT 1'
const RESERVED = 'SELECT first_id, last_id FROM id_reservations WHERE first_id < ? ORDER BY first_id DESC LIMIT 1'
