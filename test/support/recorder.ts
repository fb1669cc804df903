// Holds every answer of the service that a test process sees against the contract: whoever asks, by http.request, by
// fetch or by bytes on a socket. A fault is an uncaught exception, so the test that is running fails.
import { subscribe } from 'node:diagnostics_channel'
import type { ClientRequest, IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { assertConforms, assertHeadConforms, operationIdOf, type Seen } from './conforms.ts'

/** Every answer of the service has it, and none of a server that a test makes up. */
const MARK = 'x-request-id'

subscribe('http.client.response.finish', (message) => {
  const { request, response } = message as { request: ClientRequest; response: IncomingMessage }
  record(request.method, request.path, response.statusCode ?? 0, response.headers)
})

subscribe('undici:request:headers', (message) => {
  const { request, response } = message as {
    request: { method: string; path: string }
    response: { statusCode: number; headers: readonly Buffer[] }
  }
  const texts = response.headers.map((text) => text.toString('latin1'))
  const headers: IncomingHttpHeaders = {}
  for (let i = 0; i < texts.length; i += 2) headers[(texts[i] ?? '').toLowerCase()] = texts[i + 1]
  record(request.method, request.path, response.statusCode, headers)
})

function record(method: string, path: string, status: number, headers: IncomingHttpHeaders): void {
  // A proxy adds headers of its own.
  if (String(headers['server']).startsWith('nginx')) return
  const operationId = operationIdOf(method, path)
  if (operationId !== undefined && headers[MARK] !== undefined) assertHeadConforms(operationId, { status, headers })
}

/** Records a connection that is closed, from the bytes in both directions. What can't be told apart is left out. */
export function recordConnection(sent: Buffer, received: Buffer): void {
  const requests = requestsIn(sent)
  wholeAnswersIn(received, requests).forEach((seen, i) => {
    const { method, path } = requests[i] ?? { method: '', path: '' }
    const operationId = operationIdOf(method, path)
    if (operationId !== undefined) assertConforms(operationId, seen, { hasBody: method !== 'HEAD' })
  })
}

interface Sent {
  readonly method: string
  readonly path: string
}

/** The requests in their order, up to the first that is no plain HTTP/1.1 with a Content-Length or without a body. */
function requestsIn(bytes: Buffer): Sent[] {
  const requests: Sent[] = []
  for (let rest = bytes; rest.length > 0; ) {
    const headEnd = rest.indexOf('\r\n\r\n')
    const head = rest.toString('latin1', 0, headEnd === -1 ? rest.length : headEnd)
    const [, method = '', path = ''] = /^([A-Z]+) (\/\S*) HTTP\/1\.1\r\n/.exec(head) ?? []
    if (method === '') break
    requests.push({ method, path })
    const lengths = [...head.matchAll(/\r\nContent-Length: (\d+)(?=\r\n|$)/g)]
    if (headEnd === -1 || lengths.length > 1 || /\r\nTransfer-Encoding:/i.test(head)) break
    rest = rest.subarray(headEnd + 4 + Number(lengths[0]?.[1] ?? 0))
  }
  return requests
}

/** The final answers that have a length, up to the first that has none or is cut short. */
function wholeAnswersIn(bytes: Buffer, requests: readonly Sent[]): Seen[] {
  const answers: Seen[] = []
  for (let rest = bytes; rest.length > 0 && answers.length < requests.length; ) {
    const headEnd = rest.indexOf('\r\n\r\n')
    if (headEnd === -1) break
    const [statusLine = '', ...lines] = rest.toString('latin1', 0, headEnd).split('\r\n')
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(statusLine)?.[1])
    const headers = Object.fromEntries(
      lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
    )
    const isFinal = status >= 200
    if (isFinal && headers[MARK] === undefined) break
    const hasBody = isFinal && status !== 204 && status !== 304
    if (hasBody && headers['content-length'] === undefined) break
    const length = hasBody && requests[answers.length]?.method !== 'HEAD' ? Number(headers['content-length']) : 0
    if (rest.length < headEnd + 4 + length) break
    if (isFinal) answers.push({ status, headers, body: rest.toString('utf8', headEnd + 4, headEnd + 4 + length) })
    rest = rest.subarray(headEnd + 4 + length)
  }
  return answers
}
