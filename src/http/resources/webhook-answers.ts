import type { ChangeLog } from '../../domain/changes.ts'
import { AppError } from '../../domain/errors.ts'
import { derivedBits } from '../../domain/token.ts'
import type { Webhook, WebhookDelivery, WebhookProgress } from '../../domain/webhook.ts'
import type { StoredWebhook, WebhookStore } from '../../domain/webhook-store.ts'
import { JSON_TYPE, READ_CACHING } from '../answer/responder.ts'
import { secretOf } from '../auth/bearer.ts'
import type { Exchange } from '../request/exchange.ts'
import { keyIn } from '../request/head.ts'
import type { OperationParameters } from '../request/operations.generated.ts'
import type { HandlerParts } from '../router.ts'

/** The headers of an answer that shows a webhook, and of one that may show its secret. */
export const READ = ['Content-Type', JSON_TYPE, 'Cache-Control', READ_CACHING]
export const NO_STORE = ['Content-Type', JSON_TYPE, 'Cache-Control', 'no-store']
/** Changes of one webhook that may come between a look at it and the change itself. */
const MAX_TRIES = 5

/** `same`: there is nothing to change. */
export type Changed = 'same' | { readonly webhook: Webhook; readonly progress?: WebhookProgress | undefined }

/** Finds, changes and shows webhooks, for the handlers of all operations on them. */
export class ServedWebhooks {
  readonly store: WebhookStore
  readonly #parts: HandlerParts

  constructor(parts: HandlerParts) {
    this.store = parts.store.webhooks
    this.#parts = parts
  }

  /** @throws AppError 40401 while the log of changes is switched off */
  parts(): { readonly changes: ChangeLog; readonly delivery: WebhookDelivery } {
    const { delivery, store } = this.#parts
    const { changes } = store
    if (changes !== undefined && delivery !== undefined) return { changes, delivery }
    throw new AppError(40401, 'webhooks need the log of changes, which --changes-keep 0s switches off')
  }

  /** @throws AppError 40402 */
  async find(id: string): Promise<StoredWebhook> {
    const [found] = await this.store.list(id)
    if (found === undefined) throw noWebhook(id)
    return found
  }

  /** Changes a webhook as it is now, and again where another change came between. Answers with the changed webhook. */
  async answerChanged(
    exchange: Exchange,
    id: string,
    decide: (stored: StoredWebhook, signal: AbortSignal) => Changed | Promise<Changed>,
    secret?: string,
  ): Promise<void> {
    const changed = await this.#parts.admission.during('change', exchange, async (signal) => {
      for (let tries = 0; tries < MAX_TRIES; tries++) {
        const stored = await this.find(id)
        const decided = await decide(stored, signal)
        if (decided === 'same') return stored
        const { webhook, progress = stored.progress } = decided
        if (await this.store.change(id, stored.version, webhook, decided.progress)) {
          this.parts().delivery.changed()
          return { ...stored, webhook, progress }
        }
      }
      throw new AppError(50302, 'others change the webhook at the same time; nothing was done, send it again')
    })
    this.reply(exchange, NO_STORE, this.json(changed, secret))
  }

  reply(exchange: Exchange, headers: readonly string[], content: unknown): void {
    this.#parts.responder.reply(exchange, 200, [...headers], JSON.stringify(content))
  }

  json(stored: StoredWebhook, secret?: string): object {
    return webhookJson(stored, this.parts().delivery.backlogs().get(stored.webhook.id)?.pending, secret)
  }
}

export const noWebhook = (id: string): AppError => new AppError(40402, `there is no webhook with the id ${id}`)

/** The bits of an id or of a secret that are the same each time under the key of the client; undefined without a key. */
export function bitsOf(
  { request }: Exchange,
  parameters: OperationParameters['createWebhook'],
  what: string,
): Buffer | undefined {
  const key = keyIn(parameters)
  return key === undefined ? undefined : derivedBits(secretOf(request), `plantstore webhook ${what}`, key)
}

/** The progress of a webhook that has delivered nothing after a position. */
export const startingAt = (position: string): WebhookProgress => ({
  position,
  held: [],
  redelivery: undefined,
  failingSince: undefined,
  waitUntil: undefined,
})

const timeText = (time: number): string => new Date(time).toISOString()

/** Names each member, so that no later one of the store, such as a secret, is in it. Undefined ones are left out. */
function webhookJson({ webhook, progress }: StoredWebhook, pending = 0, secret?: string): object {
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
