import { AppError } from '../../domain/errors.ts'
import {
  MAX_WEBHOOKS,
  makeWebhookId,
  makeWebhookSecret,
  rotated,
  type Webhook,
  type WebhookProgress,
} from '../../domain/webhook.ts'
import type { StoredWebhook } from '../../domain/webhook-store.ts'
import type { Exchange } from '../request/exchange.ts'
import type { HandlerParts, Handlers } from '../router.ts'
import { parseOverlap } from './tokens.ts'
import { bitsOf, type Changed, NO_STORE, noWebhook, READ, ServedWebhooks, startingAt } from './webhook-answers.ts'
import { isTaggedTwice, parseWebhook, parseWebhookPatch, TAGGED_TWICE, type WebhookPatch } from './webhook-body.ts'
import { type DeliveryHandlers, deliveryHandlers } from './webhook-deliveries.ts'
import { withHeaders } from './webhook-headers.ts'

type WebhookHandlers = Pick<Handlers, Extract<keyof Handlers, `${string}Webhook${string}`>>

/** The handlers of the operations on webhooks. */
export function webhookHandlers(parts: HandlerParts): WebhookHandlers {
  const served = new ServedWebhooks(parts)
  return { ...recordHandlers(served, parts), ...deliveryHandlers(served, parts) }
}

type RecordHandlers = Omit<WebhookHandlers, keyof DeliveryHandlers>

function recordHandlers(served: ServedWebhooks, { responder, admission }: HandlerParts): RecordHandlers {
  return {
    async createWebhook(exchange, parameters, body) {
      const { delivery, changes } = served.parts()
      const { headers, ...request } = parseWebhook(body, (url) => delivery.faultOf(url))
      const id = makeWebhookId(bitsOf(exchange, parameters, 'id'))
      const secret = makeWebhookSecret(bitsOf(exchange, parameters, 'secret'))
      exchange.change = { outcome: 'created', details: () => ({ webhook: id }) }
      const created = await admission.during('change', exchange, async () => {
        const now = Date.now()
        const begun = { createdAt: now, state: 'active', reason: undefined, since: now } as const
        const keys = withHeaders({ secret, previous: undefined }, headers)
        const wanted = { ...request, id, ...creatorOf(exchange), ...begun, keys }
        const made = await served.store.create(wanted, startingAt(await changes.end()), MAX_WEBHOOKS)
        if (made === 'too many') throw new AppError(40906, `there are ${MAX_WEBHOOKS} webhooks; delete one first`)
        if (contentOf(made) !== contentOf(wanted)) {
          throw new AppError(40902, 'the Idempotency-Key belongs to a webhook with another content')
        }
        delivery.changed()
        return served.find(id)
      })
      const head = [...NO_STORE, 'Location', `/webhooks/${id}`]
      responder.reply(exchange, 201, head, JSON.stringify(served.json(created, secret)))
    },

    async listWebhooks(exchange) {
      served.parts()
      const all = (await served.store.list()).map((stored) => served.json(stored))
      served.reply(exchange, READ, all)
    },

    async getWebhook(exchange, { id }) {
      served.parts()
      served.reply(exchange, READ, served.json(await served.find(id)))
    },

    async updateWebhook(exchange, { id }, body) {
      const { delivery } = served.parts()
      const patch = parseWebhookPatch(body, (url) => delivery.faultOf(url))
      exchange.change = { outcome: 'updated', details: () => ({ webhook: id, members: Object.keys(patch) }) }
      const creator = creatorOf(exchange)
      await served.answerChanged(exchange, id, ({ webhook, progress }) => ({
        webhook: patched({ ...webhook, ...creator }, patch),
        progress: progressAfter(progress, patch),
      }))
    },

    async deleteWebhook(exchange, { id }) {
      const { delivery } = served.parts()
      exchange.change = { outcome: 'deleted', details: () => ({ webhook: id }) }
      const isDeleted = await admission.during('change', exchange, () => served.store.delete(id))
      if (!isDeleted) throw noWebhook(id)
      delivery.changed()
      responder.reply(exchange, 204, [])
    },

    async rotateWebhookSecret(exchange, parameters, body) {
      served.parts()
      const { id } = parameters
      const overlap = parseOverlap(body)
      const secret = makeWebhookSecret(bitsOf(exchange, parameters, `rotation ${id}`))
      exchange.change = { outcome: 'rotated', details: () => ({ webhook: id }) }
      const rotate = ({ webhook }: StoredWebhook): Changed => {
        const keys = rotated(webhook.keys, secret, overlap)
        return keys === undefined ? 'same' : { webhook: { ...webhook, keys } }
      }
      await served.answerChanged(exchange, id, rotate, secret)
    },
  }
}

/** The token of the request, on whose rights a webhook depends. The store knows when its own tokens end. */
function creatorOf({ actor, identity }: Exchange): Pick<Webhook, 'creator' | 'creatorExpiresAt'> {
  const isOther = identity?.hash === undefined && Number.isFinite(identity?.expiresAt)
  return { creator: actor, creatorExpiresAt: isOther ? identity?.expiresAt : undefined }
}

const contentOf = (webhook: Webhook): string => {
  const { url, types, tags, tagPrefix, untagged = false, description, body, concurrency, keys } = webhook
  const tagging = { tags, tagPrefix, untagged }
  return JSON.stringify([url, types, tagging, description, body, concurrency, keys.secret, keys.headers])
}

function patched(webhook: Webhook, { state, headers, ...request }: WebhookPatch): Webhook {
  const isOtherOrigin = request.url !== undefined && new URL(request.url).origin !== new URL(webhook.url).origin
  const changed = { ...webhook, ...request, keys: withHeaders(webhook.keys, headers, isOtherOrigin) }
  if (isTaggedTwice(changed)) throw new AppError(40002, TAGGED_TWICE)
  if (state === undefined || state === webhook.state) return changed
  return { ...changed, state, reason: state === 'paused' ? 'person' : undefined, since: Date.now() }
}

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
