import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { IdRange } from '../../free-ids.ts'
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
  readonly #select: StatementSync
  readonly #insert: StatementSync

  constructor(db: DatabaseSync) {
    this.#free = new FreeIds(db)
    this.#select = db.prepare('SELECT first_id, last_id FROM id_reservations WHERE key = ?')
    this.#insert = db.prepare(
      'INSERT INTO id_reservations (first_id, last_id, key, at, actor) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING',
    )
  }

  /** @returns the present range of a known key; undefined when no range is free */
  reserve(count: number, request: Omit<ReservationRow, keyof IdRange>): IdRange | undefined {
    const { key } = request
    const known = key === null ? undefined : this.#select.get(key)
    if (known !== undefined) return { first: known['first_id'] as bigint, last: known['last_id'] as bigint }
    const range = this.#free.find(count)
    if (range !== undefined) this.add({ ...range, ...request })
    return range
  }

  add({ first, last, key, at, actor }: ReservationRow): void {
    this.#insert.run(first, last, key, at, actor)
  }
}
