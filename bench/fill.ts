import { createStoreFile } from '../src/sqlite/migrate.ts'
import { type CreateRows, SqliteWriter } from '../src/sqlite/writer.ts'

/** Makes a store with `plants` plants, ids from 1 on, by the service's own writer in large groups. */
export function fill(path: string, plants: number): void {
  createStoreFile(path)
  const writer = new SqliteWriter(path)
  for (let first = 1; first <= plants; first += 100_000) {
    const rows: CreateRows = []
    for (let id = first; id < first + 100_000 && id <= plants; id++) {
      rows.push(BigInt(id), `Monstera deliciosa ${id}`, id % 3 === 0 ? null : 'houseplant', false)
    }
    writer.createPlants(rows)
  }
  writer.close()
}
