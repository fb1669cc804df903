import { AppError } from '../../domain/errors.ts'
import type { WebhookHeader, WebhookKeys } from '../../domain/webhook.ts'

const MAX_HEADERS = 10
/** Ten of them fit into the 16 KiB of headers that most servers read, unless all are so long. */
const MAX_VALUE = 2048
const MAX_NAME = 100
/** A token of RFC 9110 section 5.6.2. */
const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
/** Visible ASCII with blanks inside: no control character, so that no value adds a header or ends the head. */
const VALUE = /^[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?$/
/** Headers that the service sets, and those of the connection and of the framing of a request. */
const OWN =
  /^(?:(?:content|webhook|plantstore|proxy)-.*|connection|expect|host|keep-alive|te|trailer|transfer-encoding|upgrade|user-agent)$/

/** Headers to set, and with null to remove. Null for all: removes all. */
export type HeaderPatch = readonly (readonly [name: string, value: string | null])[] | null

/**
 * Reads the member `headers` of a webhook. No message names a value: it is a secret.
 *
 * @param takesNull whether null removes a header, or all
 */
export function headersIn(value: unknown, faults: string[], takesNull: boolean): HeaderPatch {
  if (value === undefined) return []
  if (value === null && takesNull) return null
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    faults.push('headers must be an object of names and values')
    return []
  }
  const entries: [string, unknown][] = Object.entries(value)
  const names = new Set(entries.map(([name]) => name.toLowerCase()))
  if (entries.length > MAX_HEADERS) faults.push(`headers must be at most ${MAX_HEADERS}`)
  if (names.size < entries.length) faults.push('headers must not have a name twice; case does not count')
  if (![...names].every((name) => name.length <= MAX_NAME && NAME.test(name) && !OWN.test(name))) {
    const own = 'those of the connection or that the service sets, such as Host, Content-Type and webhook-id'
    faults.push(`names of headers must be tokens of at most ${MAX_NAME} characters (RFC 9110), and not ${own}`)
  }
  const isValue = (each: unknown): each is string | null =>
    (typeof each === 'string' && each.length <= MAX_VALUE && VALUE.test(each)) || (each === null && takesNull)
  const read = entries.flatMap(([name, each]) => (isValue(each) ? [[name, each] as const] : []))
  if (read.length < entries.length) {
    faults.push(`values of headers must be 1 to ${MAX_VALUE} visible ASCII characters, with blanks only between them`)
  }
  return read
}

/**
 * The keys after a change of headers. At another origin the webhook has only the headers of the change: whoever may
 * change its URL must not get the secrets of the receiver before.
 *
 * @throws AppError 40002 for too many headers
 */
export function withHeaders(keys: WebhookKeys, patch: HeaderPatch = [], isOtherOrigin = false): WebhookKeys {
  const changed = new Set(patch?.map(([name]) => name.toLowerCase()))
  const isKept = ([name]: WebhookHeader) => !isOtherOrigin && patch !== null && !changed.has(name.toLowerCase())
  const given = (patch ?? []).flatMap(([name, value]): WebhookHeader[] => (value === null ? [] : [[name, value]]))
  const headers = [...(keys.headers ?? []).filter(isKept), ...given]
  if (headers.length > MAX_HEADERS) throw new AppError(40002, `a webhook has at most ${MAX_HEADERS} headers`)
  return { ...keys, headers }
}
