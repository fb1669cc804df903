import assert from 'node:assert/strict'
import { AppError } from '../../src/domain/errors.ts'
import type { ImportMode, NewPlant } from '../../src/domain/plant.ts'
import { type PlantFilter, type PlantOrder, type PlantQuery, positionOf } from '../../src/domain/plant-query.ts'
import type { Store } from '../../src/domain/store.ts'
import { TESTER } from './actor.ts'
import { until } from './until.ts'

export const EVERYTHING: PlantFilter = { tags: [], words: [] }

/** Lists all plants of the query page by page, from its position on. */
export async function listAll(store: Store, query: Partial<PlantQuery> = {}, limit = 1000): Promise<NewPlant[]> {
  const all: NewPlant[] = []
  let whole: PlantQuery = { ...EVERYTHING, order: 'id', after: undefined, ...query }
  for (;;) {
    const page = await store.listPlants(whole, limit)
    all.push(...page)
    const last = page.at(-1)
    // A page with fewer plants than its limit need not be the last one.
    if (last === undefined) return all
    whole = { ...whole, after: positionOf(whole.order, last) }
  }
}

export async function exportAll(store: Store, filter = EVERYTHING, order: PlantOrder = 'id'): Promise<NewPlant[]> {
  return (await Array.fromAsync(store.exportPlants(filter, order))).flat()
}

/** Imports plants in groups of 5,000. */
export async function importAll(store: Store, plants: readonly NewPlant[], mode: ImportMode = 'add'): Promise<void> {
  for (let i = 0; i < plants.length; i += 5000) {
    for (const result of await store.importPlants(plants.slice(i, i + 5000), mode, TESTER))
      assert.equal(typeof result, 'string')
  }
}

/** Imports plants, of which each is made by its number, from 0. */
export function importMany(
  store: Store,
  count: number,
  make: (i: number) => NewPlant,
  mode?: ImportMode,
): Promise<void> {
  const plants = Array.from({ length: count }, (_, i) => make(i))
  return importAll(store, plants, mode)
}

/** The refusals of a search, and of a write, for which the index is too far behind. */
const BEHIND = [50301, 42901]

/** Asks again while the search index is too far behind, as it may be on a busy machine. */
export async function onceIndexed<T>(read: () => Promise<T>): Promise<T> {
  const answers: T[] = []
  const isAnswered = () =>
    read().then(
      (found) => answers.push(found) > 0,
      (error: unknown) => {
        if (error instanceof AppError && BEHIND.includes(error.number)) return false
        throw error
      },
    )
  await until(isAnswered, 'the index stays behind')
  return answers[0] as T
}
