import { AppError } from '../errors.ts'
import type { Guard } from './auth/authorize.ts'
import type { Identity } from './auth/bearer.ts'
import type { Exchange } from './exchange.ts'
import { answerOptions, refuseMethod } from './not-found.ts'
import type { OperationParameters } from './operations.generated.ts'
import type { Contract, Operation } from './operations.ts'
import { readBody, refusalByHeaders } from './request/body.ts'
import type { BodyMemory } from './request/body-memory.ts'
import { preferredType } from './request/negotiation.ts'
import type { Cors } from './response/cors.ts'
import type { Responder } from './response/responder.ts'
import type { Route, Router } from './router.ts'

/** An operation of the contract. */
export type OperationId = keyof OperationParameters

/**
 * One handler for each operation of the contract, under its operationId. The body is empty where the operation takes
 * none, and where it reads its body in pieces itself.
 */
export type Handlers = {
  readonly [Id in OperationId]: Handler<OperationParameters[Id]>
}

/** A handler of some operation: only routes.ts calls it, with what the reader of the same operation gives. */
type AnyHandler = Handler<never>

export type Handler<Taken> = (exchange: Exchange, operation: Operation, parameters: Taken, body: Buffer) => void

export interface RouteOptions {
  readonly guard: Guard
  /** Rejects with the refusal when the token is no longer valid. */
  readonly confirm: (identity: Identity) => Promise<void>
  readonly responder: Responder
  readonly cors: Cors | undefined
  readonly bodies: BodyMemory
}

/**
 * Makes the routes that the contract names, each with the handler of its operationId, and those of OPTIONS and of
 * methods that a path does not have.
 *
 * @throws Error when an operation has no handler, or a handler no operation
 */
export function addRoutes(router: Router, contract: Contract, handlers: Handlers, options: RouteOptions): void {
  const byId = new Map<string, AnyHandler>(Object.entries(handlers))
  for (const [path, operations] of Map.groupBy(contract.operations, (operation) => operation.path)) {
    const routes = new Map<string, Route>([['OPTIONS', answerOptions(operations, options)]])
    for (const operation of operations) {
      const handler = byId.get(operation.id)
      if (handler === undefined) throw new Error(`the contract's operation ${operation.id} has no handler`)
      byId.delete(operation.id)
      const route = routeOf(operation, handler, options)
      routes.set(operation.method, route)
      if (operation.method === 'GET') routes.set('HEAD', route)
    }
    for (const spelling of SPELLINGS[path] ?? [path]) router.add(spelling, routes, refuseMethod(operations))
  }
  if (byId.size > 0) throw new Error(`the contract has no operation ${[...byId.keys()].join(', ')}`)
}

/** People type the address of the page with a slash behind it, too. */
const SPELLINGS: Readonly<Record<string, readonly string[]>> = { '/docs': ['/docs', '/docs/'] }

function routeOf(operation: Operation, handler: AnyHandler, options: RouteOptions): Route {
  const guarded = options.guard(operation, handlingOf(operation)(handler, operation, options))
  return (exchange) => {
    exchange.operation = operation
    guarded(exchange)
  }
}

/**
 * Both the reader and the generated type of an operation's parameters are made of the contract, so they agree.
 *
 * @throws AppError 40003
 */
const parametersOf = (exchange: Exchange, { parameters }: Operation): never => parameters.read(exchange) as never

/** @throws AppError 40601 before anything is done */
function refuseUnacceptable({ request }: Exchange, { produces }: Operation): void {
  const { accept } = request.headers
  if (accept === undefined || produces.length === 0 || preferredType(accept, produces) !== undefined) return
  throw new AppError(40601, `Accept excludes every media type of the answer; send one of ${produces.join(', ')}`)
}

function handlingOf({ mediaTypes, isStreamed }: Operation) {
  if (isStreamed) return withStream
  return mediaTypes.length === 0 ? bodiless : withBody
}

const bodiless =
  (handler: AnyHandler, operation: Operation): Route =>
  (exchange) => {
    const parameters = parametersOf(exchange, operation)
    refuseUnacceptable(exchange, operation)
    handler(exchange, operation, parameters, NO_BODY)
  }

const NO_BODY = Buffer.alloc(0)

const withStream =
  (handler: AnyHandler, operation: Operation): Route =>
  (exchange) => {
    const parameters = parametersOf(exchange, operation)
    refuseUnacceptable(exchange, operation)
    const refusal = refusalByHeaders(exchange, operation, Number.POSITIVE_INFINITY)
    if (refusal !== undefined) throw refusal
    handler(exchange, operation, parameters, NO_BODY)
  }

/** A token is checked again after a body that took longer than this to arrive, in ms. */
const SLOW_BODY = 400

/** Catches refusals itself: the body arrives after the route has returned. */
const withBody =
  (handler: AnyHandler, operation: Operation, { responder, bodies, confirm }: RouteOptions): Route =>
  (exchange) => {
    const parameters = parametersOf(exchange, operation)
    refuseUnacceptable(exchange, operation)
    const refuse = (error: unknown) => responder.refuse(exchange, error)
    const use = (body: Buffer) => {
      try {
        handler(exchange, operation, parameters, body)
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
