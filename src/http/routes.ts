import { AppError } from '../domain/errors.ts'
import type { Overload } from './admission/overload.ts'
import type { Authorize } from './auth/authorize.ts'
import type { Identity } from './auth/bearer.ts'
import type { Exchange } from './exchange.ts'
import { answerOptions, refuseMethod } from './not-found.ts'
import { type OperationParameters, PARAMETERS } from './operations.generated.ts'
import type { Contract, Operation } from './operations.ts'
import { readBody, refusalByHeaders } from './request/body.ts'
import type { BodyMemory } from './request/body-memory.ts'
import { preferredType } from './request/negotiation.ts'
import type { Values } from './request/parameters.ts'
import type { Cors } from './response/cors.ts'
import type { Responder } from './response/responder.ts'
import type { Route, Router } from './router.ts'

/** An operation of the contract. */
export type OperationId = keyof OperationParameters

/**
 * One handler for each operation of the contract, under its operationId. The body is empty where the operation takes
 * none, and where the handler reads it in pieces itself.
 */
export type Handlers = {
  readonly [Id in OperationId]: Handler<OperationParameters[Id]>
}

export type Handler<Taken> = (exchange: Exchange, parameters: Taken, body: Buffer) => void

export interface RouteOptions {
  readonly authorize: Authorize
  /** Rejects with the refusal when the token is no longer valid. */
  readonly confirm: (identity: Identity) => Promise<void>
  readonly responder: Responder
  readonly cors: Cors | undefined
  readonly bodies: BodyMemory
  /** Refuses requests for which the service has no time or memory; undefined refuses none. */
  readonly overload: Overload | undefined
}

/**
 * Adds a route for each operation of the contract, with the handler of its operationId, and the routes for OPTIONS and
 * for unknown methods.
 *
 * @throws Error when an operation has no handler, or a handler no operation
 */
export function addRoutes<Id extends OperationId>(
  router: Router,
  contract: Contract,
  handlers: Pick<Handlers, Id>,
  options: RouteOptions,
): void {
  const missing = new Set(Object.keys(handlers))
  for (const [path, operations] of Map.groupBy(contract.operations, (operation) => operation.path)) {
    const routes = new Map<string, Route>([['OPTIONS', answerOptions(operations, options)]])
    for (const operation of operations) {
      const { id } = operation
      if (!isIn(handlers, id)) throw new Error(`the contract's operation ${id} has no handler`)
      missing.delete(id)
      const route = authorized(operation, routeOf(id, operation, handlers[id], options), options)
      routes.set(operation.method, route)
      if (operation.method === 'GET') routes.set('HEAD', route)
    }
    for (const spelling of SPELLINGS[path] ?? [path]) router.add(spelling, routes, refuseMethod(operations))
  }
  if (missing.size > 0) throw new Error(`the contract has no operation ${[...missing].join(', ')}`)
}

/** People also type the address of the page with a slash at its end. */
const SPELLINGS: Readonly<Record<string, readonly string[]>> = { '/docs': ['/docs', '/docs/'] }

const isIn = <Id extends OperationId>(handlers: Pick<Handlers, Id>, id: string): id is Id => Object.hasOwn(handlers, id)

/** The service answers these under any load, because monitors must see the load. */
const MONITORING: readonly string[] = ['getLiveness', 'getReadiness', 'getMetrics'] satisfies OperationId[]

function authorized(operation: Operation, route: Route, { authorize, overload }: RouteOptions): Route {
  const admit = authorize(operation, route)
  const mayShed = overload !== undefined && !MONITORING.includes(operation.id)
  return (exchange) => {
    exchange.operation = operation
    if (mayShed) overload.admit(exchange.startedAt)
    admit(exchange)
  }
}

type Readers = { readonly [Id in OperationId]: (values: Values) => OperationParameters[Id] }

/** Makes the route that reads the parameters of an operation and passes them to its handler, both by one type. */
function routeOf<Id extends OperationId>(
  id: Id,
  operation: Operation,
  handler: Handler<OperationParameters[Id]>,
  options: RouteOptions,
): Route {
  const readers: Readers = PARAMETERS
  const typed = readers[id]
  const read = (exchange: Exchange) => {
    const parameters = typed(operation.parameters.read(exchange))
    refuseUnacceptable(exchange, operation)
    return parameters
  }
  if (operation.mediaTypes.length > 0 && !operation.isStreamed) return withBody(operation, read, handler, options)
  return (exchange) => {
    const parameters = read(exchange)
    const refusal = operation.isStreamed ? refusalByHeaders(exchange, operation, Number.POSITIVE_INFINITY) : undefined
    if (refusal !== undefined) throw refusal
    handler(exchange, parameters, NO_BODY)
  }
}

/** @throws AppError 40601 when the client accepts no media type of the answer */
function refuseUnacceptable({ request }: Exchange, { produces }: Operation): void {
  const { accept } = request.headers
  if (accept === undefined || produces.length === 0 || preferredType(accept, produces) !== undefined) return
  throw new AppError(40601, `Accept excludes every media type of the answer; send one of ${produces.join(', ')}`)
}

const NO_BODY = Buffer.alloc(0)

/** Milliseconds. After a body that took longer, the service checks again whether the token is valid. */
const SLOW_BODY = 400

/** Refuses the exchange itself instead of throwing, because the body arrives after the route has returned. */
function withBody<Taken>(
  operation: Operation,
  read: (exchange: Exchange) => Taken,
  handler: Handler<Taken>,
  { responder, bodies, confirm }: RouteOptions,
): Route {
  return (exchange) => {
    const parameters = read(exchange)
    const refuse = (error: unknown) => responder.refuse(exchange, error)
    const use = (body: Buffer) => {
      try {
        handler(exchange, parameters, body)
      } catch (error) {
        refuse(error)
      }
    }
    const { identity, startedAt } = exchange
    const useIfConfirmed = (body: Buffer) => {
      if (identity === undefined || performance.now() - startedAt < SLOW_BODY) use(body)
      else confirm(identity).then(() => use(body), refuse)
    }
    readBody(exchange, operation, bodies, useIfConfirmed, refuse)
  }
}
