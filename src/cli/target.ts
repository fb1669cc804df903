import type { Config, StoreAddress } from '../config.ts'
import { OperatorError } from '../operator-error.ts'
import { ServiceClient } from './service-client.ts'

export interface TargetFlags {
  readonly url?: string
  readonly store?: string
}

/** Where the plants of a command are: behind a running service, or in a store that the command opens itself. */
export type Target =
  | { readonly kind: 'service'; readonly service: ServiceClient }
  | { readonly kind: 'store'; readonly address: StoreAddress }

/** @throws OperatorError (exit code 2) when the flags can't be followed */
export function targetOf({ url, store }: TargetFlags, config: Config): Target {
  if (url === undefined) return { kind: 'store', address: config.store }
  if (store !== undefined) throw wrong('--url and --store: give only one of them')
  const address = serviceAddress(url)
  if (config.token === undefined) throw wrong('--url: set PLANTSTORE_TOKEN to an access token of the service')
  return { kind: 'service', service: new ServiceClient(address, config.token) }
}

function serviceAddress(text: string): URL {
  const url = URL.parse(text)
  const isAddress = url !== null && /^https?:$/.test(url.protocol) && url.search === '' && url.hash === ''
  if (!isAddress) throw wrong(`--url: "${text}" is not an address like http://127.0.0.1:8080`)
  if (url.username !== '' || url.password !== '') throw wrong('--url: must not hold a user name or password')
  return url
}

const wrong = (message: string): OperatorError => new OperatorError(message, { exitCode: 2 })
