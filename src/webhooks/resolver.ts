import { lookup, Resolver } from 'node:dns/promises'

/** Milliseconds, for each of two tries. */
const TIMEOUT = 2000

/** Returns all addresses of a name. Rejects when there are none. */
export type Resolve = (host: string) => Promise<readonly string[]>

/**
 * Asks the name servers by c-ares, and the operating system only for a name that they do not know, such as one of
 * /etc/hosts: getaddrinfo has two threads in the process, so two names whose servers hang would delay all others.
 */
export function resolverOf(resolver = new Resolver({ timeout: TIMEOUT, tries: 2 })): Resolve {
  return async (host) => {
    const found = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)])
    const addresses = found.flatMap((each) => (each.status === 'fulfilled' ? each.value : []))
    if (addresses.length > 0) return addresses
    const fault = found.find((each) => each.status === 'rejected' && !QUICK.includes(codeOf(each.reason)))
    if (fault?.status === 'rejected') throw fault.reason
    return (await lookup(host, { all: true })).map(({ address }) => address)
  }
}

/** The name servers know no such name, or there are none. */
const QUICK: readonly string[] = ['ENOTFOUND', 'ENODATA', 'ECONNREFUSED']
const codeOf = (error: unknown): string => (error instanceof Error && 'code' in error ? String(error.code) : '')
