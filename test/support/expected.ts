import { compareCodePoints } from '../../src/domain/fold.ts'
import type { NewPlant } from '../../src/domain/plant.ts'
import { comparePositions, matches, type PlantQuery, positionOf } from '../../src/domain/plant-query.ts'
import type { TagCount } from '../../src/domain/store.ts'

/** The expected answer of listPlants, from all plants. */
export function expectedPlants(plants: Iterable<NewPlant>, query: PlantQuery, limit: number): NewPlant[] {
  return [...plants]
    .filter((one) => matches(query, one))
    .map((one) => ({ one, position: positionOf(query.order, one) }))
    .filter(({ position }) => query.after === undefined || comparePositions(query.order, position, query.after) > 0)
    .sort((a, b) => comparePositions(query.order, a.position, b.position))
    .slice(0, limit)
    .map(({ one }) => one)
}

/** The expected answer of listTags. */
export function expectedTags(plants: Iterable<NewPlant>): TagCount[] {
  const byTag = Map.groupBy(plants, ({ tag }) => tag)
  return [...byTag]
    .flatMap(([tag, those]) => (tag === undefined ? [] : [{ tag, plants: those.length }]))
    .sort((a, b) => compareCodePoints(a.tag, b.tag))
}
