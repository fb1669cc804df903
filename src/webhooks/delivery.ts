import { randomInt } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import type { ChangeTail } from '../domain/change-tail.ts'
import {
  type ChangeEntry,
  type ChangeFilter,
  type ChangePage,
  type ChangeRequest,
  selected,
} from '../domain/changes.ts'
import { AppError } from '../domain/errors.ts'
import {
  eventBody,
  type HeldEvent,
  MAX_CONCURRENCY,
  MAX_HELD,
  type Webhook,
  type WebhookAttempt,
  type WebhookBody,
  type WebhookOutcome,
  type WebhookProgress,
  type WebhookReason,
} from '../domain/webhook.ts'
import type { StoredWebhook, WebhookSave } from '../domain/webhook-store.ts'
import { type AttemptResult, type Message, Receiver, type ReceiverParts } from './receiver.ts'
import type { Share, Taker } from './share.ts'

/** Events that are delivered, but not stored as such: a crash repeats them, and those under way. */
const MAX_UNSAVED = 64
const FIRST_WINDOW = 2
/** Milliseconds between two reads after a fault of the store. */
const PAUSE_AFTER_FAULT = 1000
/** The longest time of a timer of Node.js, in milliseconds. */
const MAX_TIMER = 2 ** 31 - 1
/** Seconds between two attempts for one event; the last one is that of all further attempts. */
const DELAYS = [5, 30, 300, 1800, ...[2, 5, 10, 14, 20, 24].map((hours) => hours * 3600)]
/** Milliseconds of a second of them: chance changes each by up to a fifth, so that not all events come back at once. */
const [SHORTEST, LONGEST] = [800, 1200]
/** Statuses of a receiver that is too busy, or away: all events wait, and not only the one that got them. */
const BUSY: readonly (number | undefined)[] = [429, 502, 503, 504]

export interface DeliveryParts extends ReceiverParts {
  readonly tail: ChangeTail<readonly ChangeEntry[]>
  /** Reads the log for one webhook. */
  readonly read: (request: ChangeRequest, signal: AbortSignal) => Promise<ChangePage>
  /** Requests at once, of all webhooks. */
  readonly requests: Share
  /** Milliseconds without a delivery, since the first failure. */
  readonly giveUp: number
  readonly outcomes: Record<WebhookOutcome, number>
}

/** How far the deliveries are, apart from the events that are held. */
type Place = { -readonly [Part in keyof Omit<WebhookProgress, 'held'>]: WebhookProgress[Part] }

/** An event in memory. */
interface Held extends Omit<HeldEvent, 'attempts' | 'due'> {
  attempts: number
  due: number
  isUnderWay: boolean
  /** Undefined while the event is only in the log. */
  message: (Message & Pick<ChangeEntry, 'type'>) | undefined
}

/** Delivers the events of one active webhook, in the order of the log for each plant. */
export class Delivery implements Taker {
  /** Why the webhook cannot go on; undefined while it can. */
  failure: WebhookReason | undefined
  readonly #parts: DeliveryParts
  #webhook: Webhook
  #version: number
  readonly #receiver: Receiver
  readonly #held: Held[]
  readonly #place: Place
  /** What its clock is ahead of that of the process. */
  readonly #ahead: number
  readonly #underWay = new Set<Promise<void>>()
  /**
   * Requests that may be under way: one more after each answer, up to the concurrency of the webhook, and one after an
   * attempt without an answer. A receiver that hangs so holds few of the requests that all webhooks share.
   */
  #window = FIRST_WINDOW
  #attempts: WebhookAttempt[] = []
  #saved: string
  #isReading = false
  /** Whether it follows the end of the log, where all webhooks share the reads. */
  #isFollowing = false
  #timer: NodeJS.Timeout | undefined
  /** Whether it starts no more attempts. */
  #isEnding = false
  readonly #ending = new AbortController()

