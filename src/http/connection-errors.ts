import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { AppError, errorJson } from '../errors.ts'

/** How long a refused connection is still read from, in ms. */
const LINGER = 1000

const CLOSE = { Connection: 'close' }

/** The refusal for what Node's parser could not read, or not in time. */
export function refusalOfError({ code }: NodeJS.ErrnoException): AppError {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return new AppError(43101, 'the request line and headers are larger than the limit', { headers: CLOSE })
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new AppError(40801, 'the request took too long to arrive; send it again', { headers: CLOSE })
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return new AppError(41301, 'the chunk extensions of the body are larger than the limit', { headers: CLOSE })
    default:
      return new AppError(40004, 'the request is not valid HTTP/1.1', { headers: CLOSE })
  }
}

/** A refusal that belongs to no request. */
export interface NamedRefusal {
  readonly refusal: AppError
  readonly requestId: string
}

/** Ends a connection on which nothing can be read any more, with a refusal if one is given. */
export function endRefused(socket: Socket, named?: NamedRefusal): void {
  // Closing at once, with bytes unread, would reset the connection and could cost the client this answer; waiting for the
  // client to close would let it keep the connection for good.
  socket.resume()
  setTimeout(() => socket.destroy(), LINGER).unref()
  socket.end(named === undefined ? '' : textOf(named))
}

function textOf({ refusal: { status, number, message, headers }, requestId }: NamedRefusal): string {
  const body = errorJson(number, message)
  const fields = Object.entries({
    ...headers,
    'Content-Type': 'application/json',
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
    'X-Request-Id': requestId,
    'Content-Length': Buffer.byteLength(body),
    ...CLOSE,
  }).map(([name, value]) => `${name}: ${value}\r\n`)
  return `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'Error'}\r\n${fields.join('')}\r\n${body}`
}
