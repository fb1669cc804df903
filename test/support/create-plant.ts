import type { NewPlant } from '../../src/plant.ts'
import type { CreateOptions, CreateResult, Store } from '../../src/store.ts'
import { TESTER } from './actor.ts'

/** Creates a plant as the actor of the tests. */
export const createPlant = (store: Store, plant: NewPlant, options: CreateOptions): Promise<CreateResult> =>
  store.createPlant(plant, options, TESTER)
