import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect } from 'preact/hooks'
import type { PlantstoreClient, Webhook, WebhookDelivery } from '../../../client/src/index.ts'
import { say, sayOf, timeOf } from '../language/language.ts'
import { sayWith } from '../language/say-with.ts'
import type { PlainKey } from '../language/texts.ts'
import { Button } from '../page/controls.tsx'
import { tell, tellFailure } from '../page/notices.tsx'
import { useRequest } from '../page/request.ts'
import { foreign } from '../page/said.ts'
import { Fault, Sentence } from '../page/sentence.tsx'
import type { ViewProps } from '../session/session.ts'

const shown = (text: string): string => timeOf(text, 'medium')

const REASONS: Readonly<Record<NonNullable<Webhook['reason']>, PlainKey>> = {
  person: 'webhooks.reasonPerson',
  creator: 'webhooks.reasonCreator',
  gone: 'webhooks.reasonGone',
  'gave-up': 'webhooks.reasonGaveUp',
  behind: 'webhooks.reasonBehind',
}

const STATES: Readonly<Record<Webhook['state'], PlainKey>> = {
  active: 'webhooks.active',
  paused: 'webhooks.paused',
  failed: 'webhooks.failed',
}

/** Lists webhooks with their state, tests them, and shows their last deliveries. Programs create them. */
export function WebhooksView({ session: { client } }: ViewProps): JSX.Element {
  const webhooks = useSignal<readonly Webhook[] | undefined>(undefined)
  const { isBusy, fault, run } = useRequest()
  const read = () =>
    void run(async (signal) => {
      webhooks.value = await client.listWebhooks({ signal })
    })
  useEffect(read, [])
  return (
    <>
      <h1>{say('view.webhooks')}</h1>
      <p class="note">{say('webhooks.note')}</p>
      <Fault text={fault.value} onRetry={read} />
      {webhooks.value?.length === 0 && <p class="empty">{say('webhooks.none')}</p>}
      <ul class="rows tokens webhooks" aria-busy={isBusy.value}>
        {webhooks.value?.map((webhook) => (
          <WebhookItem key={webhook.id} client={client} webhook={webhook} onTested={read} />
        ))}
      </ul>
    </>
  )
}

/** Events that the service counts. */
const MANY = 1000

interface ItemProps {
  readonly client: PlantstoreClient
  readonly webhook: Webhook
  readonly onTested: () => void
}

function WebhookItem({ client, webhook, onTested }: ItemProps): JSX.Element {
  const { id, url, description, state, reason, since, pending } = webhook
  const waiting =
    pending >= MANY ? say('webhooks.waitingMany', { many: pending }) : say('webhooks.waiting', { count: pending })
  const testing = useRequest()
  const deliveries = useSignal<readonly WebhookDelivery[] | undefined>(undefined)
  const test = async () => {
    try {
      const { status, failure, durationMs } = await client.testWebhook(id)
      if (failure === undefined) tell(say('webhooks.answered', { status: String(status), ms: durationMs }))
      else tell(say('webhooks.testFailed', { failure: foreign(failure) }), { isError: true })
      onTested()
    } catch (error) {
      tellFailure(sayOf('webhooks.test', id), error)
    }
  }
  const show = async () => {
    try {
      deliveries.value = deliveries.value === undefined ? await client.listWebhookDeliveries(id) : undefined
    } catch (error) {
      tellFailure(sayOf('webhooks.deliveries', id), error)
    }
  }
  return (
    <li tabIndex={-1}>
      <div>
        <strong dir="auto" translate={false}>
          {description ?? url}
        </strong>
        <div class="note">
          {description === undefined ? <code>{id}</code> : sayWith('webhooks.to', { id: <code>{id}</code>, url })}
        </div>
        <div class="note">
          {say('webhooks.state', {
            state:
              reason === undefined
                ? say(STATES[state])
                : say('page.about', { what: say(STATES[state]), of: say(REASONS[reason]) }),
            time: shown(since),
            waiting,
          })}
        </div>
      </div>
      <Button
        text={say('webhooks.test')}
        isBusy={testing.isBusy.value}
        of={id}
        onClick={() => void testing.once(test)}
      />
      <Button
        text={say('webhooks.deliveries')}
        aria-expanded={deliveries.value !== undefined}
        of={id}
        onClick={() => void show()}
      />
      {deliveries.value !== undefined && <Deliveries deliveries={deliveries.value} />}
    </li>
  )
}

/** The page shows as many as a person looks through. */
const MOST_SHOWN = 100

function Deliveries({ deliveries }: { readonly deliveries: readonly WebhookDelivery[] }): JSX.Element {
  if (deliveries.length === 0) return <p class="note">{say('webhooks.nothingSent')}</p>
  return (
    <ol class="note">
      {deliveries.slice(0, MOST_SHOWN).map(({ event, type, time: at, status, failure, durationMs, nextAttempt }) => (
        <li key={`${event} ${at}`}>
          {sayWith('webhooks.delivery', {
            time: shown(at),
            type,
            outcome:
              failure === undefined ? (
                say('webhooks.delivered', { status: String(status) })
              ) : (
                <Sentence text={foreign(failure)} />
              ),
            ms: durationMs,
          })}
          {nextAttempt !== undefined && say('webhooks.nextAttempt', { time: shown(nextAttempt) })}
        </li>
      ))}
    </ol>
  )
}
