import type { NewPlant } from '../src/domain/plant.ts'
import type { PlantFilter, PlantQuery } from '../src/domain/plant-query.ts'
import { plantOf } from './collection.ts'

/** Plants that the reads find, in a store of any size. */
export const FOUND = 50

/** A plant of a store in which all plants have tags of their own, and FOUND of them, evenly by id, have rare words. */
export function grownPlant(id: number, size: number): NewPlant {
  const each = size / FOUND
  const number = id / each
  if (!Number.isInteger(number)) return { ...plantOf(id), tag: `acc/${id}` }
  return { id: BigInt(id), name: `Probatia frequens ${number}`, tag: `probe/${number}` }
}

const ALL: PlantFilter = { tags: [], words: [] }
const TAGGED: PlantFilter = { ...ALL, tagPrefix: 'probe/' }
const WORD: PlantFilter = { ...ALL, words: ['probatia'] }
const WORDS: PlantFilter = { ...ALL, words: ['probatia', 'frequens'] }
/** Filters that find FOUND plants. */
export const FILTERS = { word: WORD, words: WORDS, tagged: TAGGED }

/** Pages that have the same number of plants in a store of any size. */
export const pagesOf = (size: number): Record<string, PlantQuery> => ({
  'a page by id, deep': { ...ALL, order: 'id', after: { key: '', id: BigInt(size / 2) } },
  'a page by name, deep': { ...ALL, order: 'name', after: { key: 'm', id: 0n } },
  'a word': { ...WORD, order: 'id', after: undefined },
  'a word by name': { ...WORD, order: 'name', after: undefined },
  'a second word by name': { ...ALL, words: ['frequens'], order: 'name', after: undefined },
  'two words': { ...WORDS, order: 'id', after: undefined },
  'two words by name': { ...WORDS, order: 'name', after: undefined },
  'a tag': { ...ALL, tags: ['probe/7'], order: 'id', after: undefined },
  'a tag and a word by name': { ...WORD, tags: ['probe/7'], order: 'name', after: undefined },
  'a beginning of tags': { ...TAGGED, order: 'id', after: undefined },
  'a beginning of tags by name': { ...TAGGED, order: 'name', after: undefined },
})
