import { type ChangeLog, historyOf, readPosition } from '../../domain/changes.ts'
import { AppError } from '../../domain/errors.ts'
import { includes } from '../../domain/part.ts'
import { derivedBits } from '../../domain/token.ts'
import {
  MAX_WEBHOOKS,
  makeWebhookId,
  makeWebhookSecret,
  rotated,
  type Webhook,
  type WebhookDelivery,
  type WebhookProgress,
} from '../../domain/webhook.ts'
import type { StoredWebhook } from '../../domain/webhook-store.ts'
import { jsonHeaders, READ_CACHING } from '../answer/responder.ts'
import { secretOf } from '../auth/bearer.ts'
import type { Exchange } from '../request/exchange.ts'
import { keyIn } from '../request/head.ts'
import type { HandlerParts, Handlers } from '../router.ts'
import { parseOverlap } from './tokens.ts'
import {
  faultOfTaggings,
  parseRange,
  parseWebhook,
  parseWebhookPatch,
  type WebhookPatch,
  withHeaders,
} from './webhook-body.ts'

/** Changes of one webhook that may come between a look at it and the change itself. */
const MAX_TRIES = 5

type WebhookHandlers = Pick<Handlers, Extract<keyof Handlers, `${string}Webhook${string}`>>
type DeliveryHandlers = Pick<Handlers, 'testWebhook' | 'redeliverWebhook' | 'listWebhookDeliveries'>

interface Parts extends HandlerParts {
  readonly changes: ChangeLog
  readonly delivery: WebhookDelivery
}

/** The handlers of the operations on webhooks. */
export function webhookHandlers(parts: HandlerParts): WebhookHandlers {
  const { changes } = parts.store
  const { delivery } = parts
  if (changes === undefined || delivery === undefined) return WITHOUT_LOG
  const open = { ...parts, changes, delivery }
  return { ...recordHandlers(open), ...deliveryHandlers(open) }
}

function recordHandlers(parts: Parts): Omit<WebhookHandlers, keyof DeliveryHandlers> {
  const { responder, admission, delivery, changes } = parts
  const { webhooks } = parts.store
  return {
    async createWebhook(exchange, parameters, body) {
      const { headers, ...request } = parseWebhook(body, (url) => delivery.faultOf(url))
      const id = makeWebhookId(bitsOf(exchange, parameters, 'id'))
      const secret = makeWebhookSecret(bitsOf(exchange, parameters, 'secret'))
      exchange.change = { outcome: 'created', details: () => ({ webhook: id }) }
      const created = await admission.during('change', exchange, async () => {
        const now = Date.now()
        const begun = { createdAt: now, state: 'active', reason: undefined, since: now } as const
        const keys = withHeaders({ secret, previous: undefined }, headers)
        const wanted = { ...request, id, ...creatorOf(exchange), ...begun, keys }
        const made = await webhooks.create(wanted, startingAt(await changes.end()), MAX_WEBHOOKS)
        if (made === 'too many') throw new AppError(40906, `there are ${MAX_WEBHOOKS} webhooks; delete one first`)
        if (contentOf(made) !== contentOf(wanted)) {
          throw new AppError(40902, 'the Idempotency-Key belongs to a webhook with another content')
        }
        delivery.changed()
        return find(parts, exchange, id)
      })
      const head = jsonHeaders('no-store', 'Location', `/webhooks/${id}`)
      responder.reply(exchange, 201, head, JSON.stringify(shown(parts, created, secret)))
    },

    async listWebhooks(exchange) {
      const own = (await webhooks.list()).filter((stored) => isOf(exchange, stored))
      const all = own.map((stored) => shown(parts, stored))
      reply(parts, exchange, READ_CACHING, all)
    },

    async getWebhook(exchange, { id }) {
      reply(parts, exchange, READ_CACHING, shown(parts, await find(parts, exchange, id)))
    },

    async updateWebhook(exchange, { id }, body) {
      const patch = parseWebhookPatch(body, (url) => delivery.faultOf(url))
      exchange.change = { outcome: 'updated', details: () => ({ webhook: id, members: Object.keys(patch) }) }
      const creator = creatorOf(exchange)
      await answerChanged(parts, exchange, id, ({ webhook, progress }) => ({
        webhook: patched({ ...webhook, ...creator }, patch),
        progress: progressAfter(progress, patch),
      }))
    },

    async deleteWebhook(exchange, { id }) {
      exchange.change = { outcome: 'deleted', details: () => ({ webhook: id }) }
      const remove = () => find(parts, exchange, id).then(() => webhooks.delete(id))
      const isDeleted = await admission.during('change', exchange, remove)
      if (!isDeleted) throw noWebhook(id)
      delivery.changed()
      responder.reply(exchange, 204, [])
    },

    async rotateWebhookSecret(exchange, parameters, body) {
      const { id } = parameters
      const overlap = parseOverlap(body)
      const secret = makeWebhookSecret(bitsOf(exchange, parameters, `rotation ${id}`))
      exchange.change = { outcome: 'rotated', details: () => ({ webhook: id }) }
      const rotate = ({ webhook }: StoredWebhook): Changed => {
        const keys = rotated(webhook.keys, secret, overlap)
        return keys === undefined ? 'same' : { webhook: { ...webhook, keys } }
      }
      await answerChanged(parts, exchange, id, rotate, secret)
    },
  }
}