  constructor({ webhook, progress, version }: StoredWebhook, parts: DeliveryParts) {
    this.#parts = parts
    this.#webhook = webhook
    this.#version = version
    this.#receiver = new Receiver(webhook.url, parts)
    const { held, ...place } = progress
    this.#place = place
    // Where the wall clock was set back since, a wait is as long as it was then.
    this.#ahead = Math.max(Date.now(), progress.storedAt ?? 0) - performance.now()
    this.#held = held.map((event) => ({ ...event, ...UNREAD }))
    this.#saved = JSON.stringify(progress)
    this.retry()
  }

  /** Goes on with a changed definition. Returns false when the caller has to begin anew with the stored progress. */
  update({ webhook, progress, version }: StoredWebhook): boolean {
    if (version === this.#version) return true
    const contentOf = (one: Webhook) => [filterIn(one), one.url, one.body]
    const isSame = isDeepStrictEqual(contentOf(webhook), contentOf(this.#webhook))
    if (!isSame || JSON.stringify(progress) !== this.#saved) return false
    this.#webhook = webhook
    this.#version = version
    this.retry()
    return true
  }

  /** Starts no more attempts, ends those under way after some milliseconds, and resolves when `unsaved` has all of them. */
  async stop(milliseconds = 0): Promise<void> {
    this.#isEnding = true
    clearTimeout(this.#timer)
    const end = () => this.#ending.abort(new Error('it was stopped before an answer came'))
    if (milliseconds === 0) end()
    const timer = setTimeout(end, milliseconds)
    await Promise.all(this.#underWay)
    clearTimeout(timer)
    end()
    this.#receiver.close()
  }

  get hasAttempts(): boolean {
    return this.#attempts.length > 0
  }

  /** What is to be stored; undefined for nothing new. */
  get unsaved(): WebhookSave | undefined {
    const [id, version, before] = [this.#webhook.id, this.#version, this.#progress]
    if (!this.hasAttempts && JSON.stringify(before) === this.#saved) return undefined
    return { id, version, progress: { ...before, storedAt: this.#now }, attempts: [...this.#attempts] }
  }

  /** Call it after the commit of `unsaved`. @param isWhole whether it has the progress, and not the attempts alone */
  saved({ progress, attempts }: WebhookSave, isWhole: boolean): void {
    this.#attempts.splice(0, attempts.length)
    if (!isWhole) return
    this.#saved = JSON.stringify(progress)
    this.#place.storedAt = progress.storedAt
    this.retry()
  }

  /** Events that were read and not delivered; the first of them; and whether all others are in the log still. */
  get backlog(): { readonly held: number; readonly oldest: number | undefined; readonly isAtEnd: boolean } {
    return { held: this.#held.length, oldest: this.#held[0]?.time, isAtEnd: this.#isFollowing && this.#isReading }
  }

  get #progress(): WebhookProgress {
    const held = this.#held.map(({ after, plant, time, attempts, due }) => ({ after, plant, time, attempts, due }))
    const { position, ...rest } = this.#place
    return { position, held, ...rest }
  }

  /** Milliseconds since 1970, by a clock that began with the wall clock and takes no step of it. */
  get #now(): number {
    return Math.round(this.#ahead + performance.now())
  }

  /** Starts every attempt that may start now, reads further events, and comes back when the next attempt is due. */
  retry(): void {
    if (this.#isEnding) return
    const now = this.#now
    const window = Math.min(this.#window, this.#webhook.concurrency)
    const plants = new Set<string>()
    const { waitUntil = 0 } = this.#place
    let next = waitUntil > now ? waitUntil : Number.POSITIVE_INFINITY
    for (const event of waitUntil > now ? [] : this.#held) {
      if (this.#underWay.size >= window || this.#attempts.length >= MAX_UNSAVED) break
      // Of each plant, only the first event may be under way.
      if (plants.has(event.plant)) continue
      plants.add(event.plant)
      if (event.isUnderWay) continue
      if (event.due > now) next = Math.min(next, event.due)
      else if (!this.#start(event)) break
    }
    this.#retryAfter(next - now)
    this.#readOn()
  }

  #retryAfter(milliseconds: number): void {
    clearTimeout(this.#timer)
    if (milliseconds === Number.POSITIVE_INFINITY) return
    this.#timer = setTimeout(() => this.retry(), Math.min(milliseconds, MAX_TIMER))
  }

  /** Starts an attempt. Returns false, and `retry` is called later, when others have what it needs. */
  #start(event: Held): boolean {
    const { requests } = this.#parts
    if (!requests.take(this)) return false
    event.isUnderWay = true
    const sending = this.#attempt(event)
      .catch((error: unknown) => {
        event.due = this.#now + PAUSE_AFTER_FAULT
        this.#failed(error)
      })
      .finally(() => {
        event.isUnderWay = false
        this.#underWay.delete(sending)
        requests.give(this)
        this.retry()
      })
    this.#underWay.add(sending)
    return true
  }

  async #attempt(event: Held): Promise<void> {
    const { signal } = this.#ending
    const message = event.message ?? (await this.#readAgain(event))
    if (signal.aborted) return
    if (message === undefined) return this.#remove(event)
    event.message = message
    const outcome = await this.#receiver.send(message, this.#webhook.keys, signal)
    // An event that waits for a retry takes no memory for its body.
    event.message = undefined
    // Nobody stores the progress of a webhook that has stopped.
    const next = signal.aborted ? undefined : this.#settle(event, outcome)
    const nextAttempt = next === undefined ? undefined : new Date(Date.now() + next - this.#now).toISOString()
    const { time, retryAfter: _, ...result } = outcome
    const { id, type } = message
    this.#attempts.push({ event: id, type, time: new Date(time).toISOString(), ...result, nextAttempt })
  }

  /** Returns when the next attempt for the event is due; undefined for none. */
  #settle(event: Held, { status, failure, durationMs, retryAfter }: AttemptResult): number | undefined {
    this.#parts.outcomes[failure === undefined ? 'delivered' : status === undefined ? 'unanswered' : 'refused']++
    this.#window = status === undefined ? 1 : Math.min(this.#window + 1, MAX_CONCURRENCY)
    if (failure === undefined) {
      this.#remove(event)
      this.#place.failingSince = undefined
      // The receiver is back: what it refused before need not wait for hours.
      if (event.attempts > 0) for (const each of this.#held) each.due = 0
      return undefined
    }
    event.attempts++
    const now = this.#now
    const { giveUp } = this.#parts
    this.#place.failingSince ??= now - durationMs
    const left = this.#place.failingSince + giveUp - now
    const delay = retryAfter ?? retryDelay(event.attempts)
    // The last attempt comes when the time to give up is over.
    event.due = now + (left > 0 ? Math.min(delay, left) : delay)
    if (retryAfter !== undefined || BUSY.includes(status)) {
      this.#place.waitUntil = Math.max(this.#place.waitUntil ?? 0, event.due)
    }
    if (status === 410) this.#fail('gone')
    else if (left <= 0 && event.attempts >= attemptsWithin(giveUp)) this.#fail('gave-up')
    return status === 410 ? undefined : event.due
  }

  #remove(event: Held): void {
    this.#held.splice(this.#held.indexOf(event), 1)
  }

  #failed(error: unknown): void {
    if (error instanceof AppError && error.number === 41001) this.#fail('behind')
  }

  #fail(reason: WebhookReason): void {
    if (this.#isEnding) return
    this.#isEnding = true
    this.failure = reason
  }

  /** Reads an event that has left the memory. Returns undefined where the log has no such event for the webhook. */
  async #readAgain(event: Held): Promise<Held['message']> {
    const { body } = this.#webhook
    for (let { after } = event; ; ) {
      const page = await this.#parts.read({ ...filterIn(this.#webhook), after, limit: 1 }, this.#ending.signal)
      const [entry] = page.entries
      if (entry === undefined && page.isEnd) return undefined
      after = page.next
      if (entry === undefined) continue
      if (plantIn(entry) !== event.plant) return undefined
      return messageOf(entry, body)
    }
  }

  get #room(): number {
    return MAX_HELD - (this.#held.length - this.#underWay.size)
  }

  /** Reads further events, unless there is little room for them. */
  #readOn(): void {
    if (this.#isReading || this.#room < (this.#underWay.size > 0 ? MAX_HELD / 2 : 1)) return
    this.#isReading = true
    this.#readPage().then(
      () => {
        this.#isReading = false
        this.retry()
      },
      (error: unknown) => {
        this.#isReading = false
        // The place of the read that all share may be older than this one.
        if (!this.#isFollowing) this.#failed(error)
        this.#isFollowing = false
        if (!this.#isEnding) this.#retryAfter(PAUSE_AFTER_FAULT)
      },
    )
  }

  async #readPage(): Promise<void> {
    const { tail, read } = this.#parts
    const place = this.#place
    const page = await tail.pageAfter(place.position, this.#isFollowing, (after) =>
      read({ ...filterIn(this.#webhook), after, limit: Math.max(1, this.#room) }, this.#ending.signal),
    )
    if (this.#isEnding) return
    // The page may begin before the position, and have events for other webhooks.
    const filter = filterIn(this.#webhook)
    const wanted = page.content.flatMap((entry) => (entry.position > place.position && selected(filter, entry)) || [])
    const fitting = wanted.slice(0, Math.max(0, this.#room))
    const until = place.redelivery?.until
    this.#hold(until === undefined ? fitting : fitting.filter(({ position }) => position <= until))
    const reached = fitting.length < wanted.length ? fitting.at(-1)?.position : page.next
    if (reached !== undefined && reached > place.position) place.position = reached
    this.#isFollowing = page.isShared
    if (place.redelivery === undefined || place.position < place.redelivery.until) return
    place.position = place.redelivery.resume
    place.redelivery = undefined
    this.#isFollowing = false
  }

  #hold(entries: readonly ChangeEntry[]): void {
    let after = this.#place.position
    for (const entry of entries) {
      const message = messageOf(entry, this.#webhook.body)
      this.#held.push({
        after,
        plant: plantIn(entry),
        time: entry.time,
        attempts: 0,
        due: 0,
        isUnderWay: false,
        message,
      })
      after = entry.position
    }
  }
}

const UNREAD = { isUnderWay: false, message: undefined } as const

/** The events of a webhook are those of the part of its token. */
export const filterIn = ({ types, tags, tagPrefix, untagged, creator: { part } }: Webhook): ChangeFilter => ({
  types,
  tags,
  tagPrefix,
  untagged,
  part,
})

const plantIn = ({ plant, before }: ChangeEntry): string => String((plant ?? before)?.id)

const messageOf = (entry: ChangeEntry, form: WebhookBody): Message & Pick<ChangeEntry, 'type'> => ({
  id: entry.position,
  type: entry.type,
  body: eventBody(form, entry),
})

/** Milliseconds from the end of a failed attempt to the next one. @param attempts failed ones, at least 1 */
export const retryDelay = (attempts: number): number =>
  (DELAYS[Math.min(attempts, DELAYS.length) - 1] ?? 0) * randomInt(SHORTEST, LONGEST + 1)

/**
 * Attempts for one event that fit into a time, with the last one at its end. While the service is down, a wall clock that
 * is set right, as on a board without a battery, lets days pass, but makes none of these attempts.
 */
export function attemptsWithin(milliseconds: number): number {
  let attempts = 2
  let left = milliseconds
  for (const delay of DELAYS) {
    left -= delay * LONGEST
    if (left <= 0) break
    attempts++
  }
  return attempts
}
