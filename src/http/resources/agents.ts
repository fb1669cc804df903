import { http } from '../../base/http.ts'
import { AppError } from '../../domain/errors.ts'
import { readJsonBody } from '../../json/body.ts'
import { JSON_TYPE } from '../answer/responder.ts'
import { Exchange } from '../request/exchange.ts'
import { writeQueryString } from '../request/head.ts'
import { foreignOperation, type Operation } from '../request/operations.ts'
import { WITH_TEXT_IDS } from '../request/text-ids.ts'
import { addForeign, type HandlerParts, type RouteOptions, type Router } from '../router.ts'

/** A request of an operation of the contract, by an agent. */
export interface OperationCall {
  readonly operation: string
  /** Takes the place of `{id}` in the path. */
  readonly id?: unknown
  readonly query?: readonly (readonly [name: string, text: string])[]
  /** By names in lower case. */
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: unknown
}

export interface OperationAnswer {
  readonly status: number
  /** By their names as the service writes them. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** What an agent may do by its token. */
export interface AgentCaller {
  /** Whether the token has the scopes of an operation. */
  may(operation: string): boolean
  /**
   * Does what the HTTP request would do, with ids as texts.
   *
   * @throws AppError 40003 for a text that no request can carry; the reason for which the request of the agent ended
   */
  readonly call: (call: OperationCall) => Promise<OperationAnswer>
}

/** A protocol by which agents call operations. */
export interface Agents {
  /** @param message the body of the request, as JSON.parse reads it */
  answer(request: Request, message: unknown, caller: AgentCaller): Promise<Response>
}

const PATH = '/mcp'

const POST_MCP = foreignOperation({
  id: 'callTools',
  method: 'POST',
  path: PATH,
  scopes: [],
  mediaTypes: [JSON_TYPE],
  produces: [JSON_TYPE],
})

/** The headers of an agent's request that its calls have too: they say who asks, and for which trace. */
const KEPT = ['forwarded', 'x-forwarded-for', 'x-request-id', 'traceparent'] as const

/** Adds the path of the Model Context Protocol. The contract does not have it, because the protocol describes itself. */
export function addAgents(router: Router, agents: Agents, parts: HandlerParts, options: RouteOptions): void {
  const { contract, responder, admission, config, origin } = parts
  const operations = new Map(contract.operations.map((operation) => [operation.id, operation]))

  /** A page of another site, also one whose name leads to this machine (DNS rebinding), must not use an agent's path. */
  const mustBeOurs = (sent: string | undefined) => {
    if (sent === undefined || sent === new URL(origin()).origin || config.corsOrigins?.includes(sent)) return
    throw new AppError(40303, 'pages of this origin may not use this path; the operator can allow it by --cors-origins')
  }

  function operationOf(id: string): Operation {
    const operation = operations.get(id)
    if (operation === undefined) throw new Error(`the contract has no operation ${id}`)
    return operation
  }

  const callerOf = (exchange: Exchange): AgentCaller => ({
    may: (id) => (operationOf(id).scopes ?? []).every((scope) => exchange.sender.scopes.includes(scope)),
    call: (call) => callOperation(operationOf(call.operation), call, exchange),
  })

  function callOperation(operation: Operation, call: OperationCall, outer: Exchange): Promise<OperationAnswer> {
    const request = requestOf(operation, call, outer)
    return new Promise((resolve, reject) => {
      const exchange = new Exchange(request, new http.ServerResponse(request))
      exchange.identity = outer.identity
      exchange.requestId = responder.idOf(outer)
      exchange.take = (status, headers, body) => resolve({ status, headers: byName(headers), body })
      outer.signal.addEventListener('abort', () => {
        exchange.giveUp()
        reject(outer.signal.reason)
      })
      try {
        router.route(exchange)
      } catch (error) {
        responder.refuse(exchange, error)
      }
    })
  }

  const handle = async (exchange: Exchange, _parameters: object, body: Buffer) => {
    mustBeOurs(exchange.request.headers.origin)
    if (!readJsonBody(body).isObject)
      throw new AppError(40002, 'the body must be one message of JSON-RPC, and no batch')
    responder.mustHaveRoom()
    const message: unknown = JSON.parse(body.toString())
    // A message takes a millisecond of the processor or more, before its operation has a queue of its own.
    const answer = await admission.during('agent', exchange, async (signal) => {
      const response = await agents.answer(webRequestOf(exchange, origin() + PATH, signal), message, callerOf(exchange))
      return { status: response.status, type: response.headers.get('content-type'), text: await response.text() }
    })
    const type = answer.type === null ? [] : ['Content-Type', answer.type]
    responder.reply(exchange, answer.status, [...type, 'Cache-Control', 'no-store'], answer.text)
  }
  addForeign(router, POST_MCP, handle, options)
}

function webRequestOf({ request }: Exchange, url: string, signal: AbortSignal): Request {
  const named = Object.entries(request.headers).filter(([name]) => /^(?:accept|content-type|mcp-.*)$/.test(name))
  return new Request(url, { method: 'POST', headers: named.map(([name, value]) => [name, String(value)]), signal })
}

/** @throws AppError 40003 for a lone surrogate, which no address can have */
function requestOf({ method, path, mediaTypes: [type = ''] }: Operation, call: OperationCall, outer: Exchange) {
  const { id, query = [], headers, body } = call
  const request = new http.IncomingMessage(outer.request.socket)
  try {
    const search = query.length === 0 ? '' : `?${writeQueryString(query)}`
    request.url = path.replace('{id}', () => encodeURIComponent(String(id))) + search
  } catch {
    throw new AppError(40003, 'an argument has a lone surrogate, which is half a character')
  }
  request.method = method
  request.headers = {
    ...Object.fromEntries(KEPT.map((name) => [name, outer.request.headers[name]])),
    accept: JSON_TYPE + WITH_TEXT_IDS,
    ...(body === undefined ? {} : { 'content-type': type + WITH_TEXT_IDS }),
    ...headers,
  }
  if (body !== undefined) request.push(String(body))
  request.push(null)
  request.complete = true
  return request
}

const byName = (headers: readonly string[]): Record<string, string> =>
  Object.fromEntries(headers.flatMap((name, i) => (i % 2 === 0 ? [[name, headers[i + 1] ?? '']] : [])))
