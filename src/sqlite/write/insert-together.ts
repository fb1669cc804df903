import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { NewPlant } from '../../plant.ts'
import { isRowFault, sqliteFault } from '../errors.ts'

/** Plants of one statement. */
const ROWS = 8

/**
 * Inserts eight plants with one statement, in two thirds of the time of eight statements. If one of the ids exists,
 * SQLite inserts none of them (https://sqlite.org/lang_conflict.html, ABORT).
 */
export class InsertTogether {
  readonly #insert: StatementSync

  constructor(db: DatabaseSync) {
    const rows = Array(ROWS).fill('(?, ?, ?)').join(', ')
    this.#insert = db.prepare(`INSERT INTO plants (id, name, tag) VALUES ${rows}`)
  }

  /**
   * Inserts the first plants, up to the eight of which SQLite refuses one.
   *
   * @returns the number of inserted plants; the caller puts the others one by one
   */
  insertFirst(rows: readonly { readonly plant: NewPlant }[]): number {
    let count = 0
    while (count + ROWS <= rows.length && this.#tryFrom(rows, count)) count += ROWS
    return count
  }

  #tryFrom(rows: readonly { readonly plant: NewPlant }[], start: number): boolean {
    const values: (bigint | string | null)[] = []
    for (const { plant } of rows.slice(start, start + ROWS)) values.push(plant.id, plant.name, plant.tag ?? null)
    try {
      this.#insert.run(...values)
      return true
    } catch (error) {
      const fault = sqliteFault(error)
      if (fault === undefined || !isRowFault(fault)) throw error
      return false
    }
  }
}
