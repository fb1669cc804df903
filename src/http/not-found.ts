import { AppError } from '../domain/errors.ts'
import type { Method, Operation } from './operations.ts'
import { acceptedBodies } from './request/body.ts'
import type { Cors } from './response/cors.ts'
import { HttpError } from './response/http-error.ts'
import type { Responder } from './response/responder.ts'
import type { Route } from './router.ts'

/** The order in which Allow names methods. */
const ORDER: readonly Method[] = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']

/**
 * Answers OPTIONS on a path with the methods and bodies that its operations take (RFC 9110 section 9.3.7), and the
 * preflights of browsers.
 */
export function answerOptions(
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

/** Refuses a method that none of a path's operations has. */
export function refuseMethod(operations: readonly Operation[]): Route {
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
