import assert from 'node:assert/strict'
import type { NewPlant } from '../../src/plant.ts'
import { type PlantFilter, type PlantOrder, type PlantQuery, positionOf } from '../../src/plant-query.ts'
import type { ImportMode, Store } from '../../src/store.ts'
import { TESTER } from './actor.ts'

export const EVERYTHING: PlantFilter = { tags: [], words: [] }

/** All plants of the query, page by page from its position on. */
export async function listAll(store: Store, query: Partial<PlantQuery> = {}, limit = 1000): Promise<NewPlant[]> {
  const all: NewPlant[] = []
  let whole: PlantQuery = { ...EVERYTHING, order: 'id', after: undefined, ...query }
  for (;;) {
    const page = await store.listPlants(whole, limit)
    all.push(...page)
    const last = page.at(-1)
    // A page may have fewer plants than its limit and not be the last.
    if (last === undefined) return all
    whole = { ...whole, after: positionOf(whole.order, last) }
  }
}

export async function exportAll(store: Store, filter = EVERYTHING, order: PlantOrder = 'id'): Promise<NewPlant[]> {
  return (await Array.fromAsync(store.exportPlants(filter, order))).flat()
}

/** Plants go in groups of a few thousand, as an import sends them. */
export async function importAll(store: Store, plants: readonly NewPlant[], mode: ImportMode = 'add'): Promise<void> {
  for (let i = 0; i < plants.length; i += 5000) {
    for (const result of await store.importPlants(plants.slice(i, i + 5000), mode, TESTER))
      assert.equal(typeof result, 'string')
  }
}
