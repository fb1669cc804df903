import { BlockList, isIP, isIPv4, isIPv6 } from 'node:net'

/** A range of addresses in CIDR notation. */
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
  return isMapped
    ? groups
        .slice(6)
        .flatMap((group) => [group >> 8, group & 255])
        .join('.')
    : address
}

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
function groupsOf(address: string): number[] {
  const [text = ''] = address.split('%')
  const hexadecimal = text.replace(/(\d+)\.(\d+)\.(\d+)\.(\d+)$/, (_all, a, b, c, d) =>
    [Number(a) * 256 + Number(b), Number(c) * 256 + Number(d)].map((group) => group.toString(16)).join(':'),
  )
  const [head = [], tail] = hexadecimal.split('::').map((half) => (half === '' ? [] : half.split(':')))
  const zeros = tail === undefined ? [] : new Array<string>(8 - head.length - tail.length).fill('0')
  return [...head, ...zeros, ...(tail ?? [])].map((group) => Number.parseInt(group, 16))
}
