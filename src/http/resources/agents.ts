import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { http } from '../../base/http.ts'
import { AppError } from '../../domain/errors.ts'
import { readJsonBody } from '../../json/body.ts'
import { JSON_TYPE } from '../answer/responder.ts'
import { hasScopes } from '../auth/bearer.ts'
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
  /** Refuses the call of an operation, or of none that there is, as its HTTP request would be, in the audit log too. */
  readonly refuse: (operation: string | undefined, refusal: AppError) => Promise<OperationAnswer>
}

/** A protocol by which agents call operations. */
export interface Agents {
  /**
   * @param message the body of the request, as JSON.parse reads it
   * @returns a status of HTTP and a message in JSON, or an empty text
   */
  answer(
    request: Request,
    message: unknown,
    caller: AgentCaller,
  ): Promise<{ readonly status: number; readonly text: string }>
}

const PATH = '/mcp'

/** The codes of JSON-RPC for refusals. It leaves -32000 to -32099 to servers. */
const CODES: Readonly<Record<number, number>> = { 40001: -32700, 40002: -32600 }
const REFUSED = -32000

/** Writes a refusal of HTTP as an error of JSON-RPC, which clients of the protocol expect. */
function refusalJson({ number, message }: AppError, id = 'null'): string {
  const code = CODES[number] ?? REFUSED
  const error = JSON.stringify({ code, message: `error ${number}: ${message}`, data: { error: number, message } })
  return `{"jsonrpc":"2.0","id":${id},"error":${error}}`
}

const POST_MCP = foreignOperation({
  id: 'callTools',
  method: 'POST',
  path: PATH,
  scopes: [],
  mediaTypes: [JSON_TYPE],
  produces: [JSON_TYPE],
  refusalJson,
})

/** The headers of an agent's request that its calls have too: they say who asks, and for which trace. */
const KEPT = ['forwarded', 'x-forwarded-for', 'x-request-id', 'traceparent']
/** Likewise, the action of which the changes of an agent are a part. An undo is one of its own. */
const OF_CHANGE = ['plantstore-action', 'plantstore-action-title']

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

  const callerOf = (outer: Exchange): AgentCaller => ({
    may: (id) => hasScopes(outer.sender, operationOf(id).scopes),
    call: (call) => {
      const operation = operationOf(call.operation)
      return answerTo(requestOf(operation, call, outer), outer, (exchange) => router.route(exchange))
    },
    refuse: (id, refusal) => {
      const operation = id === undefined ? POST_MCP : operationOf(id)
      return answerTo(requestOf(operation, { operation: operation.id }, outer), outer, (exchange) => {
        exchange.operation = operation
        throw refusal
      })
    },
  })

  /** Lets the service answer a request of its own, in the name of an agent. */
  function answerTo(
    request: IncomingMessage,
    outer: Exchange,
    route: (exchange: Exchange) => void,
  ): Promise<OperationAnswer> {
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
        route(exchange)
      } catch (error) {
        responder.refuse(exchange, error)
      }
    })
  }

  const handle = async (exchange: Exchange, _parameters: object, body: Buffer) => {
    const read = readJsonBody(body)
    if (!read.isObject) throw new AppError(40002, 'the body must be one message of JSON-RPC, and no batch')
    const id = read.value('id')?.toString()
    if (id !== undefined && /^["\d-]/.test(id)) exchange.messageId = id
    mustBeOurs(exchange.request.headers.origin)
    responder.mustHaveRoom()
    const message: object = JSON.parse(body.toString())
    // JSON.parse would round a long number. Its client finds the answer by the very same id.
    const mark = id !== undefined && /^[\d-]/.test(id) ? randomUUID() : undefined
    const marked = mark === undefined ? message : { ...message, id: mark }
    // A message takes a millisecond of the processor or more, before its operation has a queue of its own.
    const { status, text } = await admission.during('agent', exchange, (signal) =>
      agents.answer(webRequestOf(exchange, origin() + PATH, signal), marked, callerOf(exchange)),
    )
    const answer = mark === undefined ? text : text.replace(`"${mark}"`, () => id ?? '')
    const type = text === '' ? [] : ['Content-Type', JSON_TYPE]
    responder.reply(exchange, status, [...type, 'Cache-Control', 'no-store'], answer)
  }
  addForeign(router, POST_MCP, handle, options)
}

const BOTH_TYPES = 'application/json, text/event-stream'

function webRequestOf({ request }: Exchange, url: string, signal: AbortSignal): Request {
  const named = Object.entries(request.headers).filter(([name]) => /^(?:content-type|mcp-.*)$/.test(name))
  const headers = named.map(([name, value]): [string, string] => [name, String(value)])
  // The SDK refuses clients that take JSON alone, though they get nothing else.
  return new Request(url, { method: 'POST', headers: [...headers, ['accept', BOTH_TYPES]], signal })
}

/** @throws AppError 40003 for a lone surrogate, which no address can have */
function requestOf({ method, path, mediaTypes: [type = ''] }: Operation, call: OperationCall, outer: Exchange) {
  const { operation, id, query = [], headers, body } = call
  const kept = operation === 'undoAction' ? KEPT : [...KEPT, ...OF_CHANGE]
  const request = new http.IncomingMessage(outer.request.socket)
  try {
    const search = query.length === 0 ? '' : `?${writeQueryString(query)}`
    request.url = path.replace('{id}', () => encodeURIComponent(String(id))) + search
  } catch {
    throw new AppError(40003, 'an argument has a lone surrogate, which is half a character')
  }
  request.method = method
  request.headers = {
    ...Object.fromEntries(kept.map((name) => [name, outer.request.headers[name]])),
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
