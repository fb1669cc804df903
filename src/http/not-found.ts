import { AppError } from '../errors.ts'
import { acceptedBodies } from './body.ts'
import type { Contract, Method, Operation } from './contract.ts'
import type { Responder } from './responder.ts'
import type { Route } from './router.ts'

/** The order in which Allow names methods. */
const ORDER: readonly Method[] = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']

/** What there is on one path. */
interface Resource {
  readonly pattern: RegExp
  readonly allow: string
  /** Of the answer to OPTIONS. */
  readonly headers: Readonly<Record<string, string>>
}

/**
 * Answers a request that no operation is for: 204 to OPTIONS on a path of the contract or on `*` (RFC 9110 section 9.3.7),
 * 405 to other methods on such a path, 404 to all else.
 */
export function answerNotFound(contract: Contract, responder: Responder): Route {
  const resources = resourcesOf(contract)
  const service = { Allow: allowOf(contract.operations) }
  return (exchange) => {
    const { method, url = '' } = exchange.request
    // A client may send the whole URL (RFC 9112 section 3.2.2).
    const path = url.replace(/^https?:\/\/[^/?]*/i, '').split('?', 1)[0] ?? ''
    const found = resources.find(({ pattern }) => pattern.test(path))
    const options = path === '*' ? service : found?.headers
    if (method === 'OPTIONS' && options !== undefined) {
      responder.reply(exchange, 204, Object.entries(options).flat())
    } else if (found === undefined) {
      responder.refuse(exchange, new AppError(40401, 'there is no such path; /docs shows those that there are'))
    } else {
      const message = `${method} is not possible here; possible are ${found.allow}`
      responder.refuse(exchange, new AppError(40501, message, { headers: { Allow: found.allow } }))
    }
  }
}

/** Paths without parameters come first: they are not meant by a pattern that would fit them too. */
function resourcesOf({ operations }: Contract): Resource[] {
  const paths = Map.groupBy(operations, ({ path }) => path)
  const literalFirst = [...paths].sort(([a], [b]) => Number(a.includes('{')) - Number(b.includes('{')))
  return literalFirst.map(([path, found]) => ({
    pattern: new RegExp(`^${path.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+')}$`),
    allow: allowOf(found),
    headers: headersOf(found),
  }))
}

const headersOf = (operations: readonly Operation[]): Record<string, string> =>
  Object.assign(
    { Allow: allowOf(operations) },
    ...operations
      .filter(({ method }) => method !== 'PUT')
      .map(({ method, mediaTypes }) => acceptedBodies(method, mediaTypes)),
  ) as Record<string, string>

function allowOf(operations: readonly Operation[]): string {
  const present = ORDER.filter((method) => operations.some((operation) => operation.method === method))
  return [...present.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method])), 'OPTIONS'].join(', ')
}
