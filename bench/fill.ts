import { createStoreFile } from '../src/sqlite/open/create-file.ts'
import type { PlantRows } from '../src/sqlite/rows.ts'
import { Indexer } from '../src/sqlite/search-index/indexer.ts'
import { SqliteWriter } from '../src/sqlite/write/writer.ts'
import { nameOf, tagOf } from './plants.ts'

const GROUP = 100_000

/** Makes a store with `plants` plants, ids from 1 on, and all of them indexed. */
export function fill(path: string, plants: number): void {
  createStoreFile(path)
  const writer = new SqliteWriter(path)
  for (let first = 1; first <= plants; first += GROUP) {
    const rows: PlantRows = []
    for (let id = first; id < first + GROUP && id <= plants; id++) rows.push(BigInt(id), nameOf(id), tagOf(id) ?? null)
    writer.importPlants(rows, 'add', 'bench')
  }
  writer.close()
  const indexer = new Indexer(path)
  while (!indexer.step().isDone);
  indexer.close()
}
