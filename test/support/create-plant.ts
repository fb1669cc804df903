import type { NewPlant } from '../../src/plant.ts'
import type { CreateOptions, CreateResult, Store } from '../../src/store.ts'
import { TESTER } from './actor.ts'

/** A create as a promise, for tests that await it. */
export function createPlant(store: Store, plant: NewPlant, options: CreateOptions): Promise<CreateResult> {
  return new Promise((resolve, reject) => {
    store.createPlant(plant, options, TESTER, (error, result) => {
      if (result === undefined) reject(error)
      else resolve(result)
    })
  })
}
