import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { ChangeTail } from '../domain/change-tail.ts'
import { ALL_CHANGES, type ChangeFilter, type ChangeLog, unionOf } from '../domain/changes.ts'
import { AppError } from '../domain/errors.ts'
import { CONFIGURED_TOKEN } from '../domain/token.ts'
import {
  eventJson,
  MAX_PENDING,
  makeWebhookId,
  WEBHOOK_SCOPES,
  type Webhook,
  type WebhookBacklog,
  type WebhookDelivery,
  type WebhookOutcome,
  type WebhookReason,
  type WebhookResult,
} from '../domain/webhook.ts'
import { LEASE_TIME, type StoredWebhook, type WebhookSave, type WebhookStore } from '../domain/webhook-store.ts'
import type { WebhookAllow } from '../settings/webhooks.ts'
import { AddressPolicy, NotAllowed } from './address-policy.ts'
import { Delivery, type DeliveryParts } from './delivery.ts'
import { Receiver } from './receiver.ts'
import { type Resolve, resolverOf } from './resolver.ts'
import { Share, type Taker } from './share.ts'

/** Milliseconds between two looks at the webhooks and at the tokens of their creators. */
const REFRESH_INTERVAL = 400
const LEASE_INTERVAL = 3000
/** Milliseconds between two commits of progress, during which creates wait. */
const SAVE_INTERVAL = 40
/** Milliseconds after which the position of a webhook that nothing was for is stored, too. */
const IDLE_SAVE_INTERVAL = 10_000
/** Milliseconds that attempts under way may take once the service stops. */
const CLOSE_TIMEOUT = 2000
/** Milliseconds between two counts of what waits. */
const COUNT_INTERVAL = 15_000
/** Milliseconds after each of them that reads the log, because a read of many events delays deliveries. */
const COUNT_PAUSE = 100
/** Requests at once, of all webhooks. */
const MAX_REQUESTS = 256
/** Requests that begin in one turn of the event loop. Turns are short and many while clients ask for little. */
const STARTS_IN_TURN = 1
/** Bytes of bodies in memory, of all webhooks. */
const MAX_BODIES = 8 * 2 ** 20
/** Of them, those that each webhook always finds: more than most plants take. 6.4 MiB remain for the largest plant. */
const FIRST_BODY = 16 * 2 ** 10
/** Reads of the log at once, of all webhooks. */
const MAX_READS = 4

export interface DelivererOptions {
  readonly changes: ChangeLog
  readonly webhooks: WebhookStore
  readonly allow: WebhookAllow
  /** Milliseconds. */
  readonly giveUp: number
  readonly hasConfiguredToken: boolean
  /** The version of the program. */
  readonly version: string
  /** Called with a message for the operator. */
  readonly onNotice: (text: string) => void
  readonly resolve?: Resolve
}

/** Delivers the events of all webhooks whose lease it has. */
export class Deliverer implements WebhookDelivery {
  readonly #options: DelivererOptions
  readonly #parts: Omit<DeliveryParts, 'onProgress' | 'onFailed'>
  readonly #holder = randomUUID()
  readonly #deliveries = new Map<string, Delivery>()
  /** Those with progress to store at once. */
  readonly #dirty = new Set<Delivery>()
  readonly #failed = new Map<string, WebhookReason>()
  readonly #tests = new Set<string>()
  readonly #outcomes = { delivered: 0, refused: 0, unanswered: 0 }
  readonly #ending = new AbortController()
  #stored: readonly StoredWebhook[] = []
  #backlogs = new Map<string, WebhookBacklog>()
  #leased: ReadonlySet<string> = new Set()
  #leasedAt = Number.NEGATIVE_INFINITY
  #leaseEnd: NodeJS.Timeout | undefined
  #wake = new AbortController()
  #isChanged = false
  #running: Promise<unknown> | undefined
  #isReachable = true
  /** What the read of the log that all webhooks share has to find. */
  #filter: ChangeFilter = ALL_CHANGES

