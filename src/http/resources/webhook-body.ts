import { CHANGE_TYPES, type ChangeType } from '../../domain/changes.ts'
import { isTag, MAX_TAG } from '../../domain/plant.ts'
import { MAX_CONCURRENCY, WEBHOOK_BODIES, type WebhookRequest } from '../../domain/webhook.ts'
import { integerIn, nameIn, readSmallBody } from '../request/exchange.ts'
import type { OperationBodies } from '../request/operations.generated.ts'
import { type HeaderPatch, headersIn } from './webhook-headers.ts'

const MEMBERS = [
  'url',
  'types',
  'tags',
  'tagPrefix',
  'untagged',
  'description',
  'body',
  'concurrency',
] as const satisfies readonly (keyof OperationBodies['createWebhook'])[]
const PATCH_MEMBERS = [
  ...MEMBERS,
  'headers',
  'state',
] as const satisfies readonly (keyof OperationBodies['updateWebhook'])[]

const MAX_URL = 2048
const MAX_TAGS = 100

/** The members of a webhook that a request gives. */
export type WebhookPatch = Partial<WebhookRequest> & {
  readonly state?: 'active' | 'paused'
  readonly headers?: HeaderPatch
}

/** Says why the operator does not allow a URL. */
type FaultOfUrl = (url: URL) => string | undefined

/** Reads the body of createWebhook. @throws AppError as readSmallBody does */
export const parseWebhook = (body: Buffer, faultOf: FaultOfUrl): WebhookRequest & { readonly headers: HeaderPatch } =>
  readSmallBody(body, [...MEMBERS, 'headers'] as const, ({ headers, ...members }, faults) => {
    if (members.url === undefined) faults.push('url is required')
    const patch = patchIn(members, faults, faultOf)
    if (isTaggedTwice(patch)) faults.push(TAGGED_TWICE)
    const read = headersIn(headers, faults, false)
    return {
      url: '',
      types: [],
      tags: [],
      description: undefined,
      body: 'event',
      concurrency: 8,
      ...patch,
      headers: read,
    }
  })

/**
 * Reads the body of updateWebhook. Null removes the description, the tagPrefix, a header or all headers,
 * which a webhook may lack.
 *
 * @throws AppError as readSmallBody does
 */
export const parseWebhookPatch = (body: Buffer, faultOf: FaultOfUrl): WebhookPatch =>
  readSmallBody(body, PATCH_MEMBERS, ({ state: wanted, headers, ...members }, faults) => {
    const state = oneOf(['active', 'paused'], 'state', wanted, faults)
    const removable = ['description', 'tagPrefix'] as const
    const nulls = removable.filter((member) => members[member] === null)
    const removed = Object.fromEntries(nulls.map((member) => [member, undefined]))
    const given = headers === undefined ? {} : { headers: headersIn(headers, faults, true) }
    const patch = { ...patchIn({ ...members, ...removed }, faults, faultOf), ...removed, ...given }
    return state === undefined ? patch : { ...patch, state }
  })

export const TAGGED_TWICE = 'tags, tagPrefix and untagged exclude each other; give only one of them'
/** Whether a webhook has several filters on tags, which no plant would pass together. */
export const isTaggedTwice = ({ tags = [], tagPrefix, untagged = false }: Partial<WebhookRequest>): boolean =>
  Number(tags.length > 0) + Number(tagPrefix !== undefined) + Number(untagged) > 1

/** Reads the body of redeliverWebhook. @throws AppError as readSmallBody does */
export const parseRange = (body: Buffer): { after: string; until: string | undefined } =>
  readSmallBody(body, ['after', 'until'], ({ after, until }, faults) => {
    if (after === undefined) faults.push('after is required')
    else if (typeof after !== 'string') faults.push('after must be a position, or now')
    if (until !== undefined && typeof until !== 'string') faults.push('until must be a position')
    return { after: String(after), until: until === undefined ? undefined : String(until) }
  })

type Members = Readonly<Partial<Record<(typeof MEMBERS)[number], unknown>>>

function patchIn(members: Members, faults: string[], faultOf: FaultOfUrl): Partial<WebhookRequest> {
  const readers: {
    readonly [Member in (typeof MEMBERS)[number]]: (value: unknown) => WebhookRequest[Member] | undefined
  } = {
    url: (value) => urlIn(value, faults, faultOf),
    types: (value) => typesIn(value, faults),
    tags: (value) => tagsIn(value, faults),
    tagPrefix: (value) => prefixIn(value, faults),
    untagged: (value) => flagIn('untagged', value, faults),
    description: (value) => nameIn('description', value, faults),
    body: (value) => oneOf(WEBHOOK_BODIES, 'body', value, faults),
    concurrency: (value) => integerIn('concurrency', value, 1, MAX_CONCURRENCY, faults),
  }
  const given = MEMBERS.filter((member) => members[member] !== undefined)
  return Object.fromEntries(given.map((member) => [member, readers[member](members[member])]))
}

/** Returns the URL in the spelling of the URL standard, which a browser would use. */
function urlIn(value: unknown, faults: string[], faultOf: FaultOfUrl): string {
  if (typeof value !== 'string' || value.length > MAX_URL || !URL.canParse(value)) {
    faults.push(`url must be a URL of at most ${MAX_URL} characters, such as https://hooks.garden.example/plants`)
    return ''
  }
  const url = new URL(value)
  url.hash = ''
  const fault = faultOf(url)
  if (fault !== undefined) faults.push(`url ${fault}`)
  return url.href
}

function typesIn(value: unknown, faults: string[]): readonly ChangeType[] {
  const types = CHANGE_TYPES.filter((type) => Array.isArray(value) && value.includes(type))
  if (!Array.isArray(value) || !value.every((each) => CHANGE_TYPES.some((type) => type === each))) {
    faults.push(`types must be an array with some of ${CHANGE_TYPES.join(', ')}`)
  }
  return types
}

function tagsIn(value: unknown, faults: string[]): readonly string[] {
  if (Array.isArray(value) && value.length <= MAX_TAGS && value.every(isTag)) return [...new Set<string>(value)]
  const text = `strings of at most ${MAX_TAG} characters without U+0000 or a lone surrogate`
  faults.push(`tags must be an array of at most ${MAX_TAGS} ${text}`)
  return []
}

function prefixIn(value: unknown, faults: string[]): string | undefined {
  if (isTag(value) && value !== '') return value
  faults.push(`tagPrefix must be a string of 1 to ${MAX_TAG} characters without U+0000 or a lone surrogate`)
  return undefined
}

function flagIn(name: string, value: unknown, faults: string[]): boolean {
  if (typeof value !== 'boolean') faults.push(`${name} must be true or false`)
  return value === true
}

function oneOf<T extends string>(values: readonly T[], name: string, value: unknown, faults: string[]): T | undefined {
  const found = values.find((each) => each === value)
  if (value !== undefined && found === undefined) faults.push(`${name} must be one of ${values.join(', ')}`)
  return found
}