/** The handlers of the operations on what a webhook delivers. */
function deliveryHandlers(parts: Parts): DeliveryHandlers {
  const { admission, delivery, changes } = parts
  return {
    async testWebhook(exchange, { id }) {
      exchange.change = { outcome: 'tested', details: () => ({ webhook: id }) }
      const { webhook } = await find(parts, exchange, id)
      reply(parts, exchange, 'no-store', await delivery.test(webhook, exchange.signal))
    },

    async redeliverWebhook(exchange, { id }, body) {
      const { after, until } = parseRange(body)
      // The audit log names no malformed position, which may be a misplaced secret.
      for (const position of [after, until ?? after]) if (position !== 'now') readPosition(position)
      exchange.change = { outcome: 'redelivered', details: () => ({ webhook: id, after, until }) }
      await answerChanged(parts, exchange, id, async ({ webhook, progress }, signal) => {
        const from = after === 'now' ? await changes.end() : after
        // Refuses a position that is gone.
        await changes.read({ after: from, limit: 1, tags: [] }, signal)
        if (until !== undefined) await changes.read({ after: until, limit: 1, tags: [] }, signal)
        return { webhook, progress: redelivering(progress, from, until) }
      })
    },

    async listWebhookDeliveries(exchange, { id, limit }) {
      const read = () => find(parts, exchange, id).then(() => parts.store.webhooks.attempts(id, limit))
      reply(parts, exchange, READ_CACHING, await admission.during('search', exchange, read))
    },
  }
}

const refuse = (): never => {
  throw new AppError(40401, 'webhooks need the log of changes, which --changes-keep 0s switches off')
}

const WITHOUT_LOG: WebhookHandlers = {
  createWebhook: refuse,
  listWebhooks: refuse,
  getWebhook: refuse,
  updateWebhook: refuse,
  deleteWebhook: refuse,
  rotateWebhookSecret: refuse,
  testWebhook: refuse,
  redeliverWebhook: refuse,
  listWebhookDeliveries: refuse,
}

/** A token with a part has only the webhooks of this part. */
const isOf = ({ actor }: Exchange, { webhook: { creator } }: StoredWebhook): boolean =>
  includes(actor.part, creator.part)

async function find({ store }: Parts, exchange: Exchange, id: string): Promise<StoredWebhook> {
  const [found] = await store.webhooks.list(id)
  if (found === undefined || !isOf(exchange, found)) throw noWebhook(id)
  return found
}

const noWebhook = (id: string): AppError => new AppError(40402, `there is no webhook with the id ${id}`)

/** `same`: there is nothing to change. */
type Changed = 'same' | { readonly webhook: Webhook; readonly progress?: WebhookProgress | undefined }

/** Changes a webhook as it is now, and again where another change came between. Answers with the changed webhook. */
async function answerChanged(
  parts: Parts,
  exchange: Exchange,
  id: string,
  decide: (stored: StoredWebhook, signal: AbortSignal) => Changed | Promise<Changed>,
  secret?: string,
): Promise<void> {
  const changed = await parts.admission.during('change', exchange, async (signal) => {
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const stored = await find(parts, exchange, id)
      const decided = await decide(stored, signal)
      if (decided === 'same') return stored
      const { webhook, progress = stored.progress } = decided
      if (await parts.store.webhooks.change(id, stored.version, webhook, decided.progress)) {
        parts.delivery.changed()
        return { ...stored, webhook, progress }
      }
    }
    throw new AppError(50302, 'others change the webhook at the same time; nothing was done, send it again')
  })
  reply(parts, exchange, 'no-store', shown(parts, changed, secret))
}

function reply({ responder }: Parts, exchange: Exchange, caching: string, content: unknown): void {
  responder.reply(exchange, 200, jsonHeaders(caching), JSON.stringify(content))
}

