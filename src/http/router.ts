import findMyWay from 'find-my-way'
import { AppError } from '../domain/errors.ts'
import type { Store } from '../domain/store.ts'
import { type Identity, LOOK_UP_INTERVAL } from '../domain/token.ts'
import type { WebhookDelivery } from '../domain/webhook.ts'
import type { Config } from '../settings/config.ts'
import type { Admission } from './admission/admission.ts'
import type { Overload } from './admission/turns.ts'
import type { BasePath } from './answer/base-path.ts'
import type { Responder } from './answer/responder.ts'
import type { SlowClients } from './answer/slow-clients.ts'
import type { Authorize } from './auth/bearer.ts'
import type { ChangeStreams } from './changes/change-streams.ts'
import { type Cors, HttpError } from './refusal.ts'
import { acceptedBodies, checkBodyHeaders, type Exchange, type Route, readBody } from './request/exchange.ts'
import { PRECONDITIONS, preferredType } from './request/head.ts'
import type { OperationParameters } from './request/operations.generated.ts'
import type { Contract, Method, Operation } from './request/operations.ts'
import { hasUnknownIds, TEXT_IDS_FAULT, TEXT_IDS_PATH, takeTextPath } from './request/text-ids.ts'

interface RouterOptions {
  /** Characters that one parameter of a path may have. */
  readonly maxParamLength: number
  /** Takes exchanges without a matching path. */
  readonly notFound: Route
  /** Undefined: requests have the paths of the contract. */
  readonly base?: BasePath
}

/** Finds the route of a request by its path, then by its method. */
export class Router {
  readonly #paths: findMyWay.Instance<findMyWay.HTTPVersion.V1>
  readonly #notFound: Route
  readonly #base: BasePath | undefined

  constructor({ maxParamLength, notFound, base }: RouterOptions) {
    this.#notFound = notFound
    this.#base = base
    // ParameterReader of request/head.ts reads the query, so the library need not.
    this.#paths = findMyWay({ maxParamLength, querystringParser: () => NO_QUERY, onBadUrl: unused })
  }

  /**
   * @param path with parameters in braces, as in the contract. A path without parameters takes precedence, whatever the
   *   method
   * @param routes by method
   * @param otherwise takes exchanges whose method has no route
   */
  add(path: string, routes: ReadonlyMap<string, Route>, otherwise: Route): void {
    this.#paths.on(ANY, path.replaceAll(/\{(\w+)\}/g, ':$1'), unused, { routes, otherwise } satisfies Resource)
  }

  /** @throws AppError 40003 when the path is not valid percent-encoding; any error of the route */
  route(exchange: Exchange): void {
    const { method = '', url = '' } = exchange.request
    // The library would take `*`, which only OPTIONS may name, for the root.
    const target = this.#base?.within(url) ?? url
    const plain = takeTextPath(target, exchange.request)
    if (plain !== undefined) exchange.prefix = TEXT_IDS_PATH
    const found = url === '*' ? null : this.#paths.find(ANY, plain ?? target)
    let route = this.#notFound
    if (found !== null) {
      const resource: Resource | null = found.store
      if (resource === null) throw new AppError(40003, 'the path is not valid percent-encoded UTF-8')
      exchange.pathParameters = found.params
      if (!hasEmpty(found.params)) route = resource.routes.get(method) ?? resource.otherwise
    }
    route(exchange)
  }
}

/** The library matches `/plants/` with `/plants/{id}` and an empty id. */
function hasEmpty(parameters: Readonly<Record<string, string | undefined>>): boolean {
  for (const name in parameters) if (parameters[name] === '') return true
  return false
}

interface Resource {
  readonly routes: ReadonlyMap<string, Route>
  readonly otherwise: Route
}

/**
 * The library finds a route by method and path. Here the path alone finds the resource, so all routes have one method.
 */
const ANY = 'GET'
const NO_QUERY = {}

/** The library demands a handler for each route. Ours take an exchange, so they are in the `store` of the route. */
const unused = (): void => {}

type OperationId = keyof OperationParameters

