import { type BlockList, isIP, isIPv4, isIPv6 } from 'node:net'
import { blockListOf, dotted, groupsOf, readNetworks } from '../base/network.ts'
import type { WebhookAllow } from '../settings/webhooks.ts'

/** IPv4 addresses that no packet of the public Internet goes to (RFC 6890 and the IANA registry of special addresses). */
const SPECIAL_IPV4 = readNetworks(
  '0.0.0.0/8,10.0.0.0/8,100.64.0.0/10,127.0.0.0/8,169.254.0.0/16,172.16.0.0/12,192.0.0.0/24,192.0.2.0/24,' +
    '192.88.99.0/24,192.168.0.0/16,198.18.0.0/15,198.51.100.0/24,203.0.113.0/24,224.0.0.0/4,240.0.0.0/4',
)
/** The same within 2000::/3, which holds all global unicast addresses of IPv6. */
const SPECIAL_IPV6 = readNetworks('2001::/23,2001:db8::/32,2002::/16,3fff::/20')
const PRIVATE = readNetworks('10.0.0.0/8,172.16.0.0/12,192.168.0.0/16,fc00::/7')
const LOOPBACK = readNetworks('127.0.0.0/8,::1')

/** A name may have thousands, and each look-up checks all. */
const MAX_ADDRESSES = 64

/** Decides where webhooks may connect. */
export class AddressPolicy {
  readonly #allow: WebhookAllow
  readonly #networks: BlockList
  readonly #special = blockListOf([...SPECIAL_IPV4, ...SPECIAL_IPV6])
  readonly #global = blockListOf(readNetworks('2000::/3'))
  readonly #private = blockListOf(PRIVATE)
  readonly #loopback = blockListOf(LOOPBACK)

  constructor(allow: WebhookAllow) {
    this.#allow = allow
    this.#networks = blockListOf(allow.networks)
  }

  /**
   * Returns why a webhook may not go to a URL, as the rest of a sentence that begins with "the URL", without an address
   * that its name led to; undefined where it may.
   *
   * @param addresses all that the host has; undefined: they have to be looked up first
   */
  faultOf(url: URL, addresses = knownAddresses(url)): string | undefined {
    const { protocol, username, password } = url
    if (protocol !== 'https:' && protocol !== 'http:') return 'must begin with https://'
    if (username !== '' || password !== '') return 'must have no user name or password'
    const isPlain = protocol === 'http:'
    if (addresses === undefined) return isPlain && !this.#mayBePlain ? PLAIN : undefined
    if (addresses.length > MAX_ADDRESSES) return `leads to more than ${MAX_ADDRESSES} addresses`
    const isNamed = this.#allowsName(hostOf(url))
    for (const address of addresses) {
      const inner = unwrapped(address)
      if (inner === undefined || !this.#allows(inner, isNamed)) return EXCLUDED
      if (isPlain && !contains(this.#private, inner) && !contains(this.#loopback, inner)) return PLAIN
    }
    return undefined
  }

  /** An operator who names a host trusts its name server with public and private addresses, but with no others. */
  #allows(address: string, isNamed: boolean): boolean {
    const { external, private: isPrivate, loopback } = this.#allow
    if (contains(this.#networks, address)) return true
    if (contains(this.#loopback, address)) return loopback
    if (contains(this.#private, address)) return isPrivate || isNamed
    return (external || isNamed) && this.#isExternal(address)
  }

  #isExternal(address: string): boolean {
    return !contains(this.#special, address) && (isIPv4(address) || contains(this.#global, address))
  }

  #allowsName(host: string): boolean {
    return this.#allow.names.some((name) => (name.startsWith('*.') ? host.endsWith(name.slice(1)) : host === name))
  }

  get #mayBePlain(): boolean {
    const { private: isPrivate, loopback, networks, names } = this.#allow
    return isPrivate || loopback || networks.length > 0 || names.length > 0
  }
}

const EXCLUDED = 'leads to an address that --webhook-allow does not allow'
const PLAIN =
  'must begin with https://; http:// is only for addresses that --webhook-allow allows as private or loopback'

const contains = (list: BlockList, address: string): boolean => list.check(address, isIPv4(address) ? 'ipv4' : 'ipv6')

/** The host of a URL, without the brackets of an IPv6 address and without the dot of the root. */
export const hostOf = ({ hostname }: URL): string => hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '')

/** The addresses of a URL that needs no look-up: a literal one, or those of this machine (RFC 6761 section 6.3). */
export function knownAddresses(url: URL): readonly string[] | undefined {
  const host = hostOf(url)
  if (isIP(host) > 0) return [host]
  return host === 'localhost' || host.endsWith('.localhost') ? ['127.0.0.1', '::1'] : undefined
}

/**
 * The address that packets really go to: the IPv4 address within an IPv6 address that carries one, else the address
 * itself. Undefined for what is no address, and for a zone, which only link-local addresses have.
 */
export function unwrapped(address: string): string | undefined {
  if (isIPv4(address)) return address
  if (!isIPv6(address) || address.includes('%')) return undefined
  const groups = groupsOf(address)
  const [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0] = groups
  const start = [a, b, c, d, e, f].join()
  // 6to4 (RFC 3056): 2002: and the IPv4 address.
  if (a === 0x2002) return dotted(groups.slice(1, 3))
  // NAT64 with a local prefix (RFC 8215). Where its length is not 96, the address lies elsewhere: no such address is
  // allowed, because its IPv4 address is unknown.
  if (a === 0x64 && b === 0xff9b && c === 1) {
    return (d | e | f) === 0 ? dotted(groups.slice(6)) : '0.0.0.0'
  }
  // IPv4-mapped (RFC 4291 section 2.5.5.2), NAT64 (RFC 6052), and IPv4-compatible (RFC 4291 section 2.5.5.1).
  if (start === '0,0,0,0,0,65535' || start === '100,65435,0,0,0,0') return dotted(groups.slice(6))
  if (start !== '0,0,0,0,0,0') return address
  return groups[6] === 0 && (groups[7] ?? 0) < 2 ? address : dotted(groups.slice(6))
}
