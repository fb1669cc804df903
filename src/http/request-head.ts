import type { IncomingMessage } from 'node:http'

/** What is wrong with the head of a request that Node's parser lets pass (RFC 9112 sections 2.3 and 3.2). */
export function faultOfHead({ headers, httpVersion }: IncomingMessage): string | undefined {
  const { host } = headers
  if (host === undefined) return httpVersion === '1.0' ? undefined : 'the Host header is missing'
  // A header that stands twice is joined by a comma, which no host has.
  if (host.includes(',')) return 'the Host header is there more than once'
  if (httpVersion !== '1.1' && httpVersion !== '1.0') return 'the version of HTTP is not 1.0 or 1.1'
  return undefined
}