  constructor(options: DelivererOptions) {
    this.#options = options
    this.#parts = {
      policy: new AddressPolicy(options.allow),
      resolve: options.resolve ?? resolverOf(),
      agent: `Plantstore/${options.version}`,
      changes: options.changes,
      tail: new ChangeTail(options.changes, (entries) => entries, this.#ending.signal, {
        filterNow: () => this.#filter,
      }),
      requests: new Share<Taker>(MAX_REQUESTS, 1, STARTS_IN_TURN),
      bodies: new Share<Taker>(MAX_BODIES, FIRST_BODY),
      reads: new Share<Taker>(MAX_READS),
      giveUp: options.giveUp,
      onOutcome: ({ status, failure }) => this.#outcomes[outcomeOf(status, failure)]++,
    }
  }

  start(): void {
    this.#running ??= Promise.all([this.#run(), this.#countAll()])
  }

  /** Stores what was delivered, and lets other instances go on. */
  async close(): Promise<void> {
    this.#ending.abort()
    this.#wake.abort()
    await this.#running
    const deliveries = [...this.#deliveries.values()]
    // What the receivers answer by then is not sent again after the next start.
    const timer = new AbortController()
    const time = sleep(CLOSE_TIMEOUT, undefined, { signal: timer.signal }).catch(() => {})
    await Promise.race([Promise.all(deliveries.map((each) => each.finish())), time])
    timer.abort()
    await this.#stopAll()
    await this.#save(deliveries).catch(() => {})
    // A lease that a store out of reach keeps ends by itself.
    if (this.#running !== undefined) await this.#options.webhooks.release(this.#holder).catch(() => {})
  }

  changed(): void {
    this.#isChanged = true
    this.#wake.abort()
  }

  checkUrl(url: URL): void {
    try {
      this.#parts.policy.checkUrl(url)
    } catch (error) {
      if (error instanceof NotAllowed) throw new AppError(40002, `url ${error.message}`)
      throw error
    }
  }

  async test({ id, url, keys }: Webhook): Promise<WebhookResult> {
    if (this.#tests.has(id)) throw new AppError(42901, 'a test of this webhook is under way; wait for its result')
    const { requests } = this.#parts
    if (!requests.takeNow(TESTER, 1)) {
      throw new AppError(50302, 'too many requests of webhooks are under way; test this one later')
    }
    this.#tests.add(id)
    const receiver = new Receiver(url, this.#parts)
    try {
      const body = eventJson(TEST, Date.now(), JSON.stringify({ webhook: id }))
      const message = { id: makeWebhookId(), type: TEST, body, keys }
      const { status, failure, durationMs, answer } = await receiver.send(message, this.#ending.signal)
      return { status, failure, durationMs, answer }
    } finally {
      requests.give(TESTER, 1)
      this.#tests.delete(id)
    }
  }

  backlogs(): ReadonlyMap<string, WebhookBacklog> {
    return this.#backlogs
  }

  get bounds(): WebhookDelivery['bounds'] {
    return { requests: () => this.#parts.requests.bound, bodies: () => this.#parts.bodies.bound }
  }

  get outcomes(): Readonly<Record<WebhookOutcome, number>> {
    return this.#outcomes
  }

  get webhooks(): readonly Webhook[] {
    return this.#stored.map(({ webhook }) => webhook)
  }

  /** Stores and looks in turn, so that a look never sees half of what is stored. */
  async #run(): Promise<void> {
    let refreshedAt = Number.NEGATIVE_INFINITY
    let savedAllAt = performance.now()
    while (!this.#ending.signal.aborted) {
      const now = performance.now()
      const isLate = now - savedAllAt >= IDLE_SAVE_INTERVAL
      if (isLate) savedAllAt = now
      try {
        const isLost = await this.#save(isLate ? this.#deliveries.values() : this.#dirty)
        if (isLost || this.#isChanged || this.#failed.size > 0 || now - refreshedAt >= REFRESH_INTERVAL) {
          await this.#refresh()
          refreshedAt = performance.now()
        }
        this.#isReachable = true
      } catch (error) {
        if (this.#isReachable && !this.#ending.signal.aborted) {
          this.#options.onNotice(`webhooks wait for the store: ${error instanceof Error ? error.message : error}`)
        }
        this.#isReachable = false
      }
      // However much there is to store, a commit every SAVE_INTERVAL leaves the store to others.
      await sleep(this.#isReachable ? SAVE_INTERVAL : REFRESH_INTERVAL)
      if (this.#dirty.size === 0 && !this.#isChanged) await this.#idle()
    }
  }

  /** Waits until there is something to store or to look at. */
  async #idle(): Promise<void> {
    if (this.#ending.signal.aborted) return
    this.#wake = new AbortController()
    await sleep(REFRESH_INTERVAL, undefined, { signal: this.#wake.signal }).catch(() => {})
  }

  /** Returns whether another one has changed or taken a webhook meanwhile. */
  async #save(wanted: Iterable<Delivery>): Promise<boolean> {
    const saves: [Delivery, WebhookSave][] = []
    for (const delivery of wanted) {
      const { unsaved } = delivery
      if (unsaved !== undefined) saves.push([delivery, unsaved])
      this.#dirty.delete(delivery)
    }
    if (saves.length === 0) return false
    try {
      const lost = await this.#options.webhooks.save(
        this.#holder,
        saves.map(([, save]) => save),
      )
      for (const [delivery, save] of saves) if (!lost.includes(save.id)) delivery.saved(save)
      return lost.length > 0
    } catch (error) {
      for (const [delivery] of saves) this.#dirty.add(delivery)
      throw error
    }
  }

  async #refresh(): Promise<void> {
    await this.#lease(this.#isChanged)
    this.#isChanged = false
    this.#stored = await this.#options.webhooks.list()
    const ours: StoredWebhook[] = []
    for (const stored of this.#stored) if (this.#isOurs(stored) && (await this.#mayGoOn(stored))) ours.push(stored)
    const active = new Map(ours.map((stored) => [stored.webhook.id, stored]))
    for (const [id, delivery] of this.#deliveries) {
      const stored = active.get(id)
      if (stored !== undefined && delivery.update(stored)) continue
      await this.#stop(id, delivery)
      await this.#save([delivery])
    }
    for (const [id, stored] of active) {
      // The lease may have ended meanwhile.
      if (!this.#deliveries.has(id) && this.#isOurs(stored)) this.#begin(id, stored)
    }
    // Before those that have just begun have read the log, and ask for its end.
    const filter = unionOf(ours.map(({ webhook }) => webhook))
    if (!isDeepStrictEqual(filter, this.#filter)) this.#filter = filter
  }

  #isOurs({ webhook: { id, state } }: StoredWebhook): boolean {
    return state === 'active' && this.#leased.has(id)
  }

  async #lease(isUrgent: boolean): Promise<void> {
    const now = performance.now()
    if (!isUrgent && now - this.#leasedAt < LEASE_INTERVAL) return
    this.#leasedAt = now
    this.#leased = new Set(await this.#options.webhooks.lease(this.#holder))
    clearTimeout(this.#leaseEnd)
    // Others may go on from then, even while the store does not answer here.
    this.#leaseEnd = setTimeout(() => void this.#stopAll(), LEASE_TIME - (performance.now() - now))
  }

  /** Whether nothing speaks against a webhook. Otherwise stores that it is paused, or has failed. */
  async #mayGoOn(stored: StoredWebhook): Promise<boolean> {
    const { webhook, version } = stored
    const { id } = webhook
    const reason = this.#failed.get(id) ?? (this.#mayRead(stored) ? undefined : 'creator')
    if (reason === undefined) return true
    const state = reason === 'creator' ? 'paused' : 'failed'
    this.#isChanged = true
    const delivery = this.#deliveries.get(id)
    // What came since the last commit, such as the answer 410: with the new version, it could not be stored.
    if (delivery !== undefined) await this.#save([delivery])
    if (await this.#options.webhooks.change(id, version, { ...webhook, state, reason, since: Date.now() })) {
      this.#failed.delete(id)
      this.#options.onNotice(`the webhook ${id} is ${state}: ${SAID[reason]}`)
    }
    return false
  }

  #mayRead({ webhook: { creator, creatorExpiresAt }, token }: StoredWebhook): boolean {
    if (creator.id === CONFIGURED_TOKEN.id) return this.#options.hasConfiguredToken
    if (creatorExpiresAt !== undefined) return Date.now() < creatorExpiresAt
    if (token === undefined || token.revokedAt !== undefined) return false
    const isValid = token.expiresAt === undefined || token.expiresAt.getTime() > Date.now()
    return isValid && WEBHOOK_SCOPES.every((scope) => token.scopes.includes(scope))
  }

  #begin(id: string, stored: StoredWebhook): void {
    const delivery: Delivery = new Delivery(stored, {
      ...this.#parts,
      onProgress: () => {
        if (this.#dirty.size === 0) this.#wake.abort()
        this.#dirty.add(delivery)
      },
      onFailed: (reason) => {
        this.#failed.set(id, reason)
        this.#wake.abort()
      },
    })
    this.#deliveries.set(id, delivery)
  }

  async #stop(id: string, delivery: Delivery): Promise<void> {
    this.#dirty.delete(delivery)
    this.#deliveries.delete(id)
    this.#failed.delete(id)
    await delivery.stop()
  }

  async #stopAll(): Promise<void> {
    clearTimeout(this.#leaseEnd)
    this.#leased = new Set()
    this.#leasedAt = Number.NEGATIVE_INFINITY
    await Promise.all([...this.#deliveries].map(([id, delivery]) => this.#stop(id, delivery)))
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
    const { types, tags } = webhook
    const request = { after: position, limit: MAX_PENDING - held.length, types, tags }
    const { entries } = await this.#options.changes.read(request, this.#ending.signal)
    await this.#pause(COUNT_PAUSE)
    return { pending: held.length + entries.length, oldest: held[0]?.time ?? entries[0]?.time }
  }

  #pause(milliseconds: number): Promise<void> {
    return sleep(milliseconds, undefined, { signal: this.#ending.signal }).catch(() => {})
  }
}

const TEST = 'webhook.test'
/** Takes the requests of all tests, which never wait. */
const TESTER: Taker = { retry: () => {} }

function outcomeOf(status: number | undefined, failure: string | undefined): WebhookOutcome {
  if (failure === undefined) return 'delivered'
  return status === undefined ? 'unanswered' : 'refused'
}

const SAID: Readonly<Record<WebhookReason, string>> = {
  person: 'somebody paused it',
  creator: 'its token was revoked, has expired or lacks a scope',
  gone: 'its receiver answered 410',
  'gave-up': 'nothing was delivered for too long',
  behind: 'its next event has left the log of changes',
}
