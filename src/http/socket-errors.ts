import type { Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { AppError, errorJson } from '../errors.ts'
import { Incoming } from './incoming.ts'

/** Takes note of a refusal and the address that it went to. */
export type Note = (refusal: AppError, address: string | undefined) => void

/** How long a refused connection is still read from, in ms. */
const LINGER = 1000

/**
 * Answers what never becomes a request: HTTP that can't be parsed, headers that are too large, a request that does not
 * arrive in time, CONNECT. Node would answer these itself, or not at all, without our body.
 *
 * @param note is told of each
 */
export function answerSocketErrors(server: Server, note: Note): void {
  const refuse = (socket: Socket, refusal: AppError) => {
    note(refusal, socket.remoteAddress)
    write(socket, refusal)
  }
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    // What still comes after a refusal is another error, and thrown away while the refusal is on its way.
    if (socket.writableEnded) return
    if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT' && isStreamed(socket)) return
    if (error.code === 'ECONNRESET' || !socket.writable || awaitsAnswer(socket)) return socket.destroy()
    refuse(socket, refusalOf(error))
  })
  server.on('connect', (_request, socket) => {
    refuse(socket as Socket, new AppError(40501, 'CONNECT is not possible here', { headers: { Allow: '' } }))
  })
}

function refusalOf(error: NodeJS.ErrnoException): AppError {
  switch (error.code) {
    case 'HPE_HEADER_OVERFLOW':
      return new AppError(43101, 'the request line and headers are larger than the limit')
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new AppError(40801, 'the request took too long to arrive; send it again')
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return new AppError(41301, 'the chunk extensions of the body are larger than the limit')
    default:
      return new AppError(40004, 'the request is not valid HTTP/1.1')
  }
}

/** Node asks here what to do with a request that is over its time, and leaves it alone where nothing is done. */
function isStreamed(socket: Socket): boolean {
  const request = responseOn(socket)?.req
  return request instanceof Incoming && request.isStreamed
}

/**
 * Whether a whole request was read from this socket and is not answered yet. A refusal of what came after it would be
 * taken for its answer, so then the connection is closed without one.
 */
function awaitsAnswer(socket: Socket): boolean {
  const response = responseOn(socket)
  return response !== undefined && (response.headersSent || response.req.complete)
}

/** The response that is being made on this socket, if one is. */
const responseOn = (socket: Socket): ServerResponse | undefined =>
  (socket as { _httpMessage?: ServerResponse | null })._httpMessage ?? undefined

function write(socket: Socket, { status, number, message, headers }: AppError): void {
  const body = errorJson(number, message)
  const fields = Object.entries({
    ...headers,
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(body),
    Connection: 'close',
  }).map(([name, value]) => `${name}: ${value}\r\n`)
  // Closing at once, with bytes unread, would reset the connection and could cost the client this answer; waiting for the
  // client to close would let it keep the connection for good.
  socket.resume()
  setTimeout(() => socket.destroy(), LINGER).unref()
  socket.end(`HTTP/1.1 ${status} ${REASONS[status] ?? 'Error'}\r\n${fields.join('')}\r\n${body}`)
}

const REASONS: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  405: 'Method Not Allowed',
  408: 'Request Timeout',
  413: 'Content Too Large',
  431: 'Request Header Fields Too Large',
}
