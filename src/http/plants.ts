import { plantETag } from '../etag.ts'
import { readJsonBody } from '../json-body.ts'
import { plantJson } from '../plant.ts'
import type { Store } from '../store.ts'
import { type Exit, JSON_TYPE } from './exit.ts'
import { readNewPlant } from './plant-body.ts'
import type { Handlers } from './routes.ts'

/** The operations on plants. */
export function plantHandlers(store: Store, exit: Exit, nestingLimit: number): Pick<Handlers, 'createPlant'> {
  return {
    createPlant(_request, reply, operation, parameters, body) {
      const plant = readNewPlant(readJsonBody(body, nestingLimit), operation)
      const mustBeNew = parameters['If-None-Match'] !== undefined
      store.createPlant(plant, { mustBeNew }, (error) => {
        if (error !== undefined) return exit.refuse(reply, error)
        const headers = ['Content-Type', JSON_TYPE, 'ETag', plantETag(plant), 'Content-Location', `/plants/${plant.id}`]
        exit.answer(reply, 200, headers, plantJson(plant))
      })
    },
  }
}
