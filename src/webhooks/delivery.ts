import type { ChangeTail } from '../domain/change-tail.ts'
import { type ChangeEntry, type ChangeLog, isSelected } from '../domain/changes.ts'
import { AppError } from '../domain/errors.ts'
import {
  type HeldEvent,
  MAX_CONCURRENCY,
  MAX_HELD,
  type Webhook,
  type WebhookAttempt,
  type WebhookProgress,
  type WebhookReason,
} from '../domain/webhook.ts'
import type { StoredWebhook, WebhookSave } from '../domain/webhook-store.ts'
import { type Held, heldEvent, type Message, messageOf, plantIn, restored } from './held-event.ts'
import { type Outcome, Receiver, type ReceiverParts } from './receiver.ts'
import { isBusy, retryDelay } from './retries.ts'
import type { Share, Taker } from './share.ts'

/** UTF-16 units of names and tags in one page of events. */
const PAGE_TEXT = 2 ** 19
/** Events that are delivered, but not stored as such: a crash repeats them, and those under way. */
const MAX_UNSAVED = 64
const FIRST_WINDOW = 2
/** Milliseconds between two reads after a fault of the store. */
const PAUSE_AFTER_FAULT = 1000
/** The longest time of a timer of Node.js, in milliseconds. */
const MAX_TIMER = 2 ** 31 - 1

export interface DeliveryParts extends ReceiverParts {
  readonly changes: ChangeLog
  readonly tail: ChangeTail<readonly ChangeEntry[]>
  /** Requests at once, of all webhooks. */
  readonly requests: Share<Taker>
  /** Bytes of bodies that are held, of all webhooks. */
  readonly bodies: Share<Taker>
  /** Reads of the log at once, of all webhooks. */
  readonly reads: Share<Taker>
  /** Milliseconds without a delivery, since the first failure. */
  readonly giveUp: number
  /** Called when there is progress to store. */
  readonly onProgress: () => void
  readonly onOutcome: (outcome: Outcome) => void
  /** Called when the webhook can not go on. */
  readonly onFailed: (reason: WebhookReason) => void
}

/** Delivers the events of one active webhook, in the order of the log for each plant. */
export class Delivery implements Taker {
  readonly #parts: DeliveryParts
  #webhook: Webhook
  #version: number
  #receiver: Receiver
  readonly #held: Held[]
  #position: string
  #redelivery: WebhookProgress['redelivery']
  #failingSince: number | undefined
  #waitUntil: number
  /** Whether it starts no more attempts. */
  #isEnding = false
  readonly #underWay = new Set<Promise<void>>()
  /**
   * Requests that may be under way: one more after each answer, up to the concurrency of the webhook, and one after an
   * attempt without an answer. A receiver that hangs so holds few of the requests that all webhooks share.
   */
  #window = FIRST_WINDOW
  #attempts: WebhookAttempt[] = []
  #saved: string
  #isReading = false
  #isFollowing = false
  #timer: NodeJS.Timeout | undefined
  readonly #ending = new AbortController()

  constructor({ webhook, progress, version }: StoredWebhook, parts: DeliveryParts) {
    this.#parts = parts
    this.#webhook = webhook
    this.#version = version
    this.#receiver = new Receiver(webhook.url, parts)
    this.#position = progress.position
    this.#redelivery = progress.redelivery
    this.#failingSince = progress.failingSince
    this.#waitUntil = progress.waitUntil ?? 0
    this.#held = progress.held.map(restored)
    this.#saved = JSON.stringify(progress)
    this.retry()
  }

