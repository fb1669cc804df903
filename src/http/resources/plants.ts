import { isAmong } from '../../condition.ts'
import { AppError } from '../../errors.ts'
import { plantETag } from '../../etag.ts'
import { readJsonBody } from '../../json-body.ts'
import { parsePatch, parsePlant, parseReplacement } from '../../parse-plant.ts'
import { type NewPlant, newPlantJson, plantJson } from '../../plant.ts'
import type { PlantPatch, Store } from '../../store.ts'
import type { Exchange } from '../exchange.ts'
import type { OperationBodies } from '../operations.generated.ts'
import { conditionOf } from '../request/entity-tags.ts'
import { JSON_TYPE, READ_CACHING, type Responder } from '../response/responder.ts'
import type { Handlers } from '../routes.ts'

type PlantHandlers = Pick<Handlers, 'createPlant' | 'getPlant' | 'replacePlant' | 'updatePlant' | 'deletePlant'>

/** The operations on one plant. */
export function plantHandlers(store: Store, responder: Responder, nestingLimit: number): PlantHandlers {
  const refuse = (exchange: Exchange) => (error: unknown) => responder.refuse(exchange, error)

  function answerChanged(exchange: Exchange, status: 200 | 201, plant: NewPlant): void {
    const path = `/plants/${plant.id}`
    const headers = ['Content-Type', JSON_TYPE, 'ETag', plantETag(plant), 'Content-Location', path]
    if (status === 201) headers.push('Location', path)
    responder.reply(exchange, status, headers, newPlantJson(plant))
  }

  return {
    createPlant(exchange, _operation, parameters, body) {
      const plant: OperationBodies['createPlant'] & NewPlant = parsePlant(readJsonBody(body, nestingLimit))
      const mustBeNew = parameters['If-None-Match'] !== undefined
      store.createPlant(plant, { mustBeNew }, exchange.actor, (error) => {
        if (error !== undefined) return responder.refuse(exchange, error)
        const headers = ['Content-Type', JSON_TYPE, 'ETag', plantETag(plant), 'Content-Location', `/plants/${plant.id}`]
        responder.reply(exchange, 200, headers, plantJson(plant))
      })
    },

    getPlant(exchange, _operation, parameters) {
      const { id } = parameters
      const { ifMatch, ifNoneMatch } = conditionOf(parameters)
      store.getPlant(id, (error, plant) => {
        if (error !== undefined) return responder.refuse(exchange, error)
        if (plant === undefined)
          return responder.refuse(exchange, new AppError(40402, `there is no plant with the id ${id}`))
        if (ifMatch !== undefined && !isAmong(ifMatch, plant)) {
          return responder.refuse(
            exchange,
            new AppError(41201, `the plant with the id ${id} has none of the entity tags in If-Match`),
          )
        }
        const json = newPlantJson(plant)
        const headers = ['ETag', plantETag(plant), 'Cache-Control', READ_CACHING]
        if (ifNoneMatch !== undefined && isAmong(ifNoneMatch, plant)) {
          return responder.notModified(exchange, headers, json)
        }
        headers.push('Content-Type', JSON_TYPE)
        responder.reply(exchange, 200, headers, json)
      })
    },

    replacePlant(exchange, _operation, parameters, body) {
      const { id } = parameters
      const plant: OperationBodies['replacePlant'] & NewPlant = parseReplacement(readJsonBody(body, nestingLimit), id)
      store
        .replacePlant(plant, conditionOf(parameters), exchange.actor)
        .then((result) => answerChanged(exchange, result === 'created' ? 201 : 200, plant), refuse(exchange))
    },

    updatePlant(exchange, _operation, parameters, body) {
      const { id } = parameters
      const patch: OperationBodies['updatePlant'] & PlantPatch = parsePatch(readJsonBody(body, nestingLimit), id)
      store
        .updatePlant(id, patch, conditionOf(parameters), exchange.actor)
        .then((plant) => answerChanged(exchange, 200, plant), refuse(exchange))
    },

    deletePlant(exchange, _operation, parameters) {
      const { id } = parameters
      store
        .deletePlant(id, conditionOf(parameters), exchange.actor)
        .then(() => responder.reply(exchange, 204, []), refuse(exchange))
    },
  }
}
