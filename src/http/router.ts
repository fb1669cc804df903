import findMyWay, { type HTTPMethod } from 'find-my-way'
import { AppError } from '../errors.ts'
import type { Exchange } from './exchange.ts'

/** Goes on with an exchange; what it throws is refused. */
export type Route = (exchange: Exchange) => void

export interface RouterOptions {
  /** Characters that one parameter of a path may have. */
  readonly maxParamLength: number
  /** Takes the exchanges that no route is for. */
  readonly notFound: Route
}

/** Finds the route of a request by its method and path. */
export class Router {
  readonly #routes: findMyWay.Instance<findMyWay.HTTPVersion.V1>
  readonly #notFound: Route

  constructor({ maxParamLength, notFound }: RouterOptions) {
    this.#notFound = notFound
    // The contract's parameters are read from the URL by query-string.ts, so the library leaves the query alone.
    this.#routes = findMyWay({ maxParamLength, querystringParser: () => NO_QUERY, onBadUrl: unused })
  }

  /** @param path with parameters in braces, as in the contract. A route for GET also answers HEAD. */
  add(method: HTTPMethod, path: string, route: Route): void {
    const pattern = path.replaceAll(/\{(\w+)\}/g, ':$1')
    this.#routes.on(method === 'GET' ? ['GET', 'HEAD'] : method, pattern, unused, route)
  }

  /** @throws AppError 40003 when the path can't be decoded, and what the route throws */
  route(exchange: Exchange): void {
    const { method, url } = exchange.request
    const found = this.#routes.find(method as HTTPMethod, url ?? '')
    const route: Route | null = found === null ? this.#notFound : found.store
    if (route === null) throw new AppError(40003, 'the path is not valid percent-encoded UTF-8')
    if (found !== null) exchange.pathParameters = found.params
    route(exchange)
  }
}

const NO_QUERY = {}

/** The library wants a handler for each route; ours are in the route's store, as they take an exchange. */
const unused = (): void => {}
