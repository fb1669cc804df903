import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { AppError } from '../errors.ts'
import { readBody } from './body.ts'
import type { Contract, Operation } from './contract.ts'
import type { Exit } from './exit.ts'
import type { Guard } from './guard.ts'
import type { Parameters } from './parameters.ts'

/** @param body all of it; empty where the operation takes none */
export type Handler = (
  request: FastifyRequest,
  reply: FastifyReply,
  operation: Operation,
  parameters: Parameters,
  body: Buffer,
) => void

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

export interface RouteOptions {
  readonly guard: Guard
  readonly exit: Exit
  /** Bytes. */
  readonly bodyLimit: number
}

/**
 * Makes the routes that the contract names, each with the handler of its operationId.
 *
 * @throws Error when an operation has no handler, or a handler no operation
 */
export function addRoutes(app: FastifyInstance, contract: Contract, handlers: Handlers, options: RouteOptions): void {
  const byId = new Map<string, Handler>(Object.entries(handlers))
  for (const operation of contract.operations) {
    const handler = byId.get(operation.id)
    if (handler === undefined) throw new Error(`the contract's operation ${operation.id} has no handler`)
    byId.delete(operation.id)
    app.route({
      method: operation.method,
      url: operation.path.replaceAll(/\{(\w+)\}/g, ':$1'),
      onRequest: options.guard(operation),
      handler: operation.mediaTypes.length === 0 ? bodiless(handler, operation) : withBody(handler, operation, options),
    })
  }
  if (byId.size > 0) throw new Error(`the contract has no operation ${[...byId.keys()].join(', ')}`)
}

const bodiless =
  (handler: Handler, operation: Operation) =>
  (request: FastifyRequest, reply: FastifyReply): void =>
    handler(request, reply, operation, operation.parameters.read(request), NO_BODY)

const NO_BODY = Buffer.alloc(0)

/** The body arrives after the framework has called, so a refusal is caught here. */
const withBody =
  (handler: Handler, operation: Operation, { exit, bodyLimit }: RouteOptions) =>
  (request: FastifyRequest, reply: FastifyReply): void => {
    const parameters = operation.parameters.read(request)
    const refuse = (error: unknown) => exit.refuse(reply, error)
    const use = (body: Buffer) => {
      try {
        handler(request, reply, operation, parameters, body)
      } catch (error) {
        refuse(error)
      }
    }
    readBody(request, operation, bodyLimit, use, refuse)
  }

/** Finds what is wrong with a method and path that no route matched. */
export function routeRefusals({ operations }: Contract): (method: string, url: string) => AppError {
  const paths = Map.groupBy(operations, ({ path }) => path)
  const patterns = [...paths].map(([path, found]) => ({
    pattern: new RegExp(`^${path.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+')}$`),
    allow: found.flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method])).join(', '),
  }))
  return (method, url) => {
    // A client may send the whole URL (RFC 9112 section 3.2.2).
    const path = url.replace(/^https?:\/\/[^/?]*/i, '').split('?', 1)[0] ?? ''
    const known = patterns.find(({ pattern }) => pattern.test(path))
    if (known === undefined) return new AppError(40401, 'there is no such path; /docs shows those that there are')
    return new AppError(40501, `${method} is not possible here; ${known.allow} is`, { headers: { Allow: known.allow } })
  }
}
