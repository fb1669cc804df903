import type { IncomingMessage } from 'node:http'
import type { AppError } from '../../errors.ts'
import { HttpError } from '../response/http-error.ts'

/** Returns the fault of a head that Node's parser accepts (RFC 9112 sections 2.3, 3.2 and 6.1). */
export function faultOfHead({ headers, httpVersion }: IncomingMessage): AppError | undefined {
  const { host } = headers
  const transfer = headers['transfer-encoding']
  if (host === undefined) {
    if (httpVersion !== '1.0') return refusal('the Host header is missing')
  } else if (!HOST.test(host)) {
    // Node joins the values of a repeated header by a comma and a blank.
    const isTwice = host.includes(', ')
    return refusal(
      isTwice ? 'the Host header is given more than once' : 'the Host header is not a host name with an optional port',
    )
  }
  if (httpVersion !== '1.1' && httpVersion !== '1.0') return refusal('the version of HTTP is not 1.0 or 1.1')
  if (transfer !== undefined && transfer.toLowerCase() !== 'chunked') {
    return refusal('the only supported transfer coding is chunked')
  }
  return undefined
}

/** Nothing, or a name, an IPv4 address or an IPv6 address in brackets, and perhaps a port (RFC 3986 section 3.2.2). */
const HOST = /^(?:\[[\da-f:.]+\]|(?:[\w\-.~!$&'()*+,;=]|%[\da-f]{2})*)(?::\d*)?$/i

/**
 * The bytes after such a head may be framed in another way than the service reads them, so it closes the connection.
 */
const refusal = (message: string): AppError => new HttpError(40004, message, { headers: { Connection: 'close' } })

/** Bytes that Node keeps for a request and its response, beside the text of the head (measured: 1,550 to 1,850). */
const REQUEST_SIZE = 2048

/** Whether a request has a body of 100,000 bytes or more, or of unknown length. */
export function hasLargeBody({ headers }: IncomingMessage): boolean {
  const length = headers['content-length']
  return length === undefined ? headers['transfer-encoding'] !== undefined : length.length > 5
}

/** Bytes of memory that a waiting request takes. */
export const sizeOf = ({ url = '', rawHeaders }: IncomingMessage): number =>
  rawHeaders.reduce((sum, { length }) => sum + length, REQUEST_SIZE + url.length)
