import { type ChangeLog, readPosition } from '../../domain/changes.ts'
import { AppError } from '../../domain/errors.ts'
import type { WebhookProgress } from '../../domain/webhook.ts'
import type { HandlerParts, Handlers } from '../router.ts'
import { NO_STORE, READ, type ServedWebhooks, startingAt } from './webhook-answers.ts'
import { parseRange } from './webhook-body.ts'

export type DeliveryHandlers = Pick<Handlers, 'testWebhook' | 'redeliverWebhook' | 'listWebhookDeliveries'>

/** The handlers of the operations on what a webhook delivers. */
export function deliveryHandlers(served: ServedWebhooks, { admission }: HandlerParts): DeliveryHandlers {
  return {
    async testWebhook(exchange, { id }) {
      const { delivery } = served.parts()
      exchange.change = { outcome: 'tested', details: () => ({ webhook: id }) }
      const { webhook } = await served.find(id)
      served.reply(exchange, NO_STORE, await delivery.test(webhook, exchange.signal))
    },

    async redeliverWebhook(exchange, { id }, body) {
      const { changes } = served.parts()
      const { after, until } = parseRange(body)
      // The audit log names no malformed position, which may be a misplaced secret.
      for (const position of [after, until ?? after]) if (position !== 'now') readPosition(position)
      exchange.change = { outcome: 'redelivered', details: () => ({ webhook: id, after, until }) }
      await served.answerChanged(exchange, id, async ({ webhook, progress }, signal) => ({
        webhook,
        progress: await redelivery(changes, progress, after, until, signal),
      }))
    },

    async listWebhookDeliveries(exchange, { id, limit }) {
      served.parts()
      const read = () => served.find(id).then(() => served.store.attempts(id, limit))
      served.reply(exchange, READ, await admission.during('search', exchange, read))
    },
  }
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
