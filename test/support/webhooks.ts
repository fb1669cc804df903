import assert from 'node:assert/strict'
import { Webhook as Library } from 'standardwebhooks'
import type { Webhook, WebhookDelivery, WebhookWithSecret } from '../../client/src/contract.generated.ts'
import type { Scene } from './clean-up.ts'
import { OK, type Received, type Respond, startReceiver, type TestReceiver } from './receiver.ts'
import type { Answer, Sending, Service } from './service.ts'
import { until } from './until.ts'

/**
 * Settings of a service whose webhooks may go to receivers of the tests. Where a test moves the time by hours, the
 * connections of its client stay open all the same.
 */
export const LOCAL = { webhookAllow: 'loopback', changesKeep: '30d', keepAliveTimeout: '0ms' } as const

export const createWebhook = (service: Service, body: unknown, sending?: Sending): Promise<Answer> =>
  service.sendJson('POST', '/webhooks', body, sending)

export async function createdWebhook(service: Service, body: unknown, sending?: Sending): Promise<WebhookWithSecret> {
  const answer = await createWebhook(service, body, sending)
  assert.equal(answer.status, 201, answer.body)
  return answer.json as WebhookWithSecret
}

interface Receiving {
  readonly respond?: Respond
  /** The other members of the webhook. */
  readonly [member: string]: unknown
}

/** Starts a receiver, and creates a webhook that sends to it. */
export async function startWebhook(
  service: Service,
  scene: Scene,
  { respond = OK, ...more }: Receiving = {},
): Promise<WebhookWithSecret & { readonly receiver: TestReceiver }> {
  const receiver = await startReceiver(scene, { respond })
  return { receiver, ...(await createdWebhook(service, { url: receiver.url, ...more })) }
}

export async function webhookOf(service: Service, id: string): Promise<Webhook> {
  const answer = await service.send('GET', `/webhooks/${id}`)
  assert.equal(answer.status, 200, answer.body)
  return answer.json as Webhook
}

export async function deliveriesOf(service: Service, id: string): Promise<WebhookDelivery[]> {
  const answer = await service.send('GET', `/webhooks/${id}/deliveries?limit=1000`)
  assert.equal(answer.status, 200, answer.body)
  return answer.json as WebhookDelivery[]
}

export const patchWebhook = (service: Service, id: string, patch: unknown): Promise<Answer> =>
  service.sendJson('PATCH', `/webhooks/${id}`, patch)

/** The plant of an event. */
export const plantIn = ({ body }: { readonly body: string }): { readonly id: number; readonly name: string } =>
  (JSON.parse(body) as { data: { id: number; name: string } }).data

/** The ids of the plants of all events that came, in their order. */
export const idsIn = ({ received }: TestReceiver): number[] => received.map((one) => plantIn(one).id)

/** Verifies a request by the library of Standard Webhooks, which throws where the signature is wrong. */
export const verify = ({ body, headers }: Received, secret: string): unknown =>
  new Library(secret).verify(body, headers as Record<string, string>, { jsonParse: false })

/** Waits until a receiver has so many requests. */
export const untilReceived = ({ received }: TestReceiver, count: number): Promise<void> =>
  until(
    () => received.length >= count,
    () => `${received.length} of ${count} events came`,
  )

/**
 * Waits until so many events wait for webhooks. The service counts for all of them every few seconds, so that one
 * number may be of before what the test has done, while another one is of after it.
 */
export const untilPending = (service: Service, wanted: Readonly<Record<string, number>>): Promise<void> =>
  until(async () => {
    const all = (await service.send('GET', '/webhooks')).json as readonly Webhook[]
    return all.every(({ id, pending }) => wanted[id] === undefined || wanted[id] === pending)
  }, 'the events that wait are not counted')

/** Waits until a webhook has a state. */
export const untilState = (service: Service, id: string, state: Webhook['state']): Promise<void> =>
  until(async () => (await webhookOf(service, id)).state === state, `the webhook is not ${state}`)

/** Waits until a webhook lists so many attempts. */
export const untilListed = (service: Service, id: string, count: number): Promise<void> =>
  until(async () => (await deliveriesOf(service, id)).length >= count, 'the deliveries are not listed')
