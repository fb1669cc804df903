import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { type IdRange, joinRanges, KEY_TIME, MAX_FORGOTTEN } from '../../domain/id-store.ts'
import { FreeIds } from '../free-ids.ts'

/** A reservation in a message to the writer's thread. `at` is in milliseconds since 1970. */
export interface ReservationRow extends IdRange {
  readonly key: Uint8Array | null
  readonly at: number
  readonly actor: string
}

/** Reserves ids. Call each method inside a transaction of the writer. */
export class IdWriter {
  readonly #free: FreeIds
  readonly #known: StatementSync
  readonly #old: StatementSync
  readonly #sameKey: StatementSync
  readonly #forget: StatementSync
  readonly #below: StatementSync
  readonly #above: StatementSync
  readonly #grow: StatementSync
  readonly #remove: StatementSync
  readonly #removeWithin: StatementSync
  readonly #put: StatementSync

  constructor(db: DatabaseSync) {
    this.#free = new FreeIds(db)
    const select = 'SELECT first_id AS first, last_id AS last FROM id_reservations WHERE'
    this.#known = db.prepare(`${select} key = ? AND at > ?`)
    this.#old = db.prepare(`${select} key IS NOT NULL AND at <= ? ORDER BY at LIMIT ${MAX_FORGOTTEN}`)
    this.#sameKey = db.prepare(`${select} key = ? AND first_id <> ?`)
    this.#forget = db.prepare('UPDATE id_reservations SET key = NULL WHERE first_id = ?')
    // The index finds the one reservation that may end there.
    this.#below = db.prepare(
      `SELECT first, last FROM (SELECT first_id AS first, last_id AS last, key FROM id_reservations WHERE first_id < ?1 ORDER BY first_id DESC LIMIT 1) WHERE key IS NULL AND last = ?1 - 1`,
    )
    this.#above = db.prepare(`${select} first_id = ? AND key IS NULL`)
    this.#grow = db.prepare('UPDATE id_reservations SET last_id = ? WHERE first_id = ?')
    this.#remove = db.prepare('DELETE FROM id_reservations WHERE first_id = ?')
    this.#removeWithin = db.prepare(
      'DELETE FROM id_reservations WHERE first_id > ?1 AND first_id <= ?2 AND last_id <= ?2',
    )
    this.#put = db.prepare(`INSERT INTO id_reservations (first_id, last_id, key, at, actor) VALUES (?, ?, ?, ?, ?)
      ON CONFLICT (first_id) DO UPDATE SET last_id = excluded.last_id, key = excluded.key, at = excluded.at, actor = excluded.actor
      WHERE excluded.last_id >= id_reservations.last_id`)
  }

  /** @returns the present range of a known key; undefined when no range is free */
  reserve(count: number, request: Omit<ReservationRow, keyof IdRange>): IdRange | undefined {
    const { key, at } = request
    const known = key === null ? [] : ranges(this.#known.all(key, at - KEY_TIME))
    if (known[0] !== undefined) return known[0]
    this.#join(this.#forgotten(ranges(this.#old.all(at - KEY_TIME))))
    const range = this.#free.find(count)
    if (range === undefined) return undefined
    this.add({ ...range, ...request })
    if (key === null) this.#join([range])
    return range
  }

  add({ first, last, key, at, actor }: ReservationRow): void {
    this.#removeWithin.run(first, last)
    if (key !== null) this.#join(this.#forgotten(ranges(this.#sameKey.all(key, first))))
    this.#put.run(first, last, key, at, actor)
  }

  #forgotten(old: readonly IdRange[]): readonly IdRange[] {
    for (const { first } of old) this.#forget.run(first)
    return old
  }

  /** Joins ranges without a key with their neighbours. */
  #join(own: readonly IdRange[]): void {
    const near = own.flatMap(({ first, last }) => ranges([...this.#below.all(first), ...this.#above.all(last + 1n)]))
    const { grown, gone } = joinRanges([...own, ...near])
    for (const first of gone) this.#remove.run(first)
    for (const { first, last } of grown) this.#grow.run(last, first)
  }
}

const ranges = (rows: readonly Record<string, unknown>[]): IdRange[] =>
  rows.map(({ first, last }) => ({ first: first as bigint, last: last as bigint }))
