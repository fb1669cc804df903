import { readBody, refusalByHeaders } from './body.ts'
import type { Contract, Method, Operation } from './contract.ts'
import type { Exchange } from './exchange.ts'
import type { Guard } from './guard.ts'
import type { Parameters } from './parameters.ts'
import type { Responder } from './responder.ts'
import type { Route, Router } from './router.ts'

/** @param body all of it; empty where the operation takes none, and where it reads its body in pieces itself */
export type Handler = (exchange: Exchange, operation: Operation, parameters: Parameters, body: Buffer) => void

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
  readonly responder: Responder
  /** Answers where no operation is meant. */
  readonly notFound: Route
  /** Bytes. */
  readonly bodyLimit: number
}

/**
 * Makes the routes that the contract names, each with the handler of its operationId.
 *
 * @throws Error when an operation has no handler, or a handler no operation
 */
export function addRoutes(router: Router, contract: Contract, handlers: Handlers, options: RouteOptions): void {
  const byId = new Map<string, Handler>(Object.entries(handlers))
  for (const operation of contract.operations) {
    const handler = byId.get(operation.id)
    if (handler === undefined) throw new Error(`the contract's operation ${operation.id} has no handler`)
    byId.delete(operation.id)
    const guarded = options.guard(operation, handlingOf(operation)(handler, operation, options))
    router.add(operation.method, operation.path, (exchange) => {
      exchange.operation = operation
      guarded(exchange)
    })
  }
  for (const { method, path } of mistakable(contract)) router.add(method, path, options.notFound)
  if (byId.size > 0) throw new Error(`the contract has no operation ${[...byId.keys()].join(', ')}`)
}

/** What the router would take for an operation on a path with a parameter: an empty value, and other paths of the contract. */
function mistakable({ operations }: Contract): { method: Method; path: string }[] {
  return operations.flatMap(({ method, path }) => {
    const end = /\{\w+\}$/.exec(path)
    if (end === null) return []
    const start = path.slice(0, end.index)
    const others = operations.filter(
      (other) => other.path.startsWith(start) && /^[^/{]+$/.test(other.path.slice(start.length)),
    )
    const own = new Set(others.filter((other) => other.method === method).map((other) => other.path))
    return [...new Set([start, ...others.map((other) => other.path)])]
      .filter((mistaken) => !own.has(mistaken))
      .map((mistaken) => ({ method, path: mistaken }))
  })
}

function handlingOf({ mediaTypes, isStreamed }: Operation) {
  if (isStreamed) return withStream
  return mediaTypes.length === 0 ? bodiless : withBody
}

const bodiless =
  (handler: Handler, operation: Operation): Route =>
  (exchange) =>
    handler(exchange, operation, operation.parameters.read(exchange), NO_BODY)

const NO_BODY = Buffer.alloc(0)

const withStream =
  (handler: Handler, operation: Operation): Route =>
  (exchange) => {
    const parameters = operation.parameters.read(exchange)
    const refusal = refusalByHeaders(exchange, operation, Number.POSITIVE_INFINITY)
    if (refusal !== undefined) throw refusal
    handler(exchange, operation, parameters, NO_BODY)
  }

/** The body arrives after the route has returned, so a refusal is caught here. */
const withBody =
  (handler: Handler, operation: Operation, { responder, bodyLimit }: RouteOptions): Route =>
  (exchange) => {
    const parameters = operation.parameters.read(exchange)
    const refuse = (error: unknown) => responder.refuse(exchange, error)
    const use = (body: Buffer) => {
      try {
        handler(exchange, operation, parameters, body)
      } catch (error) {
        refuse(error)
      }
    }
    readBody(exchange, operation, bodyLimit, use, refuse)
  }