/** The bits of an id or of a secret that are the same each time under the key of the client; undefined without a key. */
function bitsOf({ request }: Exchange, parameters: Parameters<typeof keyIn>[0], what: string): Buffer | undefined {
  const key = keyIn(parameters)
  return key === undefined ? undefined : derivedBits(secretOf(request), `plantstore webhook ${what}`, key)
}

/** The token of the request, on whose rights a webhook depends. The store knows when its own tokens end. */
function creatorOf({ sender }: Exchange): Pick<Webhook, 'creator' | 'creatorExpiresAt'> {
  const isOther = sender.hash === undefined && Number.isFinite(sender.expiresAt)
  return { creator: sender.actor, creatorExpiresAt: isOther ? sender.expiresAt : undefined }
}

/** The progress of a webhook that has delivered nothing after a position. */
const startingAt = (position: string): WebhookProgress => ({ position, held: [] })

const contentOf = (webhook: Webhook): string => {
  const { url, types, tags, tagPrefix, untagged = false, description, body, concurrency, keys } = webhook
  const tagging = { tags, tagPrefix, untagged }
  return JSON.stringify([url, types, tagging, description, body, concurrency, keys.secret, keys.headers])
}

function patched(webhook: Webhook, { state, headers, ...request }: WebhookPatch): Webhook {
  const isOtherPlace = request.url !== undefined && placeOf(request.url) !== placeOf(webhook.url)
  const changed = { ...webhook, ...request, keys: withHeaders(webhook.keys, headers, isOtherPlace) }
  const fault = faultOfTaggings(changed)
  if (fault !== undefined) throw new AppError(40002, fault)
  if (state === undefined || state === webhook.state) return changed
  return { ...changed, state, reason: state === 'paused' ? 'person' : undefined, since: Date.now() }
}

/** Origin and path. Several receivers may share an origin. */
const placeOf = (url: string): string => new URL(url).origin + new URL(url).pathname

/**
 * A webhook that is made active tries at once what has failed before. One whose filter changes begins again with the
 * first event that waits, because the new filter may have others between those that wait.
 */
function progressAfter(progress: WebhookProgress, patch: WebhookPatch): WebhookProgress | undefined {
  const { state } = patch
  const isFiltered = ['types', 'tags', 'tagPrefix', 'untagged'].some((member) => Object.hasOwn(patch, member))
  if (state !== 'active' && !isFiltered) return undefined
  const { position, held, redelivery, waitUntil, storedAt } = progress
  const fresh = { ...startingAt(position), redelivery, waitUntil: state === 'active' ? undefined : waitUntil, storedAt }
  if (isFiltered) return { ...fresh, position: held[0]?.after ?? position }
  return { ...fresh, held: held.map((event) => ({ ...event, attempts: 0, due: 0 })) }
}

/**
 * The progress from which a webhook delivers the events after a position again, and then goes on where it is. Without
 * an end it goes on from that position, even from a later one than its own.
 *
 * @throws AppError 40002 for an end before the position
 */
function redelivering(progress: WebhookProgress, after: string, until: string | undefined): WebhookProgress {
  if (until !== undefined && until < after) throw new AppError(40002, 'until must not be before after')
  const place = progress.redelivery?.resume ?? progress.position
  if (historyOf(after) !== historyOf(place)) return startingAt(after)
  // A range behind the place is delivered in any case.
  if (after >= place) return until === undefined ? startingAt(after) : progress
  const held = progress.held.filter((event) => event.after < after)
  // The events that wait after the range come with those from the first of them on, so that none overtakes another.
  const resume = progress.held.find((event) => event.after >= (until ?? place))?.after ?? place
  return { ...progress, held, position: after, redelivery: until === undefined ? undefined : { until, resume } }
}

const timeText = (time: number): string => new Date(time).toISOString()

/** Names each member, so that no later one of the store, such as a secret, is in it. Undefined ones are left out. */
function shown({ delivery }: Parts, { webhook, progress }: StoredWebhook, secret?: string): object {
  const { pending = 0 } = delivery.backlogs().get(webhook.id) ?? {}
  const { id, url, types, tags, tagPrefix, untagged = false, description, body, concurrency } = webhook
  const { createdAt, creator, state, reason, since } = webhook
  const { previous, headers = [] } = webhook.keys
  return {
    id,
    url,
    types,
    tags,
    tagPrefix,
    untagged,
    description,
    body,
    concurrency,
    headerNames: headers.map(([name]) => name),
    createdAt: timeText(createdAt),
    creator: creator.id,
    state,
    reason,
    since: timeText(since),
    position: progress.held[0]?.after ?? progress.position,
    pending: Math.max(pending, progress.held.length),
    previousSecretUntil: previous !== undefined && previous.until > Date.now() ? timeText(previous.until) : undefined,
    secret,
  }
}
