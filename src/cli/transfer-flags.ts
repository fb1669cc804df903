import { OperatorError } from '../base/operator-error.ts'
import { FORMATS, type Format, formatOf } from '../import/format.ts'
import type { Config, StoreAddress } from '../settings/config.ts'
import { ServiceClient } from './service-client.ts'

export interface KindFlags {
  readonly format?: Format
  readonly gzip?: true
}

export interface FileKind {
  readonly format: Format
  readonly gzip: boolean
}

/**
 * Returns the format of a file, and whether it is compressed, by the flags or else by the name.
 *
 * @param file a path, or `-` for standard input or output
 * @throws OperatorError (exit code 2) when neither tells the format
 */
export function fileKind(file: string, flags: KindFlags): FileKind {
  const format = flags.format ?? formatOf(file)
  if (format !== undefined) return { format, gzip: flags.gzip ?? file.toLowerCase().endsWith('.gz') }
  const reason =
    file === '-'
      ? '- has no file name to derive the format from'
      : `${file}: its name does not end like plants.csv or plants.ndjson`
  const cures = FORMATS.map((known) => `--format ${known}`)
  throw new OperatorError(`${reason}; add ${cures.join(' or ')}`, { exitCode: 2 })
}

export interface TargetFlags {
  readonly url?: string
  readonly store?: string
  readonly auditLog?: string
}

/** The target of a command: a running service, or a store that the command opens itself. */
export type Target =
  | { readonly kind: 'service'; readonly service: ServiceClient }
  | { readonly kind: 'store'; readonly address: StoreAddress }

/** @throws OperatorError (exit code 2) when the flags contradict each other, or the address or the token is missing */
export function targetOf({ url, store }: TargetFlags, config: Config): Target {
  if (url === undefined) return { kind: 'store', address: config.store }
  if (store !== undefined) throw usageError('--url and --store: give only one of them')
  const address = serviceAddress(url)
  if (config.token === undefined) throw usageError('--url: set PLANTSTORE_TOKEN to an access token of the service')
  return { kind: 'service', service: new ServiceClient(address, config.token) }
}

function serviceAddress(text: string): URL {
  const url = URL.parse(text)
  const isAddress = url !== null && /^https?:$/.test(url.protocol) && url.search === '' && url.hash === ''
  if (!isAddress) throw usageError(`--url: "${text}" is not an address like http://127.0.0.1:8080`)
  if (url.username !== '' || url.password !== '') throw usageError('--url: must not hold a user name or password')
  return url
}

const usageError = (message: string): OperatorError => new OperatorError(message, { exitCode: 2 })
