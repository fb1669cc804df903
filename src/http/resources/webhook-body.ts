import { CHANGE_TYPES, type ChangeType } from '../../domain/changes.ts'
import { AppError } from '../../domain/errors.ts'
import { isTag, MAX_TAG } from '../../domain/plant.ts'
import { hasSeveralTaggings, type TagFilter } from '../../domain/plant-query.ts'
import {
  MAX_CONCURRENCY,
  WEBHOOK_BODIES,
  type WebhookHeader,
  type WebhookKeys,
  type WebhookRequest,
} from '../../domain/webhook.ts'
import { integerFrom, type Readers, readName, readSmallBody, wrong } from '../request/exchange.ts'
import type { OperationBodies } from '../request/operations.generated.ts'

const MAX_URL = 2048
const MAX_TAGS = 100
const MAX_HEADERS = 10
/** Ten of them fit into the 16 KiB of headers that most servers read, unless all are so long. */
const MAX_HEADER_VALUE = 2048
const MAX_HEADER_NAME = 100
/** A token of RFC 9110 section 5.6.2. */
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
/** Visible ASCII with blanks inside: no control character, so that no value adds a header or ends the head. */
const HEADER_VALUE = /^[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?$/
/** Headers that the service sets, and those of the connection and of the framing of a request. */
const OWN_HEADER =
  /^(?:(?:content|webhook|plantstore|proxy)-.*|connection|expect|host|keep-alive|te|trailer|transfer-encoding|upgrade|user-agent)$/

/** A header to set, or with null to remove. */
type HeaderChange = readonly [name: string, value: string | null]
/** Null: removes all. */
type HeaderPatch = readonly HeaderChange[] | null

/** Says why the operator does not allow a URL. */
type FaultOfUrl = (url: URL) => string | undefined

const readersOf = (faultOf: FaultOfUrl) =>
  ({
    url: (value: unknown) => readUrl(value, faultOf),
    types: readTypes,
    tags: readTags,
    tagPrefix: readPrefix,
    untagged: readFlag,
    description: readName,
    body: oneOf(WEBHOOK_BODIES),
    concurrency: integerFrom(1, MAX_CONCURRENCY),
    headers: (value: unknown): HeaderPatch => readHeaders(value, false),
  }) satisfies Readers<OperationBodies['createWebhook']>

/** Null removes what a webhook may lack: the description, the tagPrefix, a header or all headers. */
const patchReadersOf = (faultOf: FaultOfUrl) =>
  ({
    ...readersOf(faultOf),
    tagPrefix: (value: unknown) => (value === null ? undefined : readPrefix(value)),
    description: (value: unknown) => (value === null ? undefined : readName(value)),
    headers: (value: unknown): HeaderPatch => (value === null ? null : readHeaders(value, true)),
    state: oneOf(['active', 'paused'] as const),
  }) satisfies Readers<OperationBodies['updateWebhook']>

/** Reads the body of createWebhook. @throws AppError as readSmallBody does */
export function parseWebhook(body: Buffer, faultOf: FaultOfUrl): WebhookRequest & { readonly headers: HeaderPatch } {
  const given = readSmallBody(body, readersOf(faultOf), ['url'], faultOfTaggings)
  return { types: [], tags: [], description: undefined, body: 'event', concurrency: 8, headers: [], ...given }
}

/** Reads the body of updateWebhook. @throws AppError as readSmallBody does */
export const parseWebhookPatch = (body: Buffer, faultOf: FaultOfUrl) => readSmallBody(body, patchReadersOf(faultOf))

/** The members of a webhook that a request gives. */
export type WebhookPatch = ReturnType<typeof parseWebhookPatch>

/** Reads the body of redeliverWebhook. @throws AppError as readSmallBody does */
export const parseRange = (body: Buffer) => readSmallBody(body, RANGE, ['after'])

/** The fault of several filters on tags. */
export const faultOfTaggings = (filter: Partial<TagFilter>): string | undefined =>
  hasSeveralTaggings(filter) ? 'tags, tagPrefix and untagged exclude each other; give only one of them' : undefined

/** Returns the URL in the spelling of the URL standard, which a browser would use. */
function readUrl(value: unknown, faultOf: FaultOfUrl): string {
  const url = typeof value === 'string' && value.length <= MAX_URL ? URL.parse(value) : null
  if (url === null) {
    throw wrong(`must be a URL of at most ${MAX_URL} characters, such as https://hooks.garden.example/plants`)
  }
  url.hash = ''
  const fault = faultOf(url)
  if (fault !== undefined) throw wrong(fault)
  return url.href
}

function readTypes(value: unknown): readonly ChangeType[] {
  const given = new Set(Array.isArray(value) ? value : [undefined])
  if (!given.isSubsetOf(new Set(CHANGE_TYPES))) throw wrong(`must be an array with some of ${CHANGE_TYPES.join(', ')}`)
  return CHANGE_TYPES.filter((type) => given.has(type))
}

const TAG_RULE = 'without U+0000 or a lone surrogate'

function readTags(value: unknown): readonly string[] {
  if (Array.isArray(value) && value.length <= MAX_TAGS && value.every(isTag)) return [...new Set<string>(value)]
  throw wrong(`must be an array of at most ${MAX_TAGS} strings of at most ${MAX_TAG} characters ${TAG_RULE}`)
}

function readPrefix(value: unknown): string {
  if (isTag(value) && value !== '') return value
  throw wrong(`must be a string of 1 to ${MAX_TAG} characters ${TAG_RULE}`)
}

function readFlag(value: unknown): boolean {
  if (typeof value === 'boolean') return value
  throw wrong('must be true or false')
}

const oneOf =
  <Value extends string>(values: readonly Value[]) =>
  (value: unknown): Value => {
    const found = values.find((each) => each === value)
    if (found === undefined) throw wrong(`must be one of ${values.join(', ')}`)
    return found
  }

const textOr =
  (fault: string) =>
  (value: unknown): string => {
    if (typeof value === 'string') return value
    throw wrong(fault)
  }

const RANGE = {
  after: textOr('must be a position, or now'),
  until: textOr('must be a position'),
} satisfies Readers<OperationBodies['redeliverWebhook']>

/**
 * Reads the member `headers` of a webhook. No message names a value: it is a secret.
 *
 * @param takesNull whether null removes a header
 */
function readHeaders(value: unknown, takesNull: boolean): readonly HeaderChange[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw wrong('must be an object of names and values')
  }
  const entries: [string, unknown][] = Object.entries(value)
  const names = new Set(entries.map(([name]) => name.toLowerCase()))
  const isName = (name: string) => name.length <= MAX_HEADER_NAME && HEADER_NAME.test(name) && !OWN_HEADER.test(name)
  const isText = (each: unknown) =>
    typeof each === 'string' && each.length <= MAX_HEADER_VALUE && HEADER_VALUE.test(each)
  const isValue = (entry: [string, unknown]): entry is [string, string | null] =>
    isText(entry[1]) || (entry[1] === null && takesNull)
  const own = 'those of the connection or that the service sets, such as Host, Content-Type and webhook-id'
  const read = entries.filter(isValue)
  const faults = [
    entries.length > MAX_HEADERS ? `must be at most ${MAX_HEADERS}` : [],
    names.size < entries.length ? 'must not have a name twice; case does not count' : [],
    [...names].every(isName)
      ? []
      : `must have names that are tokens of at most ${MAX_HEADER_NAME} characters (RFC 9110), and not ${own}`,
    read.length === entries.length
      ? []
      : `must have values of 1 to ${MAX_HEADER_VALUE} visible ASCII characters, with blanks only between them`,
  ].flat()
  if (faults.length > 0) throw wrong(faults.join('; headers '))
  return read
}

/**
 * The keys after a change of headers. At another origin or path the webhook has only the headers of the change: whoever
 * may change its URL must not get the secrets of the receiver before.
 *
 * @throws AppError 40002 for too many headers
 */
export function withHeaders(keys: WebhookKeys, patch: HeaderPatch = [], isOtherPlace = false): WebhookKeys {
  const changed = new Set(patch?.map(([name]) => name.toLowerCase()))
  const isKept = ([name]: WebhookHeader) => !isOtherPlace && patch !== null && !changed.has(name.toLowerCase())
  const given = (patch ?? []).flatMap(([name, value]): WebhookHeader[] => (value === null ? [] : [[name, value]]))
  const headers = [...(keys.headers ?? []).filter(isKept), ...given]
  if (headers.length > MAX_HEADERS) throw new AppError(40002, `a webhook has at most ${MAX_HEADERS} headers`)
  return { ...keys, headers }
}
