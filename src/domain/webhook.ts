import { createHmac, hash, randomBytes } from 'node:crypto'
import type { ChangeEntry, ChangeFilter, ChangeType } from './changes.ts'
import { AppError } from './errors.ts'
import { newPlantJson } from './plant.ts'
import { type Actor, idOfBits, type Scope } from './token.ts'

/** `event`: `{type, timestamp, data}`. `plant`: the plant alone, with the type as a header. */
export const WEBHOOK_BODIES = ['event', 'plant'] as const
export type WebhookBody = (typeof WEBHOOK_BODIES)[number]

export type WebhookState = 'active' | 'paused' | 'failed'

/**
 * Why a webhook is not active. `person`: a client paused it. `creator`: its token was revoked, has expired or lacks a
 * scope. `gone`: its receiver answered 410. `gave-up`: nothing was delivered for too long. `behind`: the next event has
 * left the log.
 */
export type WebhookReason = 'person' | 'creator' | 'gone' | 'gave-up' | 'behind'

export interface WebhookRequest extends ChangeFilter {
  readonly url: string
  /** Empty: all. */
  readonly types: readonly ChangeType[]
  readonly description: string | undefined
  readonly body: WebhookBody
  /** Requests at once. */
  readonly concurrency: number
}

/** A header that a receiver wants. Its value is a secret, such as a token. */
export type WebhookHeader = readonly [name: string, value: string]

/** The secrets by which a receiver knows the service. Times are milliseconds since 1970. */
export interface WebhookKeys {
  /** Sent beside the headers of the service; at most ten. */
  readonly headers?: readonly WebhookHeader[]
  /** `whsec_` and base64. */
  readonly secret: string
  /** The secret of before a rotation, which signs as well until `until`. */
  readonly previous: { readonly secret: string; readonly until: number } | undefined
  /** Hashes of the last secrets that rotations have replaced, the newest first. */
  readonly replaced?: readonly string[]
}

/** A webhook, apart from how far its deliveries are. */
export interface Webhook extends WebhookRequest {
  /** Such as `whk_3kTmX0aBcDe`. */
  readonly id: string
  readonly createdAt: number
  /** The token that created it or changed it last, on whose rights it depends. */
  readonly creator: Actor
  /** When a token that is not in the store expires, in milliseconds since 1970; undefined: never. */
  readonly creatorExpiresAt: number | undefined
  readonly state: WebhookState
  readonly reason: WebhookReason | undefined
  /** When the state began, in milliseconds since 1970. */
  readonly since: number
  readonly keys: WebhookKeys
}

/** The scopes that the token of a webhook needs: it reads plants. */
export const WEBHOOK_SCOPES = ['plants:read', 'webhooks'] as const satisfies readonly Scope[]

/** An event that was read from the log, but not delivered yet. */
export interface HeldEvent {
  /** The position after which a read of the log by the filter of the webhook finds it. */
  readonly after: string
  readonly plant: string
  readonly time: number
  readonly attempts: number
  /** The earliest time of the next attempt, in milliseconds since 1970. */
  readonly due: number
}

/** How far the deliveries of a webhook are. The store keeps it after each answer. */
export interface WebhookProgress {
  /** The position in the log up to which all events are delivered or held. */
  readonly position: string
  /** In the order of the log; at most MAX_HELD and those under way. */
  readonly held: readonly HeldEvent[]
  /** Where a redelivery ends, and the position after it; undefined while there is none. */
  readonly redelivery?: { readonly until: string; readonly resume: string } | undefined
  /** When the first attempt failed since the last delivery, in milliseconds since 1970; undefined: none failed. */
  readonly failingSince?: number | undefined
  /** Before this time, a receiver that is busy gets nothing, in milliseconds since 1970; undefined: it never was. */
  readonly waitUntil?: number | undefined
  /** When a deliverer stored the times before it last, by the clock that they are of; undefined while there are none. */
  readonly storedAt?: number | undefined
}

/** What came of one request to a receiver, as clients read it. */
export interface WebhookResult {
  /** Of the answer; undefined where none came. */
  readonly status: number | undefined
  /** Why the request failed; undefined where the answer was 2xx. */
  readonly failure: string | undefined
  readonly durationMs: number
  /** The first 256 bytes of the answer. */
  readonly answer: string
}

/** One attempt to deliver an event. Its times are those of ISO 8601. */
export interface WebhookAttempt extends WebhookResult {
  readonly event: string
  readonly type: ChangeType
  readonly time: string
  /** When the next attempt is due; undefined where there will be none. */
  readonly nextAttempt: string | undefined
}

