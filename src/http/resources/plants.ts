import { createHash } from 'node:crypto'
import { AppError } from '../../domain/errors.ts'
import { type IdRange, MAX_PROPOSED } from '../../domain/id-store.ts'
import { storeOf } from '../../domain/part-store.ts'
import {
  type Expectation,
  idOf,
  isAt,
  type NewPlant,
  newPlantJson,
  type PlantChange,
  type PlantPatch,
  plantJson,
} from '../../domain/plant.ts'
import type { Actor } from '../../domain/token.ts'
import { parsePatch, parsePlant, readJsonBody } from '../../json/body.ts'
import { JSON_TYPE, jsonHeaders, READ_CACHING } from '../answer/responder.ts'
import { type AuditedChange, type Exchange, integerFrom, type Readers, readSmallBody } from '../request/exchange.ts'
import { expectationOf, keyIn, plantETag } from '../request/head.ts'
import type { OperationBodies } from '../request/operations.generated.ts'
import type { HandlerParts, Handlers } from '../router.ts'
import { actionHeader, actorIn } from './actions.ts'

type PlantHandlers = Pick<Handlers, 'createPlant' | 'getPlant' | 'replacePlant' | 'updatePlant' | 'deletePlant'>

export function plantHandlers({ store, responder }: HandlerParts): PlantHandlers {
  function answerFound(exchange: Exchange, id: bigint, plant: NewPlant | undefined, { at, notAt }: Expectation): void {
    if (plant === undefined) throw new AppError(40402, `there is no plant with the id ${id}`)
    if (at !== undefined && !isAt(at, plant))
      throw new AppError(41201, `the plant with the id ${id} has none of these entity tags`)
    const json = newPlantJson(plant)
    const headers = ['ETag', plantETag(plant), 'Cache-Control', READ_CACHING]
    if (notAt !== undefined && isAt(notAt, plant)) {
      responder.notModified(exchange, headers, json, JSON_TYPE)
      return
    }
    headers.push('Content-Type', JSON_TYPE)
    responder.reply(exchange, 200, headers, json)
  }

  function makeChange(exchange: Exchange, change: PlantChange, actor: Actor): Promise<void> {
    const id = String(idOf(change))
    const recorded: AuditedChange = { plant: id }
    exchange.change = recorded
    return storeOf(store, actor)
      .changePlant(change, actor)
      .then((outcome) => {
        recorded.outcome = outcome.result
        const action = actionHeader(actor)
        if (outcome.result === 'deleted') return responder.reply(exchange, 204, action)
        const path = pathOf(id)
        const [status, location] = outcome.result === 'created' ? [201, ['Location', path]] : [200, []]
        responder.reply(
          exchange,
          status,
          [...headersOf(outcome.plant, path), ...location, ...action],
          newPlantJson(outcome.plant),
        )
      })
  }

  return {
    createPlant(exchange, parameters, body) {
      const plant: OperationBodies['createPlant'] & NewPlant = parsePlant(readJsonBody(body, exchange))
      const mustBeNew = parameters['If-None-Match'] !== undefined
      const actor = actorIn(exchange, store, parameters)
      const id = String(plant.id)
      const change: AuditedChange = { plant: id }
      exchange.change = change
      return storeOf(store, actor)
        .createPlant(plant, { mustBeNew }, actor)
        .then((result) => {
          change.outcome = result
          const headers = headersOf(plant, pathOf(id))
          if (actor.action !== undefined) headers.push(...actionHeader(actor))
          responder.reply(exchange, 200, headers, plantJson(plant))
        })
    },

    getPlant(exchange, parameters) {
      const { id } = parameters
      const found = storeOf(store, exchange.actor).getPlant(id, exchange)
      return found.then((plant) => answerFound(exchange, id, plant, expectationOf(parameters)))
    },

    replacePlant(exchange, parameters, body) {
      const { id } = parameters
      const plant: OperationBodies['replacePlant'] & NewPlant = parsePlant(readJsonBody(body, exchange), id)
      const change = { kind: 'replace', plant, expected: expectationOf(parameters) } as const
      return makeChange(exchange, change, actorIn(exchange, store, parameters))
    },

    updatePlant(exchange, parameters, body) {
      const { id } = parameters
      const patch: OperationBodies['updatePlant'] & PlantPatch = parsePatch(readJsonBody(body, exchange), id)
      const change = { kind: 'update', id, patch, expected: expectationOf(parameters) } as const
      return makeChange(exchange, change, actorIn(exchange, store, parameters))
    },

    deletePlant(exchange, parameters) {
      const change = { kind: 'delete', id: parameters.id, expected: expectationOf(parameters) } as const
      return makeChange(exchange, change, actorIn(exchange, store, parameters))
    },
  }
}

const pathOf = (id: string): string => `/plants/${id}`

function headersOf(plant: NewPlant, path: string): string[] {
  return ['Content-Type', JSON_TYPE, 'ETag', plantETag(plant), 'Content-Location', path]
}

const MAX_COUNT = 10_000
const RESERVATION = { count: integerFrom(1, MAX_COUNT) } satisfies Readers<OperationBodies['reserveIds']>

export function idHandlers(parts: HandlerParts): Pick<Handlers, 'proposeId' | 'reserveIds'> {
  const { responder, admission } = parts
  const { ids } = parts.store
  return {
    async proposeId(exchange) {
      const next = await admission.during('search', exchange, () => ids.proposeId())
      if (next === undefined) throw noFreeRange()
      // JSON.stringify takes no bigint.
      responder.reply(exchange, 200, jsonHeaders('no-store'), `{"next":${next}}`)
    },

    async reserveIds(exchange, parameters, body) {
      const { count } = readSmallBody(body, RESERVATION, ['count'])
      const { actor } = exchange
      const key = keyIn(parameters)
      const hash = key === undefined ? undefined : createHash('sha256').update(`${actor.id}\n${key}`).digest()
      let reserved: IdRange | undefined
      exchange.change = {
        outcome: 'reserved',
        details: () => ({ first: reserved?.first.toString(), last: reserved?.last.toString() }),
      }
      const range = await admission.during('change', exchange, () => ids.reserveIds(count, hash, actor))
      if (range === undefined) throw noFreeRange()
      if (range === 'other content') throw new AppError(40902, 'the Idempotency-Key belongs to another request')
      const { first, last } = range
      if (last - first + 1n !== BigInt(count)) {
        throw new AppError(40902, `the Idempotency-Key belongs to a range of ${last - first + 1n} ids`)
      }
      reserved = range
      responder.reply(exchange, 200, jsonHeaders('no-store'), `{"first":${first},"last":${last}}`)
    },
  }
}

const noFreeRange = (): AppError =>
  new AppError(40905, `the ids up to ${MAX_PROPOSED} have no free range after those in use; choose ids yourself`)
