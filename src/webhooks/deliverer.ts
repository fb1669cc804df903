import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { ChangeTail } from '../domain/change-tail.ts'
import { ALL_CHANGES, type ChangeLog, type ChangePage, type ChangeRequest, unionOf } from '../domain/changes.ts'
import { AppError } from '../domain/errors.ts'
import { CONFIGURED_TOKEN, LOOK_UP_INTERVAL } from '../domain/token.ts'
import {
  eventJson,
  MAX_PENDING,
  makeWebhookId,
  WEBHOOK_SCOPES,
  type Webhook,
  type WebhookBacklog,
  type WebhookDelivery,
  type WebhookReason,
  type WebhookResult,
} from '../domain/webhook.ts'
import { LEASE_TIME, type StoredWebhook, type WebhookSave, type WebhookStore } from '../domain/webhook-store.ts'
import type { Config } from '../settings/config.ts'
import { AddressPolicy } from './address-policy.ts'
import { Delivery, type DeliveryParts, filterIn } from './delivery.ts'
import { Receiver, resolverOf } from './receiver.ts'
import { Share } from './share.ts'

const LEASE_INTERVAL = 3000
/** Milliseconds between two commits of progress, during which creates wait. */
const SAVE_INTERVAL = 40
/** Milliseconds after which the position of a webhook that nothing was for is stored, too. */
const IDLE_SAVE_INTERVAL = 10_000
/** Milliseconds that attempts under way may take once the service stops. */
const CLOSE_TIMEOUT = 2000
/** Milliseconds between two counts of what waits. */
const COUNT_INTERVAL = 3000
/** Milliseconds after each of them that reads the log, because a read of many events delays deliveries. */
const COUNT_PAUSE = 200
/** Requests at once, of all webhooks. */
const MAX_REQUESTS = 256
/** Deliveries that begin in a second while the event loop is busy. */
const BUSY_RATE = 1050
/** The part of its time. Deliveries alone take less. */
const BUSY = 0.5
/** Milliseconds between two looks at it. */
const BUSY_INTERVAL = 100

export interface DelivererOptions {
  readonly changes: ChangeLog
  readonly webhooks: WebhookStore
  readonly config: Pick<Config, 'webhookAllow' | 'webhookGiveUp' | 'token'>
  readonly version: string
  /** Called with a message for the operator. */
  readonly onNotice: (text: string) => void
}

/** Delivers the events of all webhooks whose lease it has. */
export class Deliverer implements WebhookDelivery {
  readonly outcomes = { delivered: 0, refused: 0, unanswered: 0 }
  readonly #options: DelivererOptions
  readonly #parts: DeliveryParts
  readonly #holder = randomUUID()
  readonly #deliveries = new Map<string, Delivery>()
  readonly #tests = new Set<string>()
  readonly #ending = new AbortController()
  #stored: readonly StoredWebhook[] = []
  #backlogs = new Map<string, WebhookBacklog>()
  #leased: ReadonlySet<string> = new Set()
  #leasedAt = Number.NEGATIVE_INFINITY
  #leaseEnd: NodeJS.Timeout | undefined
  #refreshedAt = Number.NEGATIVE_INFINITY
  #running: Promise<unknown> | undefined
  #lastRead: Promise<unknown> = Promise.resolve()
  /** What the read of the log that all webhooks share has to find. */
  #filter = ALL_CHANGES

