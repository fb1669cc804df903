// Checks every answer of the service that a test process receives against the contract, whether by http.request, by
// fetch or on a socket. A fault is an uncaught exception, so the running test fails.
import assert from 'node:assert/strict'
import { subscribe } from 'node:diagnostics_channel'
import type { ClientRequest, IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { assertBodyConforms, assertError, assertHeadConforms, operationIdOf } from './conforms.ts'
import { dechunked, decoded } from './http-bytes.ts'

/** A header of every answer of the service. On unknown ports it distinguishes the service from fake servers. */
const MARK = 'x-request-id'
/** The most bytes of a body that the recorder keeps and checks. Exports in tests are longer. */
const MOST_KEPT = 2 ** 17

const services = new Set<number>()

/** Tells the recorder that a service listens on this port. @returns a function that ends this */
export function expectService(port: number): () => void {
  services.add(port)
  return () => void services.delete(port)
}

interface Sent {
  readonly method: string
  readonly path: string
  /** Whether the port is known to be one of a service. */
  readonly isToService: boolean
}

/** An answer without its body. */
interface Head {
  readonly status: number
  readonly headers: IncomingHttpHeaders
}

subscribe('http.client.response.finish', (message) => {
  const { request, response } = message as { request: ClientRequest; response: IncomingMessage }
  const port = /:(\d+)$/.exec(String(request.getHeader('host')))?.[1] ?? request.socket?.remotePort
  const sent = { method: request.method, path: request.path, isToService: services.has(Number(port)) }
  const head = { status: response.statusCode ?? 0, headers: response.headers }
  if (!recordHead(sent, head)) return
  const body = new BodyRecord(sent, head)
  const push = response.push
  // Hooks into `push`, because a listener for data would start the flow of the body.
  response.push = (chunk: Buffer | null, ...rest) => {
    if (chunk === null) process.nextTick(() => body.end())
    else body.add(chunk)
    return push.call(response, chunk, ...rest)
  }
})

interface UndiciRequest {
  readonly method: string
  readonly path: string
  readonly origin: string
}
const fetched = new WeakMap<UndiciRequest, BodyRecord>()

subscribe('undici:request:headers', (message) => {
  const { request, response } = message as {
    request: UndiciRequest
    response: { statusCode: number; headers: readonly Buffer[] }
  }
  const texts = response.headers.map((text) => text.toString('latin1'))
  const headers: IncomingHttpHeaders = {}
  for (let i = 0; i < texts.length; i += 2) headers[(texts[i] ?? '').toLowerCase()] = texts[i + 1]
  const { method, path, origin } = request
  const sent = { method, path, isToService: services.has(Number(new URL(origin).port)) }
  const head = { status: response.statusCode, headers }
  if (recordHead(sent, head)) fetched.set(request, new BodyRecord(sent, head))
})
subscribe('undici:request:bodyChunkReceived', (message) => {
  const { request, chunk } = message as { request: UndiciRequest; chunk: Buffer }
  fetched.get(request)?.add(chunk)
})
subscribe('undici:request:trailers', (message) => {
  fetched.get((message as { request: UndiciRequest }).request)?.end()
})

/** Collects a body, and checks it against the contract at its end. */
class BodyRecord {
  readonly #sent: Sent
  readonly #head: Head
  #chunks: Buffer[] = []
  #length = 0

  constructor(sent: Sent, head: Head) {
    this.#sent = sent
    this.#head = head
  }

  add(chunk: Buffer): void {
    this.#length += chunk.length
    if (this.#length > MOST_KEPT) this.#chunks = []
    // Copies the chunk, because the socket reuses its buffer.
    else this.#chunks.push(Buffer.from(chunk))
  }

  end(): void {
    if (this.#length <= MOST_KEPT) recordBody(this.#sent, this.#head, Buffer.concat(this.#chunks))
  }
}

/** @returns whether it is an answer of the service */
function recordHead({ method, path, isToService }: Sent, head: Head): boolean {
  const { headers, status } = head
  // A proxy adds other headers.
  if (String(headers['server']).startsWith('nginx')) return false
  if (headers[MARK] === undefined && !isToService) return false
  const operationId = operationIdOf(method, path)
  if (operationId !== undefined) {
    assertHeadConforms(operationId, head)
  } else {
    const about = `${method} ${path} ${status}`
    assert.ok(headers[MARK] !== undefined, `${about}: the header ${MARK} is missing`)
    assert.equal(headers['x-content-type-options'], 'nosniff', about)
  }
  return true
}

function recordBody({ method, path }: Sent, { status, headers }: Head, bytes: Buffer): void {
  if (method === 'HEAD' || status === 304) return
  const body = decoded(bytes, headers['content-encoding']).toString('utf8')
  const operationId = operationIdOf(method, path)
  if (operationId !== undefined) assertBodyConforms(operationId, { status, headers, body })
  else if (status >= 400 && !isJsonRpc(path, body))
    assertError(JSON.parse(body), status, undefined, `${method} ${path}`)
}

/** Whether a body is an error of JSON-RPC, which has members of its own. Only the protocol of agents answers so. */
const isJsonRpc = (path: string, body: string): boolean => path === '/mcp' && body.includes('"jsonrpc":"2.0"')

/**
 * Checks the answers on a closed connection, from the bytes in both directions. Skips what it cannot parse.
 *
 * @param isToService whether the connection was to a port of `expectService`
 */
export function recordConnection(sent: Buffer, received: Buffer, isToService: boolean): void {
  const requests = requestsIn(sent, isToService)
  let at = 0
  for (const request of requests) {
    const answer = answerAt(received, at, request)
    if (answer === undefined || !recordHead(request, answer.head)) return
    if (answer.body === undefined) return
    recordBody(request, answer.head, answer.body)
    at = answer.end
  }
}

export const isExpected = (port: number): boolean => services.has(port)

/** Parses the requests in order, up to the first that is not HTTP/1.1 with a Content-Length or without a body. */
function requestsIn(bytes: Buffer, isToService: boolean): Sent[] {
  const requests: Sent[] = []
  for (let rest = bytes; rest.length > 0; ) {
    const headEnd = rest.indexOf('\r\n\r\n')
    const head = rest.toString('latin1', 0, headEnd === -1 ? rest.length : headEnd)
    const [, method = '', path = ''] = /^([A-Z]+) (\/\S*) HTTP\/1\.1\r\n/.exec(head) ?? []
    if (method === '') break
    requests.push({ method, path, isToService })
    const lengths = [...head.matchAll(/\r\nContent-Length: (\d+)(?=\r\n|$)/g)]
    if (headEnd === -1 || lengths.length > 1 || /\r\nTransfer-Encoding:/i.test(head)) break
    rest = rest.subarray(headEnd + 4 + Number(lengths[0]?.[1] ?? 0))
  }
  return requests
}

/** Parses the next final answer, and skips interim ones. The body is undefined if it is incomplete. */
function answerAt(
  bytes: Buffer,
  from: number,
  { method }: Sent,
): { head: Head; body: Buffer | undefined; end: number } | undefined {
  const headEnd = bytes.indexOf('\r\n\r\n', from)
  if (headEnd === -1) return undefined
  const [statusLine = '', ...lines] = bytes.toString('latin1', from, headEnd).split('\r\n')
  const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(statusLine)?.[1])
  const start = headEnd + 4
  if (status < 200) return answerAt(bytes, start, { method, path: '', isToService: true })
  const headers: IncomingHttpHeaders = Object.fromEntries(
    lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
  )
  const head = { status, headers }
  if (method === 'HEAD' || status === 204 || status === 304) return { head, body: Buffer.alloc(0), end: start }
  const chunked = headers['transfer-encoding'] === 'chunked' ? (dechunked(bytes, start) ?? 'cut') : undefined
  if (chunked === 'cut') return { head, body: undefined, end: bytes.length }
  if (chunked !== undefined) return { head, ...chunked }
  const end = start + Number(headers['content-length'] ?? Number.NaN)
  return { head, body: end <= bytes.length ? bytes.subarray(start, end) : undefined, end }
}
