import findMyWay from 'find-my-way'
import { AppError } from '../domain/errors.ts'
import type { Exchange } from './exchange.ts'

/** Handles an exchange. The caller refuses the exchange if this throws an error. */
export type Route = (exchange: Exchange) => void

export interface RouterOptions {
  /** Characters that one parameter of a path may have. */
  readonly maxParamLength: number
  /** Takes exchanges without a matching path. */
  readonly notFound: Route
}

/** Finds the route of a request by its path, then by its method. */
export class Router {
  readonly #paths: findMyWay.Instance<findMyWay.HTTPVersion.V1>
  readonly #notFound: Route

  constructor({ maxParamLength, notFound }: RouterOptions) {
    this.#notFound = notFound
    // query-string.ts reads the query, so the library need not.
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
    const found = url === '*' ? null : this.#paths.find(ANY, url)
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
