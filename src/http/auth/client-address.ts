import { type BlockList, isIP, isIPv4 } from 'node:net'
import { blockListOf, type Network, plainAddress } from '../../settings/network.ts'

type Headers = Readonly<Record<string, string | readonly string[] | undefined>>

/**
 * Finds the address of a client: the other end of the connection, or, behind a trusted proxy, the address in
 * `Forwarded` (RFC 7239) or `X-Forwarded-For`. It follows the hops from the service outwards to the first one that is
 * no trusted proxy, because the client itself may have written the rest.
 */
export class ClientAddresses {
  readonly #proxies: BlockList | undefined

  /** @param proxies without one, ClientAddresses ignores the headers */
  constructor(proxies: readonly Network[]) {
    this.#proxies = proxies.length === 0 ? undefined : blockListOf(proxies)
  }

  /** @param remote the other end of the connection; undefined once that is closed */
  of(remote: string | undefined, headers: Headers): string {
    const address = plainAddress(remote ?? '')
    if (!this.isProxy(address)) return address
    const forwarded = textOf(headers['forwarded'])
    const xForwardedFor = textOf(headers['x-forwarded-for'])
    if (forwarded === undefined) return this.#outermost(address, xForwardedFor?.split(',') ?? [])
    const client = this.#outermost(address, hopsIn(forwarded))
    if (xForwardedFor === undefined) return client
    // A proxy may set one header and pass on the other as the client wrote it. Where they differ, neither is trusted.
    return this.#outermost(address, xForwardedFor.split(',')) === client ? client : address
  }

  /** Whether the address is that of a trusted proxy, which many clients share. */
  isProxy(address: string): boolean {
    const plain = plainAddress(address)
    return this.#proxies !== undefined && isIP(plain) > 0 && this.#proxies.check(plain, isIPv4(plain) ? 'ipv4' : 'ipv6')
  }

  #outermost(remote: string, hops: readonly string[]): string {
    let address = remote
    for (let i = hops.length - 1; i >= 0 && this.isProxy(address); i--) {
      const hop = addressIn(hops[i] ?? '')
      if (hop === undefined) return address
      address = hop
    }
    return address
  }
}

const textOf = (header: string | readonly string[] | undefined): string | undefined =>
  typeof header === 'string' || header === undefined ? header : header.join(',')

/** The `for` parameter of each element, in order; an empty text for an element without one. */
function hopsIn(forwarded: string): string[] {
  return elementsIn(forwarded).map((element) => {
    const [, quoted, plain] = /(?:^|;)\s*for\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^";,\s]*))\s*(?:;|$)/i.exec(element) ?? []
    return quoted?.replaceAll(/\\(.)/g, '$1') ?? plain ?? ''
  })
}

/** Splits at commas outside quotation marks. An unclosed mark makes the last element an invalid address. */
const elementsIn = (forwarded: string): string[] => forwarded.match(/(?:[^",]|"(?:[^"\\]|\\.)*"?)+/g) ?? []

/** `10.0.0.7`, `10.0.0.7:1234`, `2001:db8::7`, `[2001:db8::7]` or `[2001:db8::7]:1234`; undefined for anything else. */
function addressIn(hop: string): string | undefined {
  const [, bracketed, dotted] = /^(?:\[([^\]]+)\](?::\d+)?|([\d.]+):\d+)$/.exec(hop.trim()) ?? []
  const address = bracketed ?? dotted ?? hop.trim()
  return isIP(address) > 0 ? plainAddress(address) : undefined
}
