import type { NewPlant } from '../src/domain/plant.ts'
import { createStoreFile } from '../src/sqlite/open/prepare-file.ts'
import { columnsOf } from '../src/sqlite/rows.ts'
import { Indexer } from '../src/sqlite/search-index/indexer.ts'
import { SqliteWriter } from '../src/sqlite/write/writer.ts'
import { nameOf, tagOf } from './plants.ts'

const GROUP = 100_000

const plantOf = (id: number): NewPlant => ({ id: BigInt(id), name: nameOf(id), tag: tagOf(id) })

/** Creates a store with `plants` indexed plants, with the ids from 1 on. */
export function fill(path: string, plants: number, make: (id: number) => NewPlant = plantOf): void {
  createStoreFile(path)
  const writer = new SqliteWriter(path)
  for (let first = 1; first <= plants; first += GROUP) {
    const group: NewPlant[] = []
    for (let id = first; id < first + GROUP && id <= plants; id++) group.push(make(id))
    writer.importPlants(columnsOf(group), 'add', { actor: 'bench' })
  }
  writer.close()
  const indexer = new Indexer(path)
  while (!indexer.step().isDone);
  indexer.close()
}