/**
 * One handler for each operation of the contract, under its operationId. The body is empty where the operation takes
 * none, and where the handler reads it in pieces itself.
 */
export type Handlers = {
  readonly [Id in OperationId]: Handler<OperationParameters[Id]>
}

export interface HandlerParts {
  readonly config: Config
  readonly contract: Contract
  readonly store: Store
  readonly responder: Responder
  readonly admission: Admission
  readonly slowClients: SlowClients
  /** Absent like the log of changes of the store. */
  readonly streams: ChangeStreams | undefined
  /** Absent like the log of changes of the store. */
  readonly delivery: WebhookDelivery | undefined
  /** Ends imports under way. Its reason is the AppError that they get. */
  readonly stopping: AbortSignal
  /** Returns the address that clients use. */
  readonly origin: () => string
  readonly base: BasePath
}

/** Answers an exchange. The router refuses the exchange with an error that the handler throws or rejects with. */
export type Handler<Taken> = (exchange: Exchange, parameters: Taken, body: Buffer) => unknown

export interface RouteOptions {
  readonly authorize: Authorize
  /** Rejects with the refusal when the token is no longer valid. */
  readonly confirm: (identity: Identity) => Promise<void>
  readonly responder: Responder
  readonly cors: Cors | undefined
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
    const routed = operations.map((operation) => {
      const { id } = operation
      if (!isIn(handlers, id)) throw new Error(`the contract's operation ${id} has no handler`)
      missing.delete(id)
      return [operation, routeOf(operation, handlers[id], options)] as const
    })
    for (const spelling of SPELLINGS[path] ?? [path]) addPath(router, spelling, routed, options)
  }
  if (missing.size > 0) throw new Error(`the contract has no operation ${[...missing].join(', ')}`)
}

/** Adds the route of an operation that another specification than the contract defines, for which it has no parameters. */
export function addForeign(
  router: Router,
  operation: Operation,
  handler: Handler<object>,
  options: RouteOptions,
): void {
  addPath(router, operation.path, [[operation, routeOf(operation, handler, options)]], options)
}

function addPath(
  router: Router,
  path: string,
  routed: readonly (readonly [Operation, Route])[],
  options: RouteOptions,
): void {
  const operations = routed.map(([operation]) => operation)
  const routes = new Map<string, Route>([['OPTIONS', answerOptions(operations, options)]])
  for (const [operation, route] of routed) {
    const admitting = authorized(operation, route, options)
    routes.set(operation.method, admitting)
    if (operation.method === 'GET') routes.set('HEAD', admitting)
  }
  router.add(path, routes, refuseMethod(operations))
}

/** People also type the address of the page with a slash at its end. */
const SPELLINGS: Readonly<Record<string, readonly string[]>> = { '/docs': ['/docs', '/docs/'] }

const isIn = <Id extends OperationId>(handlers: Pick<Handlers, Id>, id: string): id is Id => Object.hasOwn(handlers, id)

/** The service answers these under any load, because monitors must see the load. */
export const MONITORING = ['getLiveness', 'getReadiness', 'getMetrics'] as const satisfies OperationId[]

function authorized(operation: Operation, route: Route, { authorize, overload }: RouteOptions): Route {
  const admit = authorize(operation, route)
  const mayShed = overload !== undefined && !MONITORING.some((id) => id === operation.id)
  return (exchange) => {
    exchange.operation = operation
    if (mayShed) overload.refuseExcess(exchange.startedAt)
    admit(exchange)
  }
}

