import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { AppError } from '../errors.ts'
import type { Contract, Operation } from './contract.ts'

export type Handler = (request: FastifyRequest, reply: FastifyReply, operation: Operation) => void

/** One handler for each operation of the contract, under its operationId. */
export interface Handlers {
  readonly createPlant: Handler
  readonly getLiveness: Handler
  readonly getReadiness: Handler
  readonly getMetrics: Handler
  readonly getContract: Handler
  readonly getDocs: Handler
  readonly getDocsFile: Handler
}

/** Runs before a body is read; lets the request through by calling `done`. */
export type Guard = (operation: Operation) => (request: FastifyRequest, reply: FastifyReply, done: () => void) => void

/**
 * Makes the routes that the contract names, each with the handler of its operationId.
 *
 * @throws Error when an operation has no handler, or a handler no operation
 */
export function addRoutes(app: FastifyInstance, { operations }: Contract, handlers: Handlers, guard: Guard): void {
  const byId = new Map<string, Handler>(Object.entries(handlers))
  for (const operation of operations) {
    const handler = byId.get(operation.id)
    if (handler === undefined) throw new Error(`the contract's operation ${operation.id} has no handler`)
    byId.delete(operation.id)
    app.route({
      method: operation.method,
      url: operation.path.replaceAll(/\{(\w+)\}/g, ':$1'),
      onRequest: guard(operation),
      handler: (request, reply) => handler(request, reply, operation),
    })
  }
  if (byId.size > 0) throw new Error(`the contract has no operation ${[...byId.keys()].join(', ')}`)
}

/** Finds what is wrong with a method and path that no route matched. */
export function routeRefusals({ operations }: Contract): (method: string, url: string) => AppError {
  const paths = Map.groupBy(operations, ({ path }) => path)
  const patterns = [...paths].map(([path, found]) => ({
    pattern: new RegExp(`^${path.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+')}$`),
    allow: found.flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method])).join(', '),
  }))
  return (method, url) => {
    const path = url.split('?', 1)[0] ?? ''
    const known = patterns.find(({ pattern }) => pattern.test(path))
    if (known === undefined) return new AppError(40401, 'there is no such path; /docs shows those that there are')
    return new AppError(40501, `${method} is not possible here; ${known.allow} is`, { headers: { Allow: known.allow } })
  }
}
