import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { http } from '../../base/http.ts'
import { type AppError, errorJson } from '../../domain/errors.ts'
import { closing, refusalHeaders } from '../refusal.ts'

/** Milliseconds for which the service still reads a connection that it has refused. */
const LINGER = 1000

/** Refuses what Node's parser lets pass of a head (RFC 9112 sections 2.3, 3.2 and 6.1). @throws AppError 40004 */
export function checkHead({ headers, httpVersion }: IncomingMessage): void {
  const { host } = headers
  const transfer = headers['transfer-encoding']
  if (host === undefined) {
    if (httpVersion !== '1.0') throw badHead('the Host header is missing')
  } else if (!HOST.test(host)) {
    // Node joins the values of a repeated header by a comma and a blank.
    const isTwice = host.includes(', ')
    throw badHead(
      isTwice ? 'the Host header is given more than once' : 'the Host header is not a host name with an optional port',
    )
  }
  if (httpVersion !== '1.1' && httpVersion !== '1.0') throw badHead('the version of HTTP is not 1.0 or 1.1')
  if (transfer !== undefined && httpVersion === '1.0') throw badHead('HTTP/1.0 has no Transfer-Encoding')
  if (transfer !== undefined && transfer.toLowerCase() !== 'chunked') {
    throw badHead('the only supported transfer coding is chunked')
  }
}

/**
 * Checks the head of a request to a port for this machine alone. A page that a browser of this machine shows can lead any
 * name of its own to this port (DNS rebinding), but no address, and not localhost.
 *
 * @throws AppError 40004
 */
export function checkLocalHead({ headers: { host = '' } }: IncomingMessage): void {
  if (LOCAL.test(host)) return
  throw badHead('the Host header of this port is localhost or an address; behind a proxy, let the proxy set it')
}

const LOCAL = /^(?:(?:[^:]*\.)?localhost|[\d.]*|\[.*\])(?::\d*)?$/i

/** An optional host (a name, an IPv4 address, or an IPv6 address in brackets) and port (RFC 3986 section 3.2.2). */
const HOST = /^(?:\[[\da-f:.]+\]|(?:[\w\-.~!$&'()*+,;=]|%[\da-f]{2})*)(?::\d*)?$/i

/** Closes the connection, because client and service may disagree about where such a request ends. */
const badHead = (message: string): AppError => closing(40004, message)

/** The error of Node's `clientError` event. */
export interface ParserError extends NodeJS.ErrnoException {
  readonly rawPacket?: Buffer
  readonly bytesParsed?: number
}

/** The refusal of bytes that Node's parser cannot read, or that came too late. */
export function refusalOfError(error: ParserError): AppError {
  const { code = '' } = error
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return closing(43101, 'the request line and headers are larger than the limit')
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return closing(40801, 'the request took too long to arrive; send it again')
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return closing(41301, 'the chunk extensions of the body are larger than the limit')
  }
  if (code === 'HPE_INVALID_METHOD' && hasRequestLine(error)) return unknownMethod()
  return closing(40004, `the request is not valid HTTP/1.1: ${FAULTS[code] ?? 'it cannot be read'}`)
}

const METHODS = 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS'

/** By the error codes of llhttp, Node's parser (https://github.com/nodejs/llhttp). */
const FAULTS: Readonly<Record<string, string>> = {
  HPE_INVALID_METHOD: 'it does not begin with a method, a path and HTTP/1.1',
  HPE_INVALID_URL: 'its path has characters that must be percent-encoded',
  HPE_INVALID_CONSTANT: 'its first line is not a method, one path without spaces and HTTP/1.1',
  HPE_INVALID_VERSION: 'its first line does not end with HTTP/1.0 or HTTP/1.1, CR and LF',
  HPE_PAUSED_H2_UPGRADE: 'it is HTTP/2',
  HPE_INVALID_HEADER_TOKEN:
    'a header has no colon, a space before the colon, a forbidden character, or a continuation line',
  HPE_INVALID_CONTENT_LENGTH: 'Content-Length is not one whole number, or comes with Transfer-Encoding',
  HPE_UNEXPECTED_CONTENT_LENGTH: 'Content-Length is given more than once',
  HPE_INVALID_TRANSFER_ENCODING: 'Transfer-Encoding is not exactly chunked, or comes with Content-Length',
  HPE_INVALID_CHUNK_SIZE: 'the size of a chunk is not a hexadecimal number',
  HPE_STRICT: 'a chunk is longer than its size, or a line does not end with CR and LF',
  HPE_CR_EXPECTED: 'a line does not end with CR and LF',
  HPE_LF_EXPECTED: 'a line does not end with CR and LF',
  HPE_INVALID_EOF_STATE: 'it is incomplete',
  HPE_CLOSED_CONNECTION: 'data follows a request with Connection: close',
}

export const unknownMethod = (): AppError =>
  closing(40501, `unknown method; the service supports ${METHODS}`, { Allow: METHODS })

/** A whole request line (RFC 9112 section 3) behind other bytes. The parser knows no method of more than 32 characters. */
const LINE = /[\w!#$%&'*+.^`|~-]{1,32} [!-~]+ HTTP\/1\.[01]$/

/**
 * Whether the line in which the parser has stopped because of a method is a whole request line. One that arrives in
 * parts counts as bytes that are no HTTP.
 */
function hasRequestLine({ rawPacket, bytesParsed = 0 }: ParserError): boolean {
  const packet = rawPacket?.toString('latin1', Math.max(0, bytesParsed - 32), bytesParsed + 10_000) ?? ''
  const stop = Math.min(bytesParsed, 32)
  const end = packet.indexOf('\r\n', stop)
  const begin = packet.slice(0, Math.max(0, end)).search(LINE)
  return begin !== -1 && begin <= stop
}

/** The refusal of bytes that begin no TLS handshake. */
export const clearText = (): AppError =>
  closing(40004, 'the request is not encrypted, but this port speaks HTTPS; use an address with https://')

/** The `Origin` of the request in a packet that the parser could not read. */
export const originIn = ({ rawPacket }: ParserError): string | undefined =>
  /\r\nOrigin:[ \t]*([!-~]+)[ \t]*\r\n/i.exec(rawPacket?.toString('latin1') ?? '')?.[1]

/**
 * Ends a connection of which the service parses no more, with a refusal if one is given. It reads on for LINGER
 * milliseconds: a close with unread bytes resets the connection, and the client may lose the answer. Without the time
 * limit, a client could keep the connection open forever.
 *
 * @param headers those that every answer has, names and values in turn
 */
export function endRefused(socket: Socket, refusal?: AppError, headers: readonly string[] = []): void {
  socket.resume()
  setTimeout(() => socket.destroy(), LINGER).unref()
  socket.end(refusal === undefined ? '' : textOf(refusal, headers))
}

function textOf(refusal: AppError, headers: readonly string[]): string {
  const { status, number, message } = refusal
  const body = errorJson(number, message)
  const own = {
    ...refusalHeaders(refusal),
    'Content-Type': 'application/json',
    'Cache-Control': 'no-store',
    'Content-Length': Buffer.byteLength(body),
    Date: new Date().toUTCString(),
    Connection: 'close',
  }
  const fields = [...Object.entries(own).flat(), ...headers].map((text, i) => `${text}${i % 2 === 0 ? ': ' : '\r\n'}`)
  return `HTTP/1.1 ${status} ${http.STATUS_CODES[status] ?? 'Error'}\r\n${fields.join('')}\r\n${body}`
}
