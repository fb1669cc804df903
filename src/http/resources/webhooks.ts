import { type ChangeLog, readPosition } from '../../domain/changes.ts'
import { AppError } from '../../domain/errors.ts'
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
import { JSON_TYPE, READ_CACHING } from '../answer/responder.ts'
import { secretOf } from '../auth/bearer.ts'
import type { Exchange } from '../request/exchange.ts'
import { keyIn } from '../request/head.ts'
import type { OperationParameters } from '../request/operations.generated.ts'
import type { HandlerParts, Handlers } from '../router.ts'
import { parseOverlap } from './tokens.ts'
import { parseRange, parseWebhook, parseWebhookPatch, type WebhookPatch } from './webhook-body.ts'

type WebhookHandlers = Pick<Handlers, Extract<keyof Handlers, `${string}Webhook${string}`>>

const NO_STORE = ['Content-Type', JSON_TYPE, 'Cache-Control', 'no-store']
const READ = ['Content-Type', JSON_TYPE, 'Cache-Control', READ_CACHING]
/** Changes of one webhook that may come between a look at it and the change itself. */
const MAX_TRIES = 5

/** The handlers of the operations on webhooks. */
export function webhookHandlers({ store, delivery, responder, admission }: HandlerParts): WebhookHandlers {
  const { webhooks } = store

  /** @throws AppError 40401 while the log of changes is switched off */
  function parts(): { readonly changes: ChangeLog; readonly delivery: WebhookDelivery } {
    const { changes } = store
    if (changes !== undefined && delivery !== undefined) return { changes, delivery }
    throw new AppError(40401, 'webhooks need the log of changes, which --changes-keep 0s switches off')
  }

  /** @throws AppError 40402 */
  async function find(id: string): Promise<StoredWebhook> {
    const [found] = await webhooks.list(id)
    if (found === undefined) throw noWebhook(id)
    return found
  }

  const jsonOf = (stored: StoredWebhook, secret?: string): object =>
    webhookJson(stored, parts().delivery.backlogs().get(stored.webhook.id)?.pending, secret)

  const reply = (exchange: Exchange, headers: readonly string[], content: unknown): void =>
    responder.reply(exchange, 200, [...headers], JSON.stringify(content))

  /** Changes a webhook as it is now, and again where another change came between. Answers with the changed webhook. */
  async function answerChanged(
    exchange: Exchange,
    id: string,
    decide: (stored: StoredWebhook, signal: AbortSignal) => Changed | Promise<Changed>,
    secret?: string,
  ): Promise<void> {
    const changed = await admission.during('change', exchange, async (signal) => {
      for (let tries = 0; tries < MAX_TRIES; tries++) {
        const stored = await find(id)
        const decided = await decide(stored, signal)
        if (decided === 'same') return stored
        const { webhook, progress = stored.progress } = decided
        if (await webhooks.change(id, stored.version, webhook, decided.progress)) {
          parts().delivery.changed()
          return { ...stored, webhook, progress }
        }
      }
      throw new AppError(50302, 'others change the webhook at the same time; nothing was done, send it again')
    })
    reply(exchange, NO_STORE, jsonOf(changed, secret))
  }

  return {
    async createWebhook(exchange, parameters, body) {
      const { delivery, changes } = parts()
      const request = parseWebhook(body, (url) => delivery.faultOf(url))
      const id = makeWebhookId(bitsOf(exchange, parameters, 'id'))
      const secret = makeWebhookSecret(bitsOf(exchange, parameters, 'secret'))
      exchange.change = { outcome: 'created', details: () => ({ webhook: id }) }
      const created = await admission.during('change', exchange, async () => {
        const now = Date.now()
        const begun = { createdAt: now, state: 'active', reason: undefined, since: now } as const
        const wanted = { ...request, id, ...creatorOf(exchange), ...begun, keys: { secret, previous: undefined } }
        const made = await webhooks.create(wanted, startingAt(await changes.end()), MAX_WEBHOOKS)
        if (made === 'too many') throw new AppError(40906, `there are ${MAX_WEBHOOKS} webhooks; delete one first`)
        if (contentOf(made) !== contentOf(wanted)) {
          throw new AppError(40902, 'the Idempotency-Key belongs to a webhook with another content')
        }
        delivery.changed()
        return find(id)
      })
      const headers = [...NO_STORE, 'Location', `/webhooks/${id}`]
      responder.reply(exchange, 201, headers, JSON.stringify(jsonOf(created, secret)))
    },

    async listWebhooks(exchange) {
      parts()
      const all = await webhooks.list()
      reply(
        exchange,
        READ,
        all.map((stored) => jsonOf(stored)),
      )
    },

    async getWebhook(exchange, { id }) {
      parts()
      reply(exchange, READ, jsonOf(await find(id)))
    },

    async updateWebhook(exchange, { id }, body) {
      const { delivery } = parts()
      const patch = parseWebhookPatch(body, (url) => delivery.faultOf(url))
      exchange.change = { outcome: 'updated', details: () => ({ webhook: id, members: Object.keys(patch) }) }
      const creator = creatorOf(exchange)
      await answerChanged(exchange, id, ({ webhook, progress }) => ({
        webhook: patched({ ...webhook, ...creator }, patch),
        progress: progressAfter(progress, patch),
      }))
    },

    async deleteWebhook(exchange, { id }) {
      const { delivery } = parts()
      exchange.change = { outcome: 'deleted', details: () => ({ webhook: id }) }
      const isDeleted = await admission.during('change', exchange, () => webhooks.delete(id))
      if (!isDeleted) throw noWebhook(id)
      delivery.changed()
      responder.reply(exchange, 204, [])
    },

    async testWebhook(exchange, { id }) {
      const { delivery } = parts()
      exchange.change = { outcome: 'tested', details: () => ({ webhook: id }) }
      const { webhook } = await find(id)
      reply(exchange, NO_STORE, await delivery.test(webhook, exchange.signal))
    },

    async rotateWebhookSecret(exchange, parameters, body) {
      parts()
      const { id } = parameters
      const overlap = parseOverlap(body)
      const secret = makeWebhookSecret(bitsOf(exchange, parameters, `rotation ${id}`))
      exchange.change = { outcome: 'rotated', details: () => ({ webhook: id }) }
      const rotate = ({ webhook }: StoredWebhook): Changed => {
        const keys = rotated(webhook.keys, secret, overlap)
        return keys === undefined ? 'same' : { webhook: { ...webhook, keys } }
      }
      await answerChanged(exchange, id, rotate, secret)
    },

    async redeliverWebhook(exchange, { id }, body) {
      const { changes } = parts()
      const { after, until } = parseRange(body)
      // The audit log names no malformed position, which may be a misplaced secret.
      for (const position of [after, until ?? after]) if (position !== 'now') readPosition(position)
      exchange.change = { outcome: 'redelivered', details: () => ({ webhook: id, after, until }) }
      await answerChanged(exchange, id, async ({ webhook, progress }, signal) => ({
        webhook,
        progress: await redelivery(changes, progress, after, until, signal),
      }))
    },

    async listWebhookDeliveries(exchange, { id, limit }) {
      parts()
      const read = () => find(id).then(() => webhooks.attempts(id, limit))
      reply(exchange, READ, await admission.during('search', exchange, read))
    },
  }
}

