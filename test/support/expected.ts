import type { NewPlant } from '../../src/domain/plant.ts'
import {
  compareCodePoints,
  comparePositions,
  isByName,
  type PlantQuery,
  plantWords,
  sortKey,
} from '../../src/domain/plant-query.ts'
import type { TagCount } from '../../src/domain/store.ts'

/** The expected answer of listPlants, from all plants. */
export function expectedPlants(plants: Iterable<NewPlant>, query: PlantQuery, limit: number): NewPlant[] {
  const { tags, words, order, after } = query
  return [...plants]
    .filter(({ tag }) => tags.length === 0 || (tag !== undefined && tags.includes(tag)))
    .map((one) => ({ one, ...foldedOf(one) }))
    .filter(({ own }) => words.every((word) => own.some((each) => each.startsWith(word))))
    .map(({ one, key }) => ({ one, position: { key: isByName(order) ? key : '', id: one.id } }))
    .filter(({ position }) => after === undefined || comparePositions(order, position, after) > 0)
    .sort((a, b) => comparePositions(order, a.position, b.position))
    .slice(0, limit)
    .map(({ one }) => one)
}

interface Folded {
  readonly own: readonly string[]
  readonly key: string
}

/** What folding has given: tests ask for the same thousands of plants hundreds of times. */
const folded = new WeakMap<NewPlant, Folded>()

function foldedOf(one: NewPlant): Folded {
  const known = folded.get(one) ?? { own: plantWords(one), key: sortKey(one.name) }
  folded.set(one, known)
  return known
}

/** The expected answer of listTags. */
export function expectedTags(plants: Iterable<NewPlant>): TagCount[] {
  const byTag = Map.groupBy(plants, ({ tag }) => tag)
  return [...byTag]
    .flatMap(([tag, those]) => (tag === undefined ? [] : [{ tag, plants: those.length }]))
    .sort((a, b) => compareCodePoints(a.tag, b.tag))
}
