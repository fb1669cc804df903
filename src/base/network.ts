import { BlockList, isIP, isIPv4, isIPv6 } from 'node:net'

export interface Network {
  readonly address: string
  readonly prefix: number
}

/**
 * Reads networks such as `10.0.0.0/8, 127.0.0.1, fd00::/8`. An address without prefix is a network of one address.
 *
 * @throws Error that names the first text that is no network
 */
export function readNetworks(text: string): readonly Network[] {
  return text.split(',').map((part) => networkIn(part.trim()))
}

function networkIn(text: string): Network {
  const [, address = '', length] = /^([^/]*)(?:\/(\d{1,3}))?$/.exec(text) ?? []
  const bits = { 0: 0, 4: 32, 6: 128 }[isIP(address)] ?? 0
  const prefix = length === undefined ? bits : Number(length)
  if (bits === 0 || prefix > bits || address.includes('%')) {
    throw new Error(`"${text}" is not an address like 10.0.0.7 or a network like 10.0.0.0/8`)
  }
  if (prefix === 0) throw new Error(`"${text}" covers every address; name only the proxies`)
  return { address, prefix }
}

/** Whether a name or an address to listen on is one of the machine alone. */
export const isLoopback = (host: string): boolean => /^(?:127\.|::1$|localhost$)/.test(host)

/** The list whose `check` tells whether an address is in one of the networks. */
export function blockListOf(networks: readonly Network[]): BlockList {
  const list = new BlockList()
  for (const { address, prefix } of networks) list.addSubnet(address, prefix, isIPv4(address) ? 'ipv4' : 'ipv6')
  return list
}

/** An address in one spelling: an IPv4-mapped IPv6 address (`::ffff:10.0.0.7`) as its IPv4 address. */
export function plainAddress(address: string): string {
  // Most addresses are IPv4, and isIPv6 takes 0.2 µs.
  if (!address.includes(':') || !isIPv6(address)) return address
  const groups = groupsOf(address)
  const isMapped = groups.every((group, i) => (i < 5 ? group === 0 : i > 5 || group === 0xffff))
  return isMapped ? dotted(groups.slice(6)) : address
}

/** The IPv4 address in two numbers of an IPv6 address. */
export const dotted = (groups: readonly number[]): string =>
  groups.flatMap((group) => [group >> 8, group & 255]).join('.')

/**
 * The key of limits per address: an IPv4 address itself, or the /64 network of an IPv6 address, because a client
 * usually has a whole /64 (RFC 6177).
 */
export function addressGroup(address: string): string {
  const plain = plainAddress(address)
  if (!isIPv6(plain)) return plain
  const network = groupsOf(plain)
    .slice(0, 4)
    .map((group) => group.toString(16))
  return `${network.join(':')}::/64`
}

/** The eight numbers of an IPv6 address. */
export function groupsOf(address: string): number[] {
  const [text = ''] = address.split('%')
  const hexadecimal = text.replace(/(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/, (_all, a, b, c, d) =>
    [Number(a) * 256 + Number(b), Number(c) * 256 + Number(d)].map((group) => group.toString(16)).join(':'),
  )
  const [head = [], tail] = hexadecimal.split('::').map((half) => (half === '' ? [] : half.split(':')))
  const zeros = tail === undefined ? [] : new Array<string>(8 - head.length - tail.length).fill('0')
  return [...head, ...zeros, ...(tail ?? [])].map((group) => Number.parseInt(group, 16))
}

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