/** Makes the route that reads the parameters and the body of an operation and passes them to its handler. */
function routeOf<Taken>(operation: Operation, handler: Handler<Taken>, { responder, confirm }: RouteOptions): Route {
  const { isStreamed, mediaTypes } = operation
  return (exchange) => {
    // The reader and the type of the handler both follow from the operation's schemas in openapi.yaml.
    const parameters = operation.parameters.read(exchange) as Taken & object
    refuseUnacceptable(exchange, operation)
    const refuse = (error: unknown) => responder.refuse(exchange, namePreconditions(error, parameters))
    const handle = (body: Buffer) => {
      try {
        const answered = handler(exchange, parameters, body)
        if (answered instanceof Promise) answered.catch(refuse)
      } catch (error) {
        refuse(error)
      }
    }
    if (isStreamed) checkBodyHeaders(exchange, operation, Number.POSITIVE_INFINITY)
    if (isStreamed || mediaTypes.length === 0) return handle(NO_BODY)
    const { identity, startedAt } = exchange
    const handleIfConfirmed = (body: Buffer) => {
      if (identity === undefined || performance.now() - startedAt < LOOK_UP_INTERVAL) handle(body)
      // The token may have been revoked while the body arrived.
      else confirm(identity).then(() => handle(body), refuse)
    }
    readBody(exchange, operation, handleIfConfirmed, refuse)
  }
}

/**
 * Adds the names of the request's preconditions to the store's refusal 41201, and why a weak tag cannot hold: a proxy that
 * compresses answers makes such tags. Leaves other errors as they are.
 */
function namePreconditions(
  error: unknown,
  parameters: Partial<Pick<OperationParameters['replacePlant'], (typeof PRECONDITIONS)[number]>>,
): unknown {
  if (!(error instanceof AppError) || error.number !== 41201) return error
  const names = PRECONDITIONS.filter((name) => parameters[name] !== undefined)
  const weak = [parameters['If-Match'] ?? []].flat().some((tag) => tag.startsWith('W/'))
  const why = weak ? '; If-Match has a weak tag, which never holds there: send it without W/' : ''
  return names.length === 0 ? error : new AppError(41201, `${error.message} (${names.join(', ')}${why})`)
}

/** @throws AppError 40601 when the client accepts no media type of the answer, or no form of one */
function refuseUnacceptable({ request }: Exchange, { produces }: Operation): void {
  const { accept } = request.headers
  if (accept !== undefined && hasUnknownIds(accept)) throw new AppError(40601, `in Accept, ${TEXT_IDS_FAULT}`)
  if (accept === undefined || produces.length === 0 || preferredType(accept, produces) !== undefined) return
  throw new AppError(40601, `Accept excludes every media type of the answer; send one of ${produces.join(', ')}`)
}

const NO_BODY = Buffer.alloc(0)

const ORDER: readonly Method[] = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']

/**
 * Answers OPTIONS on a path with the methods and bodies that its operations take (RFC 9110 section 9.3.7), and the
 * preflights of browsers.
 */
function answerOptions(
  operations: readonly Operation[],
  { responder, cors }: { responder: Responder; cors: Cors | undefined },
): Route {
  const Allow = allowOf(operations)
  const headers = [
    { Allow },
    ...operations
      .filter(({ method }) => method !== 'PUT')
      .map(({ method, mediaTypes }) => acceptedBodies(method, mediaTypes)),
  ].flatMap((fields) => Object.entries(fields).flat())
  return (exchange) =>
    responder.reply(exchange, 204, [...headers, ...(cors?.preflightHeadersOf(exchange.request, Allow) ?? [])])
}

function refuseMethod(operations: readonly Operation[]): Route {
  const Allow = allowOf(operations)
  return ({ request }) => {
    throw new HttpError(40501, `${request.method} is not allowed here; allowed are ${Allow}`, { headers: { Allow } })
  }
}

/**
 * Refuses a request on a path that the contract does not have. Answers OPTIONS on `*` with the methods of the whole
 * service (RFC 9110 section 9.3.7).
 *
 * @param hint tells the client where it finds the paths
 */
export function answerNotFound(operations: readonly Operation[], responder: Responder, hint: string): Route {
  const Allow = allowOf(operations)
  return (exchange) => {
    const { method, url } = exchange.request
    if (method === 'OPTIONS' && url === '*') return responder.reply(exchange, 204, ['Allow', Allow])
    throw new AppError(40401, `there is no such path; ${hint}`)
  }
}

function allowOf(operations: readonly Operation[]): string {
  const present = ORDER.filter((method) => operations.some((operation) => operation.method === method))
  return [...present.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method])), 'OPTIONS'].join(', ')
}
