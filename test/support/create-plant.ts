import type { CreateOptions, CreateResult, NewPlant } from '../../src/domain/plant.ts'
import type { Store } from '../../src/domain/store.ts'
import { TESTER } from './actor.ts'

/** Creates a plant as the actor of the tests. */
export const createPlant = (
  store: Store,
  plant: NewPlant,
  options: CreateOptions = { mustBeNew: false },
): Promise<CreateResult> => store.createPlant(plant, options, TESTER)
