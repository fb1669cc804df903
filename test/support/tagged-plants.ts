import type { NewPlant } from '../../src/domain/plant.ts'
import { matches, type PlantFilter } from '../../src/domain/plant-query.ts'
import { plant } from './store-under-test.ts'

const COUNT = 100_000

/** So many plants that each way to find some of them takes another time: a third has no tag, and a hundredth a bench. */
export function taggedPlants(): NewPlant[] {
  return Array.from({ length: COUNT }, (_, id) => {
    const name = `name${(id * 7919) % COUNT} ${id % 2000 === 9 ? 'rose' : 'aloe'}`
    return plant(BigInt(id), name, tagOf(id))
  })
}

function tagOf(id: number): string | undefined {
  if (id % 3 === 0) return undefined
  return id % 100 === 7 ? `bench ${id % 9}` : `house ${id % 700}`
}

/** Filters, with the number of plants of each. */
export const TAGGINGS: readonly { readonly filter: PlantFilter; readonly matching: number }[] = [
  { tags: [], tagPrefix: 'bench', words: [] },
  { tags: [], tagPrefix: 'house 6', words: [] },
  { tags: [], tagPrefix: 'house', words: [] },
  { tags: [], tagPrefix: 'none', words: [] },
  { tags: [], tagPrefix: 'house', words: ['rose'] },
  { tags: [], tagPrefix: 'bench', words: ['aloe'] },
  { tags: [], untagged: true, words: [] },
  { tags: [], untagged: true, words: ['rose'] },
  { tags: [], untagged: true, words: ['aloe'] },
].map((filter) => ({ filter, matching: taggedPlants().filter((each) => matches(filter, each)).length }))
