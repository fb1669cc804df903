import { Agent, type ClientRequest, type IncomingHttpHeaders, type IncomingMessage, request as plain } from 'node:http'
import { request as secure, Agent as TlsAgent } from 'node:https'
import { isIP, isIPv6, type LookupFunction } from 'node:net'
import { signaturesOf, type WebhookKeys, type WebhookResult } from '../domain/webhook.ts'
import { type AddressPolicy, hostOf, isLocalName, LOCAL, NotAllowed } from './address-policy.ts'
import type { Resolve } from './resolver.ts'

/** Milliseconds that an attempt may take, from the look-up of the name to the end of the answer. */
const ATTEMPT_TIMEOUT = 15_000
/** Bytes of an answer that are read. A longer one counts by its status, and its connection is closed. */
const MAX_ANSWER = 64 * 2 ** 10
/** Bytes of an answer that are kept. */
const SHOWN_ANSWER = 256
/** Answers with a status of 1xx before the answer itself. The parser takes 30 million of them in 15 s. */
const MAX_INTERIM_ANSWERS = 16
/** Milliseconds for which a connection waits for the next event: less than servers usually wait. */
const IDLE_TIME = 4000
/** Milliseconds for which attempts share one look-up, so that a thousand deliveries a second need no thousand of them. */
const SHARED_TIME = 1000
/** Milliseconds. With 0, an event would be sent again and again as fast as the receiver answers. */
const MIN_RETRY_AFTER = 1000
const MAX_RETRY_AFTER = 24 * 3_600_000

/** A message to a receiver. */
export interface Message {
  /** The same in each attempt. */
  readonly id: string
  readonly type: string
  readonly body: string
  readonly keys: WebhookKeys
}

/** The result of one attempt. Times are in milliseconds. */
export interface Outcome extends WebhookResult {
  readonly time: number
  /** The time that the receiver wants to be left alone. */
  readonly retryAfter: number | undefined
}

export interface ReceiverParts {
  readonly policy: AddressPolicy
  readonly resolve: Resolve
  /** The header `user-agent`. */
  readonly agent: string
  readonly timeout?: number
}

/** The receiver of a webhook, and the connections to it. */
export class Receiver {
  readonly #url: URL
  readonly #parts: ReceiverParts
  /** Undefined before the first look-up, and from SHARED_TIME after one. */
  #destination: Promise<Destination> | undefined
  #last: Destination | undefined

  constructor(url: string, parts: ReceiverParts) {
    this.#url = new URL(url)
    this.#parts = parts
  }

  /**
   * Makes one attempt to deliver a message. Checks all addresses of the host first, and connects to one of them.
   *
   * @param signal ends the attempt, which then fails
   */
  async send(message: Message, signal: AbortSignal): Promise<Outcome> {
    const time = Date.now()
    const startedAt = performance.now()
    const { timeout = ATTEMPT_TIMEOUT } = this.#parts
    // AbortSignal.any and AbortSignal.timeout take twice the time of a timer.
    const ending = new AbortController()
    const end = () => ending.abort(signal.reason)
    if (signal.aborted) end()
    signal.addEventListener('abort', end)
    const timer = setTimeout(() => ending.abort(new Error(`no whole answer within ${timeout / 1000} s`)), timeout)
    const done = (rest: Omit<Outcome, 'time' | 'durationMs'>): Outcome => ({
      time,
      durationMs: Math.round(performance.now() - startedAt),
      ...rest,
    })
    try {
      this.#destination ??= this.#look().finally(() => {
        setTimeout(() => {
          this.#destination = undefined
        }, SHARED_TIME).unref()
      })
      const destination = await unlessAborted(this.#destination, ending.signal)
      const { status, headers, body } = await this.#exchange(message, destination, ending.signal)
      const isDelivered = status >= 200 && status < 300
      return done({
        status,
        failure: isDelivered ? undefined : `the status ${status}`,
        answer: body.toString('utf8', 0, SHOWN_ANSWER),
        retryAfter: isDelivered ? undefined : retryAfterIn(headers, time),
      })
    } catch (error) {
      const failure = failureOf(ending.signal.aborted ? ending.signal.reason : error)
      return done({ status: undefined, failure, answer: '', retryAfter: undefined })
    } finally {
      clearTimeout(timer)
      signal.removeEventListener('abort', end)
    }
  }

  /**
   * Looks the name up, and checks all its addresses. Connections to other addresses than those of now are not used again,
   * and end after IDLE_TIME.
   *
   * @throws NotAllowed
   */
  async #look(): Promise<Destination> {
    const host = hostOf(this.#url)
    const isFixed = isIP(host) > 0
    const addresses = isFixed ? [host] : isLocalName(host) ? LOCAL : await this.#parts.resolve(host)
    this.#parts.policy.checkAddresses(this.#url, addresses)
    const key = addresses.toSorted().join()
    if (key === this.#last?.key) return this.#last
    // Takes no proxy of the environment.
    const options = { keepAlive: true, timeout: IDLE_TIME, maxCachedSessions: 1 }
    const agent = this.#url.protocol === 'https:' ? new TlsAgent(options) : new Agent(options)
    this.#last = { key, agent, lookup: lookupOf(addresses) }
    return this.#last
  }

  #exchange(message: Message, { agent, lookup }: Destination, signal: AbortSignal): Promise<Answer> {
    const isTls = this.#url.protocol === 'https:'
    const timestamp = Math.floor(Date.now() / 1000)
    const options = {
      method: 'POST',
      agent,
      lookup,
      // Names it, so that no variable of the environment switches it off.
      rejectUnauthorized: true,
      headers: {
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(message.body),
        'user-agent': this.#parts.agent,
        'plantstore-type': message.type,
        'webhook-id': message.id,
        'webhook-timestamp': String(timestamp),
        'webhook-signature': signaturesOf(message.keys, message.id, timestamp, message.body),
      },
      signal,
    }
    const outgoing = isTls ? secure(this.#url, options) : plain(this.#url, options)
    outgoing.end(message.body)
    return answerOf(outgoing)
  }
}