  constructor(options: DelivererOptions) {
    this.#options = options
    this.#parts = {
      policy: new AddressPolicy(options.config.webhookAllow),
      resolve: resolverOf(),
      agent: `Plantstore/${options.version}`,
      tail: new ChangeTail(options.changes, (entries) => entries),
      read: (request, signal) => this.#read(request, signal),
      requests: new Share(MAX_REQUESTS, spacing()),
      giveUp: options.config.webhookGiveUp,
      outcomes: this.outcomes,
    }
  }

  start(): void {
    this.#running ??= Promise.all([this.#run(), this.#countAll()])
  }

  /** Stores what was delivered, and lets other instances go on. */
  async close(): Promise<void> {
    this.#ending.abort()
    await this.#running
    // What the receivers answer by then is not sent again after the next start.
    await this.#save(await this.#stopAll(CLOSE_TIMEOUT)).catch(() => {})
    this.#parts.tail.wake()
    // A lease that a store out of reach keeps ends by itself.
    if (this.#running !== undefined) await this.#options.webhooks.release(this.#holder).catch(() => {})
  }

  changed(): void {
    this.#leasedAt = Number.NEGATIVE_INFINITY
    this.#refreshedAt = Number.NEGATIVE_INFINITY
  }

  faultOf(url: URL): string | undefined {
    return this.#parts.policy.faultOf(url)
  }

  async test({ id, url, keys }: Webhook, signal: AbortSignal): Promise<WebhookResult> {
    if (this.#tests.has(id)) throw new AppError(42901, 'a test of this webhook is under way; wait for its result')
    // A request beside the share, as tests never wait: there are at most MAX_WEBHOOKS of them.
    this.#tests.add(id)
    const receiver = new Receiver(url, this.#parts)
    try {
      const body = eventJson(TEST, Date.now(), JSON.stringify({ webhook: id }))
      const message = { id: makeWebhookId(), type: TEST, body }
      const ending = AbortSignal.any([signal, this.#ending.signal])
      const { status, failure, durationMs, answer } = await receiver.send(message, keys, ending)
      return { status, failure, durationMs, answer }
    } finally {
      receiver.close()
      this.#tests.delete(id)
    }
  }

  backlogs(): ReadonlyMap<string, WebhookBacklog> {
    return this.#backlogs
  }

  get requests(): Share {
    return this.#parts.requests
  }

  get webhooks(): readonly Webhook[] {
    return this.#stored.map(({ webhook }) => webhook)
  }

  /** Stores and looks in turn, so that a look never sees half of what is stored. */
  async #run(): Promise<void> {
    let isReachable = true
    let savedAllAt = performance.now()
    while (!this.#ending.signal.aborted) {
      const now = performance.now()
      const deliveries = [...this.#deliveries.values()]
      const isLate = now - savedAllAt >= IDLE_SAVE_INTERVAL
      if (isLate) savedAllAt = now
      const hasFailed = deliveries.some(({ failure }) => failure !== undefined)
      try {
        const isLost = await this.#save(deliveries.filter(({ hasAttempts }) => isLate || hasAttempts))
        // Of a webhook that a client changed, the attempts are stored, and the progress is not yet.
        if (isLost) savedAllAt = Number.NEGATIVE_INFINITY
        if (isLost || hasFailed || now - this.#refreshedAt >= LOOK_UP_INTERVAL) await this.#refresh()
        isReachable = true
      } catch (error) {
        if (isReachable && !this.#ending.signal.aborted) {
          this.#options.onNotice(`webhooks wait for the store: ${error instanceof Error ? error.message : error}`)
        }
        isReachable = false
      }
      // However much there is to store, a commit every SAVE_INTERVAL leaves the store to others.
      await this.#pause(isReachable ? SAVE_INTERVAL : LOOK_UP_INTERVAL)
    }
  }

  /** Returns whether another one has changed or taken a webhook meanwhile. */
  async #save(deliveries: readonly Delivery[]): Promise<boolean> {
    const saves = deliveries.flatMap((delivery): [Delivery, WebhookSave][] => {
      const { unsaved } = delivery
      return unsaved === undefined ? [] : [[delivery, unsaved]]
    })
    if (saves.length === 0) return false
    const all = saves.map(([, save]) => save)
    const lost = await this.#options.webhooks.save(this.#holder, all)
    for (const [delivery, save] of saves) delivery.saved(save, !lost.includes(save.id))
    return lost.length > 0
  }

  async #refresh(): Promise<void> {
    // Before the look, so that a change during it makes the next one come at once.
    this.#refreshedAt = performance.now()
    await this.#lease()
    this.#stored = await this.#options.webhooks.list()
    const ours: StoredWebhook[] = []
    for (const stored of this.#stored) if (this.#isOurs(stored) && (await this.#mayGoOn(stored))) ours.push(stored)
    const active = new Map(ours.map((stored) => [stored.webhook.id, stored]))
    for (const [id, delivery] of this.#deliveries) {
      const stored = active.get(id)
      if (stored !== undefined && delivery.update(stored)) continue
      this.#deliveries.delete(id)
      await delivery.stop()
      await this.#save([delivery])
    }
    for (const [id, stored] of active) {
      // The lease may have ended meanwhile.
      if (this.#deliveries.has(id) || !this.#isOurs(stored)) continue
      this.#deliveries.set(id, new Delivery(stored, this.#parts))
    }
    // Before those that have just begun have read the log, and ask for its end.
    const filter = unionOf(ours.map(({ webhook }) => filterIn(webhook)))
    if (isDeepStrictEqual(filter, this.#filter)) return
    this.#filter = filter
    this.#parts.tail.filter = filter
  }

  #isOurs({ webhook: { id, state } }: StoredWebhook): boolean {
    return state === 'active' && this.#leased.has(id)
  }

  async #lease(): Promise<void> {
    const now = performance.now()
    if (now - this.#leasedAt < LEASE_INTERVAL) return
    this.#leasedAt = now
    this.#leased = new Set(await this.#options.webhooks.lease(this.#holder))
    clearTimeout(this.#leaseEnd)
    // Others may go on from then, even while the store does not answer here.
    this.#leaseEnd = setTimeout(() => void this.#stopAll(), Math.max(0, LEASE_TIME - (performance.now() - now)))
  }

  async #stopAll(milliseconds?: number): Promise<readonly Delivery[]> {
    clearTimeout(this.#leaseEnd)
    this.#leased = new Set()
    this.#leasedAt = Number.NEGATIVE_INFINITY
    const deliveries = [...this.#deliveries.values()]
    this.#deliveries.clear()
    await Promise.all(deliveries.map((each) => each.stop(milliseconds)))
    return deliveries
  }

  /** Whether nothing speaks against a webhook. Otherwise stores that it is paused, or has failed. */
  async #mayGoOn(stored: StoredWebhook): Promise<boolean> {
    const { webhook, version } = stored
    const { id } = webhook
    const delivery = this.#deliveries.get(id)
    const reason = delivery?.failure ?? (this.#mayRead(stored) ? undefined : 'creator')
    if (reason === undefined) return true
    const state = reason === 'creator' ? 'paused' : 'failed'
    this.changed()
    // What came since the last commit, such as the answer 410: with the new version, it could not be stored.
    if (delivery !== undefined) await this.#save([delivery])
    if (await this.#options.webhooks.change(id, version, { ...webhook, state, reason, since: Date.now() })) {
      this.#options.onNotice(`the webhook ${id} is ${state}: ${SAID[reason]}`)
    }
    return false
  }

  #mayRead({ webhook: { creator, creatorExpiresAt }, token }: StoredWebhook): boolean {
    if (creator.id === CONFIGURED_TOKEN.id) return this.#options.config.token !== undefined
    if (creatorExpiresAt !== undefined) return Date.now() < creatorExpiresAt
    if (token === undefined || token.revokedAt !== undefined) return false
    const isValid = token.expiresAt === undefined || token.expiresAt.getTime() > Date.now()
    return isValid && WEBHOOK_SCOPES.every((scope) => token.scopes.includes(scope))
  }

  /** Reads the log for one webhook at a time: each read takes time from searches, and may hold a megabyte. */
  #read(request: ChangeRequest, signal: AbortSignal): Promise<ChangePage> {
    const read = this.#lastRead.then(() => this.#options.changes.read(request, signal))
    this.#lastRead = read.catch(() => {})
    return read
  }

  /** Counts what waits for each webhook. A webhook at the end of the log needs no read. */
  async #countAll(): Promise<void> {
    while (!this.#ending.signal.aborted) {
      const counted = new Map<string, WebhookBacklog>()
      for (const stored of this.#stored) {
        const backlog = await this.#count(stored).catch(() => undefined)
        if (backlog !== undefined) counted.set(stored.webhook.id, backlog)
      }
      this.#backlogs = counted
      await this.#pause(COUNT_INTERVAL)
    }
  }

  async #count({ webhook, progress }: StoredWebhook): Promise<WebhookBacklog> {
    const live = this.#deliveries.get(webhook.id)?.backlog
    if (live?.isAtEnd === true) return { pending: live.held, oldest: live.oldest }
    const { held, position } = progress
    const request = { ...filterIn(webhook), after: position, limit: MAX_PENDING - held.length }
    const { entries } = await this.#read(request, this.#ending.signal)
    await this.#pause(COUNT_PAUSE)
    return { pending: held.length + entries.length, oldest: held[0]?.time ?? entries[0]?.time }
  }

  #pause(milliseconds: number): Promise<void> {
    return sleep(milliseconds, undefined, { signal: this.#ending.signal }).catch(() => {})
  }
}

/** Lets one delivery begin in each turn of the event loop, and BUSY_RATE in a second while it is busy. */
function spacing(): (goOn: () => void) => void {
  let use = performance.eventLoopUtilization()
  let [isBusy, lookedAt, nextAt] = [false, 0, 0]
  return (goOn) => {
    const now = performance.now()
    if (now - lookedAt > BUSY_INTERVAL) {
      const before = use
      use = performance.eventLoopUtilization()
      isBusy = performance.eventLoopUtilization(use, before).utilization > BUSY
      lookedAt = now
    }
    nextAt = Math.max(now - BUSY_INTERVAL, Math.min(now, nextAt) + 1000 / BUSY_RATE)
    if (!isBusy) setImmediate(goOn)
    else if (nextAt > now) setTimeout(goOn, nextAt - now)
    // A timer is late by up to a turn, which further deliveries of the same turn make up for.
    else goOn()
  }
}

const TEST = 'webhook.test'

const SAID: Readonly<Record<WebhookReason, string>> = {
  person: 'somebody paused it',
  creator: 'its token was revoked, has expired or lacks a scope',
  gone: 'its receiver answered 410',
  'gave-up': 'nothing was delivered for too long',
  behind: 'its next event has left the log of changes',
}
