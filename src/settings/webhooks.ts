import { readNetworks } from '../base/network.ts'
import { kind, LONG_TIME, setting } from './setting.ts'

const WORDS = ['external', 'private', 'loopback'] as const

/** Labels of a host name (RFC 1123 section 2.1); the last one has a letter, else the name would be an address. */
const NAME = /^(?:\*\.)?(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)*[a-z0-9-]*[a-z][a-z0-9-]*$/

/** Reads a list such as `external,10.1.0.0/16,*.garden.example`. @throws Error that names the first wrong text */
export function readWebhookAllow(given: string) {
  const parts = given.split(',').map((part) => part.trim().toLowerCase())
  const rest = parts.filter((part) => !WORDS.some((word) => word === part))
  const names = rest.filter((part) => NAME.test(part))
  const networks = rest.filter((part) => !NAME.test(part))
  try {
    return {
      /** Global unicast addresses. */
      external: parts.includes('external'),
      /** Private networks: RFC 1918 and fc00::/7. */
      private: parts.includes('private'),
      loopback: parts.includes('loopback'),
      networks: networks.length === 0 ? [] : readNetworks(networks.join(',')),
      /** Host names in lower case. `*.garden.example` stands for every name below garden.example. */
      names,
    }
  } catch {
    throw new Error(
      `"${networks.join(',')}" is not among external, private, loopback, networks like 10.1.0.0/16, and host names like hooks.garden.example or *.garden.example`,
    )
  }
}

/** Where webhooks may connect. */
export type WebhookAllow = Readonly<ReturnType<typeof readWebhookAllow>>

export const WEBHOOKS = {
  webhookAllow: setting(
    kind('LIST', readWebhookAllow),
    'external',
    'where webhooks may connect, with commas between: external for public addresses, private, loopback, networks like 10.1.0.0/16, host names, and *.DOMAIN for the names below a domain; http:// needs a private or loopback address',
  ),
  /** Milliseconds without a delivery, since the first failure, after which a webhook fails. */
  webhookGiveUp: setting(
    LONG_TIME,
    '5d',
    'how long a webhook retries while nothing can be delivered; then it has failed, until a client makes it active',
  ),
}
