import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { readBody, refusalByHeaders } from './body.ts'
import type { Contract, Method, Operation } from './contract.ts'
import type { Exit } from './exit.ts'
import type { Guard } from './guard.ts'
import type { Parameters } from './parameters.ts'

/** @param body all of it; empty where the operation takes none, and where it reads its body in pieces itself */
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
  readonly listPlants: Handler
  readonly importPlants: Handler
  readonly exportPlants: Handler
  readonly getPlant: Handler
  readonly replacePlant: Handler
  readonly updatePlant: Handler
  readonly deletePlant: Handler
  readonly listTags: Handler
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
  /** Answers where no operation is meant. */
  readonly unrouted: (request: FastifyRequest, reply: FastifyReply) => void
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
      handler: wayOf(operation)(handler, operation, options),
    })
  }
  for (const { method, url } of mistakable(contract)) app.route({ method, url, handler: options.unrouted })
  if (byId.size > 0) throw new Error(`the contract has no operation ${[...byId.keys()].join(', ')}`)
}

/** What the router would take for an operation on a path with a parameter: an empty value, and other paths of the contract. */
function mistakable({ operations }: Contract): { method: Method; url: string }[] {
  return operations.flatMap(({ method, path }) => {
    const end = /\{\w+\}$/.exec(path)
    if (end === null) return []
    const start = path.slice(0, end.index)
    const others = operations.filter(
      (other) => other.path.startsWith(start) && /^[^/{]+$/.test(other.path.slice(start.length)),
    )
    const own = new Set(others.filter((other) => other.method === method).map((other) => other.path))
    return [...new Set([start, ...others.map((other) => other.path)])]
      .filter((url) => !own.has(url))
      .map((url) => ({ method, url }))
  })
}

function wayOf({ mediaTypes, isStreamed }: Operation) {
  if (isStreamed) return withStream
  return mediaTypes.length === 0 ? bodiless : withBody
}

const bodiless =
  (handler: Handler, operation: Operation) =>
  (request: FastifyRequest, reply: FastifyReply): void =>
    handler(request, reply, operation, operation.parameters.read(request), NO_BODY)

const NO_BODY = Buffer.alloc(0)

const withStream =
  (handler: Handler, operation: Operation, { exit }: RouteOptions) =>
  (request: FastifyRequest, reply: FastifyReply): void => {
    const parameters = operation.parameters.read(request)
    const refusal = refusalByHeaders(request, operation, Number.POSITIVE_INFINITY)
    if (refusal === undefined) handler(request, reply, operation, parameters, NO_BODY)
    else exit.refuse(reply, refusal)
  }

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