/** Checked addresses, and the connections to them. */
interface Destination {
  readonly key: string
  readonly agent: Agent
  readonly lookup: LookupFunction
}

interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
}

/** Gives the checked addresses, so that no second look-up can find others. */
function lookupOf(addresses: readonly string[]): LookupFunction {
  const all = addresses.map((address) => ({ address, family: isIPv6(address) ? 6 : 4 }))
  return (_host, { all: wantsAll }, callback) => {
    if (wantsAll === true) callback(null, all)
    else callback(null, all[0]?.address ?? '', all[0]?.family)
  }
}

function answerOf(outgoing: ClientRequest): Promise<Answer> {
  return new Promise((resolve, reject) => {
    let interim = 0
    outgoing.on('information', () => {
      if (++interim > MAX_INTERIM_ANSWERS) outgoing.destroy(new Error('too many answers with a status of 1xx'))
    })
    outgoing.on('error', reject)
    outgoing.on('response', (incoming: IncomingMessage) => {
      const parts: Buffer[] = []
      let length = 0
      const { statusCode: status = 0, headers } = incoming
      const finish = () => resolve({ status, headers, body: Buffer.concat(parts) })
      incoming.on('data', (part: Buffer) => {
        length += part.length
        // The rest is only counted.
        if (length - part.length < SHOWN_ANSWER) parts.push(part.subarray(0, SHOWN_ANSWER))
        if (length < MAX_ANSWER) return
        finish()
        incoming.destroy()
      })
      incoming.on('end', finish)
      incoming.on('error', reject)
    })
  })
}

function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return Promise.race([
    work,
    new Promise<never>((_resolve, reject) => {
      if (signal.aborted) reject(signal.reason)
      else signal.addEventListener('abort', () => reject(signal.reason), { once: true })
    }),
  ])
}

/** Milliseconds in `Retry-After`: a number of seconds or a date (RFC 9110 section 10.2.3); undefined without one. */
function retryAfterIn({ 'retry-after': text }: IncomingHttpHeaders, now: number): number | undefined {
  if (text === undefined) return undefined
  const time = /^\d{1,9}$/.test(text) ? Number(text) * 1000 : / GMT$/.test(text) ? Date.parse(text) - now : Number.NaN
  return Number.isFinite(time) ? Math.min(Math.max(time, MIN_RETRY_AFTER), MAX_RETRY_AFTER) : undefined
}

/** What went wrong, without an address or anything else that the policy of the operator hides. */
function failureOf(error: unknown): string {
  if (error instanceof NotAllowed) return `the URL ${error.message}`
  const code = error instanceof Error && 'code' in error ? String(error.code) : undefined
  if (code === undefined) return error instanceof Error ? error.message : String(error)
  return FAILURES[code] ?? `the connection failed (${code})`
}

const FAILURES: Readonly<Record<string, string>> = {
  ENOTFOUND: 'no host has this name',
  ECONNREFUSED: 'nothing answers at this address',
  ECONNRESET: 'the receiver closed the connection',
  ERR_TLS_CERT_ALTNAME_INVALID: 'the certificate is for another name',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'the certificate is self-signed',
  SELF_SIGNED_CERT_IN_CHAIN: 'the certificate is self-signed',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'the certificate has an unknown issuer',
  CERT_HAS_EXPIRED: 'the certificate has expired',
}
