import { AppError } from '../../domain/errors.ts'
import { type NewPlant, newPlantJson, type PlantPatch, plantJson } from '../../domain/plant.ts'
import { type Expectation, isAt } from '../../domain/plant-version.ts'
import type { Store } from '../../domain/store.ts'
import { readJsonBody } from '../../json/body.ts'
import { parsePatch, parsePlant, parseReplacement } from '../../json/parse-plant.ts'
import type { Admission } from '../admission/admission.ts'
import type { Change } from '../audit-trail.ts'
import type { Exchange } from '../exchange.ts'
import type { OperationBodies } from '../operations.generated.ts'
import { expectationOf, namePreconditions, plantETag } from '../request/entity-tags.ts'
import { JSON_TYPE, READ_CACHING, type Responder } from '../response/responder.ts'
import type { Handlers } from '../routes.ts'

type PlantHandlers = Pick<Handlers, 'createPlant' | 'getPlant' | 'replacePlant' | 'updatePlant' | 'deletePlant'>

/** The handlers of the operations on one plant. */
export function plantHandlers(
  store: Store,
  responder: Responder,
  admission: Admission,
  nestingLimit: number,
): PlantHandlers {
  const refuse = (exchange: Exchange, parameters: object) => (error: unknown) =>
    responder.refuse(exchange, namePreconditions(error, parameters))

  function answerFound(exchange: Exchange, id: bigint, plant: NewPlant | undefined, { at, notAt }: Expectation): void {
    if (plant === undefined) {
      responder.refuse(exchange, new AppError(40402, `there is no plant with the id ${id}`))
      return
    }
    if (at !== undefined && !isAt(at, plant)) {
      responder.refuse(
        exchange,
        new AppError(41201, `the plant with the id ${id} has none of the entity tags in If-Match`),
      )
      return
    }
    const json = newPlantJson(plant)
    const headers = ['ETag', plantETag(plant), 'Cache-Control', READ_CACHING]
    if (notAt !== undefined && isAt(notAt, plant)) {
      responder.notModified(exchange, headers, json)
      return
    }
    headers.push('Content-Type', JSON_TYPE)
    responder.reply(exchange, 200, headers, json)
  }

  function answerChanged(exchange: Exchange, status: 200 | 201, plant: NewPlant): void {
    const path = pathOf(String(plant.id))
    const headers = headersOf(plant, path)
    if (status === 201) headers.push('Location', path)
    responder.reply(exchange, status, headers, newPlantJson(plant))
  }

  return {
    createPlant(exchange, parameters, body) {
      const plant: OperationBodies['createPlant'] & NewPlant = parsePlant(readJsonBody(body, nestingLimit))
      const mustBeNew = parameters['If-None-Match'] !== undefined
      const id = String(plant.id)
      const change: Change = { plant: id }
      exchange.change = change
      store.createPlant(plant, { mustBeNew }, exchange.actor).then(
        (result) => {
          change.outcome = result
          responder.reply(exchange, 200, headersOf(plant, pathOf(id)), plantJson(plant))
        },
        refuse(exchange, parameters),
      )
    },

    getPlant(exchange, parameters) {
      const { id } = parameters
      store.getPlant(id, exchange).then(
        (plant) => answerFound(exchange, id, plant, expectationOf(parameters)),
        (error: unknown) => responder.refuse(exchange, error),
      )
    },

    replacePlant(exchange, parameters, body) {
      const { id } = parameters
      const plant: OperationBodies['replacePlant'] & NewPlant = parseReplacement(readJsonBody(body, nestingLimit), id)
      const change: Change = { plant: String(id) }
      exchange.change = change
      store.replacePlant(plant, expectationOf(parameters), exchange.actor).then(
        (result) => {
          change.outcome = result
          answerChanged(exchange, result === 'created' ? 201 : 200, plant)
        },
        refuse(exchange, parameters),
      )
    },

    updatePlant(exchange, parameters, body) {
      const { id } = parameters
      const patch: OperationBodies['updatePlant'] & PlantPatch = parsePatch(readJsonBody(body, nestingLimit), id)
      exchange.change = { plant: String(id), outcome: 'updated' }
      const update = async () => {
        responder.mustHaveRoom()
        answerChanged(exchange, 200, await store.updatePlant(id, patch, expectationOf(parameters), exchange.actor))
      }
      admission.during('patch', exchange, update).catch(refuse(exchange, parameters))
    },

    deletePlant(exchange, parameters) {
      const { id } = parameters
      exchange.change = { plant: String(id), outcome: 'deleted' }
      store
        .deletePlant(id, expectationOf(parameters), exchange.actor)
        .then(() => responder.reply(exchange, 204, []), refuse(exchange, parameters))
    },
  }
}

const pathOf = (id: string): string => `/plants/${id}`

const headersOf = (plant: NewPlant, path: string): string[] => [
  'Content-Type',
  JSON_TYPE,
  'ETag',
  plantETag(plant),
  'Content-Location',
  path,
]
