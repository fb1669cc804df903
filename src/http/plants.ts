import type { FastifyRequest } from 'fastify'
import { AppError } from '../errors.ts'
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
    createPlant(request, reply, operation, body) {
      const plant = readNewPlant(readJsonBody(body, nestingLimit), operation)
      store.createPlant(plant, { mustBeNew: mustBeNew(request) }, (error) => {
        if (error !== undefined) return exit.refuse(reply, error)
        const headers = ['Content-Type', JSON_TYPE, 'ETag', plantETag(plant), 'Content-Location', `/plants/${plant.id}`]
        exit.answer(reply, 200, headers, plantJson(plant))
      })
    },
  }
}

/** `If-None-Match: *` (RFC 9110 section 13.1.2); a plant that is to be created has no other tag to compare with. */
function mustBeNew(request: FastifyRequest): boolean {
  const header = request.headers['if-none-match']
  if (header === undefined) return false
  if (header !== '*') throw new AppError(40003, 'If-None-Match can only be * on this operation')
  return true
}
