import type { IncomingMessage } from 'node:http'
import type { AppError } from '../../domain/errors.ts'
import { closing } from '../refusal.ts'

/** Returns the fault of a head that Node's parser lets pass (RFC 9112 sections 2.3, 3.2 and 6.1). */
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
  if (transfer !== undefined && httpVersion === '1.0') return refusal('HTTP/1.0 has no Transfer-Encoding')
  if (transfer !== undefined && transfer.toLowerCase() !== 'chunked') {
    return refusal('the only supported transfer coding is chunked')
  }
  return undefined
}

/**
 * Returns the fault of a head on a port for this machine alone. A page that a browser of this machine shows can lead any
 * name of its own to this port (DNS rebinding), but no address, and not localhost.
 */
export const faultOfLocalHead = ({ headers: { host = '' } }: IncomingMessage): AppError | undefined =>
  LOCAL.test(host)
    ? undefined
    : refusal('the Host header of this port is localhost or an address; behind a proxy, let the proxy set it')

const LOCAL = /^(?:(?:[^:]*\.)?localhost|[\d.]*|\[.*\])(?::\d*)?$/i

/** An optional host (a name, an IPv4 address, or an IPv6 address in brackets) and port (RFC 3986 section 3.2.2). */
const HOST = /^(?:\[[\da-f:.]+\]|(?:[\w\-.~!$&'()*+,;=]|%[\da-f]{2})*)(?::\d*)?$/i

/** Closes the connection, because client and service may disagree about where such a request ends. */
const refusal = (message: string): AppError => closing(40004, message)