  /** Goes on with a changed definition. Returns false when the caller has to begin anew with the stored progress. */
  update({ webhook, progress, version }: StoredWebhook): boolean {
    if (version === this.#version) return true
    const { types, tags, url, body } = this.#webhook
    const isSameFilter = types.join() === webhook.types.join() && tags.join('\n') === webhook.tags.join('\n')
    if (!isSameFilter || JSON.stringify(progress) !== this.#saved) return false
    if (url !== webhook.url) {
      this.#receiver = new Receiver(webhook.url, this.#parts)
    }
    if (body !== webhook.body) for (const event of this.#held) if (!event.isUnderWay) this.#drop(event)
    this.#webhook = webhook
    this.#version = version
    this.retry()
    return true
  }

  /** Starts no more attempts, and resolves after those under way. */
  async finish(): Promise<void> {
    this.#isEnding = true
    await Promise.all(this.#underWay)
  }

  /** Ends the attempts under way, and resolves when `unsaved` has them as failed. */
  async stop(): Promise<void> {
    this.#ending.abort(new Error('it was stopped before an answer came'))
    clearTimeout(this.#timer)
    await Promise.all(this.#underWay)
    for (const event of this.#held) this.#drop(event)
  }

  /** What is to be stored; undefined for nothing new. */
  get unsaved(): WebhookSave | undefined {
    const progress = this.#progress
    if (this.#attempts.length === 0 && JSON.stringify(progress) === this.#saved) return undefined
    return { id: this.#webhook.id, version: this.#version, progress, attempts: [...this.#attempts] }
  }

  /** Call it after the commit of `unsaved`. */
  saved({ progress, attempts }: WebhookSave): void {
    this.#saved = JSON.stringify(progress)
    this.#attempts.splice(0, attempts.length)
    this.retry()
  }

  /** Events that were read and not delivered; the first of them; and whether all others are in the log still. */
  get backlog(): { readonly held: number; readonly oldest: number | undefined; readonly isAtEnd: boolean } {
    return { held: this.#held.length, oldest: this.#held[0]?.time, isAtEnd: this.#isFollowing }
  }

  get #progress(): WebhookProgress {
    const held = this.#held.map(({ after, plant, time, attempts, due }): HeldEvent => {
      return { after, plant, time, attempts, due }
    })
    const waitUntil = this.#waitUntil === 0 ? undefined : this.#waitUntil
    return { position: this.#position, held, redelivery: this.#redelivery, failingSince: this.#failingSince, waitUntil }
  }

  get #isOver(): boolean {
    return this.#ending.signal.aborted
  }

  /** Starts every attempt that may start now, reads further events, and comes back when the next attempt is due. */
  retry(): void {
    if (this.#isOver || this.#isEnding) return
    const now = Date.now()
    const window = Math.min(this.#window, this.#webhook.concurrency)
    const plants = new Set<string>()
    let next = this.#waitUntil > now ? this.#waitUntil : Number.POSITIVE_INFINITY
    for (const event of this.#waitUntil > now ? [] : this.#held) {
      if (this.#underWay.size >= window || this.#attempts.length >= MAX_UNSAVED) break
      // Of each plant, only the first event may be under way.
      if (plants.has(event.plant)) continue
      plants.add(event.plant)
      if (event.isUnderWay) continue
      if (event.due > now) next = Math.min(next, event.due)
      else if (this.#start(event)) this.#attempt(event)
      else break
    }
    clearTimeout(this.#timer)
    this.#timer = next === Number.POSITIVE_INFINITY ? undefined : this.#after(next - now)
    this.#fill()
  }

  #after(milliseconds: number): NodeJS.Timeout {
    return setTimeout(() => this.retry(), Math.min(milliseconds, MAX_TIMER))
  }

  /** Takes what an attempt needs. Returns false, and `retry` is called later, when others have it. */
  #start(event: Held): boolean {
    const { requests } = this.#parts
    if (!requests.take(this, 1)) return false
    if (event.message !== undefined || this.#take(event)) return true
    requests.give(this, 1)
    return false
  }

  #take(event: Held): boolean {
    if (event.taken === event.size) return true
    if (!this.#parts.bodies.take(this, event.size - event.taken)) return false
    event.taken = event.size
    return true
  }

  /** Gives the memory of an event back. */
  #drop(event: Held): void {
    event.message = undefined
    if (event.taken > 0) this.#parts.bodies.give(this, event.taken)
    event.taken = 0
  }

  #attempt(event: Held): void {
    event.isUnderWay = true
    const sending = this.#send(event)
      .catch((error: unknown) => {
        this.#drop(event)
        event.due = Date.now() + PAUSE_AFTER_FAULT
        this.#logFailed(error)
      })
      .finally(() => {
        event.isUnderWay = false
        this.#underWay.delete(sending)
        this.#parts.requests.give(this, 1)
        this.retry()
      })
    this.#underWay.add(sending)
  }

  async #send(event: Held): Promise<void> {
    const message = event.message ?? (await this.#readAgain(event))
    if (this.#isOver) return this.#drop(event)
    if (message === undefined) return this.#remove(event)
    // The first read after a restart finds the size.
    if (!this.#take(event)) return
    event.message = message
    const outcome = await this.#receiver.send({ ...message, keys: this.#webhook.keys }, this.#ending.signal)
    this.#drop(event)
    const { status, failure, durationMs, answer } = outcome
    // Nobody stores the progress of a webhook that has stopped.
    const next = this.#isOver ? undefined : this.#settle(event, outcome)
    const nextAttempt = next === undefined ? undefined : new Date(next).toISOString()
    const time = new Date(outcome.time).toISOString()
    this.#attempts.push({
      event: message.id,
      type: message.type,
      time,
      durationMs,
      status,
      failure,
      answer,
      nextAttempt,
    })
    if (this.#isOver) return
    this.#parts.onOutcome(outcome)
    this.#window = status === undefined ? 1 : Math.min(this.#window + 1, MAX_CONCURRENCY)
    this.#parts.onProgress()
    if (status === 410) this.#fail('gone')
    else if (Date.now() - (this.#failingSince ?? Number.POSITIVE_INFINITY) >= this.#parts.giveUp) this.#fail('gave-up')
  }

  /** Returns when the next attempt for the event is due; undefined for none. */
  #settle(event: Held, { failure, status, retryAfter, time }: Outcome): number | undefined {
    if (failure === undefined) {
      this.#remove(event)
      this.#failingSince = undefined
      // The receiver is back: what it refused before need not wait for hours.
      if (event.attempts > 0) for (const each of this.#held) each.due = 0
      return undefined
    }
    event.attempts++
    event.due = Date.now() + (retryAfter ?? retryDelay(event.attempts))
    this.#failingSince ??= time
    if (isBusy(status, retryAfter)) this.#waitUntil = Math.max(this.#waitUntil, event.due)
    return status === 410 ? undefined : event.due
  }

  #remove(event: Held): void {
    this.#drop(event)
    this.#held.splice(this.#held.indexOf(event), 1)
  }

  /**
   * Reads an event that has left the memory. Returns undefined where the log has no such event for the webhook.
   *
   * @throws AppError as ChangeLog.read does
   */
  async #readAgain(event: Held): Promise<Message | undefined> {
    const { types, tags, body } = this.#webhook
    for (let after = event.after; ; ) {
      const page = await this.#parts.changes.read({ after, limit: 1, types, tags }, this.#ending.signal)
      const [entry] = page.entries
      if (entry === undefined && page.isEnd) return undefined
      after = page.next
      if (entry === undefined) continue
      if (plantIn(entry) !== event.plant) return undefined
      const message = messageOf(entry, body)
      event.size = Buffer.byteLength(message.body)
      return message
    }
  }

  #logFailed(error: unknown): void {
    if (error instanceof AppError && error.number === 41001) this.#fail('behind')
  }

  #fail(reason: WebhookReason): void {
    if (this.#isOver) return
    this.#isEnding = true
    this.#parts.onFailed(reason)
  }

  /** Reads further events, as far as there is room for them. */
  #fill(): void {
    const room = MAX_HELD - (this.#held.length - this.#underWay.size)
    if (this.#isReading || this.#isFollowing || room <= 0) return
    if (room < MAX_HELD / 2 && this.#underWay.size > 0) return
    if (!this.#parts.reads.take(this, 1)) return
    this.#isReading = true
    void this.#read(room)
      .catch((error: unknown) => {
        this.#logFailed(error)
        clearTimeout(this.#timer)
        if (!this.#isOver) this.#timer = this.#after(PAUSE_AFTER_FAULT)
        return false
      })
      .then((isRead) => {
        this.#isReading = false
        this.#parts.reads.give(this, 1)
        if (isRead) this.retry()
      })
  }

  async #read(limit: number): Promise<boolean> {
    const { types, tags } = this.#webhook
    const request = { after: this.#position, limit, text: PAGE_TEXT, types, tags }
    const { entries, next, isEnd } = await this.#parts.changes.read(request, this.#ending.signal)
    if (this.#isOver) return false
    const redelivery = this.#redelivery
    if (redelivery !== undefined) {
      this.#hold(entries.filter(({ position }) => position <= redelivery.until))
      this.#position = next
      if (next < redelivery.until && !isEnd) return true
      this.#position = redelivery.resume
      this.#redelivery = undefined
      return true
    }
    this.#hold(entries)
    this.#position = next
    if (!isEnd) return true
    void this.#follow()
    return true
  }

  /** Takes new entries from the read that all webhooks share, until there is no room for them. */
  async #follow(): Promise<void> {
    this.#isFollowing = true
    while (this.#isFollowing) {
      // A fault of the store shows at the own read that follows.
      const page = await this.#parts.tail.pageAfter(this.#position, this.#ending.signal).catch(() => undefined)
      if (this.#isOver) return
      if (page === undefined) this.#isFollowing = false
      else if (!this.#takeEntries(page.content, page.next)) continue
      this.retry()
    }
  }

  /** Returns whether there is something to do. */
  #takeEntries(entries: readonly ChangeEntry[], next: string): boolean {
    const fresh = entries.filter((entry) => entry.position > this.#position && isSelected(this.#webhook, entry))
    const room = MAX_HELD - (this.#held.length - this.#underWay.size)
    if (fresh.length > room) {
      this.#isFollowing = false
    } else {
      this.#hold(fresh)
      if (next > this.#position) this.#position = next
    }
    return fresh.length > 0
  }

  #hold(entries: readonly ChangeEntry[]): void {
    let after = this.#position
    for (const entry of entries) {
      const message = messageOf(entry, this.#webhook.body)
      const event = heldEvent(entry, after)
      event.size = Buffer.byteLength(message.body)
      if (this.#take(event)) event.message = message
      this.#held.push(event)
      after = entry.position
    }
  }
}
