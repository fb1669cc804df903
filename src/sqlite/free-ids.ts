import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { findFreeRange, type IdRange, later } from '../domain/id-store.ts'

/** Finds free ids, on any connection to the store. */
export class FreeIds {
  readonly #plantBelow: StatementSync
  readonly #reservationBelow: StatementSync

  constructor(db: DatabaseSync) {
    this.#plantBelow = db.prepare('SELECT id FROM plants WHERE id >= 1 AND id < ? ORDER BY id DESC LIMIT 1')
    this.#reservationBelow = db.prepare(
      'SELECT first_id, last_id FROM id_reservations WHERE first_id < ? ORDER BY first_id DESC LIMIT 1',
    )
  }

  /** @returns undefined when no range of this length is free */
  find(count: number): IdRange | undefined {
    const search = findFreeRange(count)
    for (let step = search.next(); ; step = search.next(this.#usedBelow(step.value))) {
      if (step.done === true) return step.value
    }
  }

  #usedBelow(id: bigint): IdRange | undefined {
    const plant = this.#plantBelow.get(id) as { id: bigint } | undefined
    const reserved = this.#reservationBelow.get(id) as { first_id: bigint; last_id: bigint } | undefined
    return later(
      plant === undefined ? undefined : { first: plant.id, last: plant.id },
      reserved === undefined ? undefined : { first: reserved.first_id, last: reserved.last_id },
    )
  }
}
