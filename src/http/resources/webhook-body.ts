import { CHANGE_TYPES, type ChangeType } from '../../domain/changes.ts'
import { isTag, MAX_TAG } from '../../domain/plant.ts'
import { MAX_CONCURRENCY, WEBHOOK_BODIES, type WebhookRequest } from '../../domain/webhook.ts'
import { integerIn, nameIn, readSmallBody } from '../request/exchange.ts'
import type { OperationBodies } from '../request/operations.generated.ts'

const MEMBERS = [
  'url',
  'types',
  'tags',
  'description',
  'body',
  'concurrency',
] as const satisfies readonly (keyof OperationBodies['createWebhook'])[]
const PATCH_MEMBERS = [...MEMBERS, 'state'] as const satisfies readonly (keyof OperationBodies['updateWebhook'])[]

const MAX_URL = 2048
const MAX_TAGS = 100

/** The members of a webhook that a request gives. */
export type WebhookPatch = Partial<WebhookRequest> & { readonly state?: 'active' | 'paused' }

/** Says why the operator does not allow a URL. */
type FaultOfUrl = (url: URL) => string | undefined

/** Reads the body of createWebhook. @throws AppError as readSmallBody does */
export const parseWebhook = (body: Buffer, faultOf: FaultOfUrl): WebhookRequest =>
  readSmallBody(body, MEMBERS, (members, faults) => {
    if (members.url === undefined) faults.push('url is required')
    const patch = patchIn(members, faults, faultOf)
    return { url: '', types: [], tags: [], description: undefined, body: 'event', concurrency: 8, ...patch }
  })

/**
 * Reads the body of updateWebhook. Null removes the description, the only member that a webhook may lack.
 *
 * @throws AppError as readSmallBody does
 */
export const parseWebhookPatch = (body: Buffer, faultOf: FaultOfUrl): WebhookPatch =>
  readSmallBody(body, PATCH_MEMBERS, ({ state: wanted, ...members }, faults) => {
    const state = oneOf(['active', 'paused'], 'state', wanted, faults)
    const removed = members.description === null ? { description: undefined } : {}
    const patch = { ...patchIn({ ...members, ...removed }, faults, faultOf), ...removed }
    return state === undefined ? patch : { ...patch, state }
  })

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
  const readers: { readonly [Member in keyof WebhookRequest]: (value: unknown) => WebhookRequest[Member] | undefined } =
    {
      url: (value) => urlIn(value, faults, faultOf),
      types: (value) => typesIn(value, faults),
      tags: (value) => tagsIn(value, faults),
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

function oneOf<T extends string>(values: readonly T[], name: string, value: unknown, faults: string[]): T | undefined {
  const found = values.find((each) => each === value)
  if (value !== undefined && found === undefined) faults.push(`${name} must be one of ${values.join(', ')}`)
  return found
}