/** The bits of an id or of a secret that are the same each time under the key of the client; undefined without a key. */
function bitsOf(
  { request }: Exchange,
  parameters: OperationParameters['createWebhook'],
  what: string,
): Buffer | undefined {
  const key = keyIn(parameters)
  return key === undefined ? undefined : derivedBits(secretOf(request), `plantstore webhook ${what}`, key)
}

const noWebhook = (id: string): AppError => new AppError(40402, `there is no webhook with the id ${id}`)

/** `same`: there is nothing to change. */
type Changed = 'same' | { readonly webhook: Webhook; readonly progress?: WebhookProgress | undefined }

/** The token of the request, on whose rights a webhook depends. The store knows when its own tokens end. */
function creatorOf({ actor, identity }: Exchange): Pick<Webhook, 'creator' | 'creatorExpiresAt'> {
  const isOther = identity?.hash === undefined && Number.isFinite(identity?.expiresAt)
  return { creator: actor, creatorExpiresAt: isOther ? identity?.expiresAt : undefined }
}

const startingAt = (position: string): WebhookProgress => ({
  position,
  held: [],
  redelivery: undefined,
  failingSince: undefined,
  waitUntil: undefined,
})

function patched(webhook: Webhook, { state, ...request }: WebhookPatch): Webhook {
  const changed = { ...webhook, ...request }
  if (state === undefined || state === webhook.state) return changed
  return { ...changed, state, reason: state === 'paused' ? 'person' : undefined, since: Date.now() }
}

/**
 * A webhook that is made active tries at once what has failed before. One whose filter changes begins again with the
 * first event that waits, because the new filter may have others between those that wait.
 */
function progressAfter(progress: WebhookProgress, { state, types, tags }: WebhookPatch): WebhookProgress | undefined {
  if (state !== 'active' && types === undefined && tags === undefined) return undefined
  const { position, held, redelivery, waitUntil, storedAt } = progress
  const fresh = { ...startingAt(position), redelivery, waitUntil: state === 'active' ? undefined : waitUntil, storedAt }
  if (types !== undefined || tags !== undefined) return { ...fresh, position: held[0]?.after ?? position }
  return { ...fresh, held: held.map((event) => ({ ...event, attempts: 0, due: 0 })) }
}

/**
 * The progress from which a webhook delivers the events after a position again, and then goes on where it is. Without
 * an end it goes on from that position, even from a later one than its own.
 *
 * @throws AppError as ChangeLog.read does for a position
 */
async function redelivery(
  changes: ChangeLog,
  progress: WebhookProgress,
  given: string,
  until: string | undefined,
  signal: AbortSignal,
): Promise<WebhookProgress> {
  const after = given === 'now' ? await changes.end() : given
  for (const position of until === undefined ? [after] : [after, until]) {
    await changes.read({ after: position, limit: 1, tags: [] }, signal)
  }
  if (until !== undefined && until < after) throw new AppError(40002, 'until must not be before after')
  const place = progress.redelivery?.resume ?? progress.position
  if (readPosition(after).history !== readPosition(place).history) return startingAt(after)
  // A range behind the place is delivered in any case.
  if (after >= place) return until === undefined ? startingAt(after) : progress
  const held = progress.held.filter((event) => event.after < after)
  // The events that wait after the range come with those from the first of them on, so that none overtakes another.
  const resume = progress.held.find((event) => event.after >= (until ?? place))?.after ?? place
  return { ...progress, held, position: after, redelivery: until === undefined ? undefined : { until, resume } }
}

const contentOf = ({ url, types, tags, description, body, concurrency, keys }: Webhook): string =>
  JSON.stringify([url, types, tags, description, body, concurrency, keys.secret])

const timeText = (time: number): string => new Date(time).toISOString()

/** Names each member, so that no later one of the store, such as a secret, is in it. Undefined ones are left out. */
function webhookJson({ webhook, progress }: StoredWebhook, pending = 0, secret?: string): object {
  const { id, url, types, tags, description, body, concurrency, createdAt, creator, state, reason, since } = webhook
  const { previous } = webhook.keys
  return {
    id,
    url,
    types,
    tags,
    description,
    body,
    concurrency,
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