/** Events that may wait behind one that fails; further ones stay in the log. */
export const MAX_HELD = 64
export const MAX_WEBHOOKS = 100
export const MAX_CONCURRENCY = 32

const SECRET_PREFIX = 'whsec_'

export const makeWebhookId = (bits: Buffer = randomBytes(8)): string => idOfBits('whk_', bits.subarray(0, 8))

/** A key of 32 bytes in the form of Standard Webhooks 1.0.0. */
export const makeWebhookSecret = (bits: Buffer = randomBytes(32)): string =>
  `${SECRET_PREFIX}${bits.toString('base64')}`

/** Rotations whose secrets no retry brings back. */
const MAX_REPLACED = 100

/**
 * Replaces a secret, which goes on to sign for the overlap in milliseconds. Returns undefined for one that signs already.
 *
 * @throws AppError 40902 for one that an earlier rotation has replaced
 */
export function rotated(keys: WebhookKeys, secret: string, overlap: number): WebhookKeys | undefined {
  const { replaced = [] } = keys
  if (secretsOf(keys).includes(secret)) return undefined
  if (replaced.includes(hash('sha256', secret))) {
    throw new AppError(40902, 'the Idempotency-Key belongs to a secret that a later rotation has replaced')
  }
  return {
    ...keys,
    secret,
    previous: overlap === 0 ? undefined : { secret: keys.secret, until: Date.now() + overlap },
    replaced: [hash('sha256', keys.secret), ...replaced].slice(0, MAX_REPLACED),
  }
}

/** The secrets that sign now, the newest first. */
const secretsOf = ({ secret, previous }: WebhookKeys): readonly string[] =>
  previous !== undefined && previous.until > Date.now() ? [secret, previous.secret] : [secret]

/**
 * The value of the header `webhook-signature` (Standard Webhooks 1.0.0): one signature for each key, the new one first.
 *
 * @param timestamp of the attempt, in seconds since 1970
 */
export function signaturesOf(keys: WebhookKeys, id: string, timestamp: number, body: string): string {
  return secretsOf(keys)
    .map((each) => {
      const hmac = createHmac('sha256', Buffer.from(each.slice(SECRET_PREFIX.length), 'base64'))
      return `v1,${hmac.update(`${id}.${timestamp}.${body}`).digest('base64')}`
    })
    .join(' ')
}

/** The body of a delivery: the plant after the change, or before its deletion. */
export function eventBody(form: WebhookBody, { type, time, plant, before }: ChangeEntry): string {
  const changed = plant ?? before
  if (changed === undefined) throw new Error('a change without a plant')
  const json = newPlantJson(changed)
  return form === 'plant' ? json : eventJson(type, time, json)
}

/** @param data JSON */
export const eventJson = (type: string, time: number, data: string): string =>
  `{"type":${JSON.stringify(type)},"timestamp":"${new Date(time).toISOString()}","data":${data}}`

/** Delivers events to webhooks. */
export interface WebhookDelivery {
  /** Why the operator does not allow a URL, as far as it says itself. Each attempt checks all addresses of its name. */
  faultOf(url: URL): string | undefined

  /** Call it after each change of the webhooks in the store. */
  changed(): void

  /**
   * Sends a message now, past all queues.
   *
   * @param signal ends the attempt
   * @throws AppError 42901 while another test of the webhook is under way, 50302 while too many requests of all are
   */
  test(webhook: Webhook, signal: AbortSignal): Promise<WebhookResult>

  /** What waits for each webhook, as of at most a minute ago. */
  backlogs(): ReadonlyMap<string, WebhookBacklog>

  /** All webhooks, as of a second ago. */
  readonly webhooks: readonly Webhook[]

  /** Attempts of this instance since its start. */
  readonly outcomes: Readonly<Record<WebhookOutcome, number>>

  /** Requests at once, of all webhooks. */
  readonly requests: { readonly max: number; readonly used: number }
}

/** `refused`: by a status that is not 2xx. `unanswered`: no status came. */
export type WebhookOutcome = 'delivered' | 'refused' | 'unanswered'

/** The events that wait for one webhook. */
export interface WebhookBacklog {
  /** At most MAX_PENDING, which stands for that many or more. */
  readonly pending: number
  /** The time of the first of them, in milliseconds since 1970; undefined for none. */
  readonly oldest: number | undefined
}

export const MAX_PENDING = 1000
