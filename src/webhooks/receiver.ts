import { lookup, Resolver } from 'node:dns/promises'
import type { Agent, ClientRequest, IncomingHttpHeaders } from 'node:http'
import { request as secure, Agent as TlsAgent } from 'node:https'
import { isIPv6, type LookupFunction } from 'node:net'
import { urlToHttpOptions } from 'node:url'
import { http } from '../base/http.ts'
import { signaturesOf, type WebhookKeys, type WebhookResult } from '../domain/webhook.ts'
import { type AddressPolicy, hostOf, knownAddresses } from './address-policy.ts'

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
/** Milliseconds for each of two tries to look a name up. */
const LOOK_UP_TIMEOUT = 2000
/** Milliseconds. With 0, an event would be sent again and again as fast as the receiver answers. */
const MIN_RETRY_AFTER = 1000
const MAX_RETRY_AFTER = 24 * 3_600_000

/** A message to a receiver. */
export interface Message {
  /** The same in each attempt. */
  readonly id: string
  readonly type: string
  readonly body: string
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
  readonly #target: ReturnType<typeof urlToHttpOptions>
  readonly #parts: ReceiverParts
  /** Undefined before the first look-up, and from SHARED_TIME after one. */
  #looking: Promise<Destination> | undefined
  #destination: Destination | undefined

  constructor(url: string, parts: ReceiverParts) {
    this.#url = new URL(url)
    this.#target = urlToHttpOptions(this.#url)
    this.#parts = parts
  }

  /**
   * Makes one attempt to deliver a message. Checks all addresses of the host first, and connects to one of them.
   *
   * @param signal ends the attempt, which then fails
   */
  async send(message: Message, keys: WebhookKeys, signal: AbortSignal): Promise<Outcome> {
    const [time, startedAt] = [Date.now(), performance.now()]
    const { timeout = ATTEMPT_TIMEOUT } = this.#parts
    const { promise, resolve, reject } = Promise.withResolvers<Answer>()
    const end = () => reject(signal.reason)
    signal.addEventListener('abort', end)
    if (signal.aborted) end()
    const timer = setTimeout(() => reject(new Error(`no whole answer within ${timeout / 1000} s`)), timeout)
    let outgoing: ClientRequest | undefined
    let isOver = false
    this.#look()
      .then((destination) => {
        if (!isOver) outgoing = this.#request(message, keys, destination, resolve, reject)
      })
      .catch(reject)
    const done = (rest: Omit<Outcome, 'time' | 'durationMs'>): Outcome => ({
      ...rest,
      time,
      durationMs: Math.round(performance.now() - startedAt),
    })
    try {
      const { status, headers, body } = await promise
      const answer = body.toString('utf8', 0, SHOWN_ANSWER)
      if (status >= 200 && status < 300) return done({ status, failure: undefined, answer, retryAfter: undefined })
      return done({ status, failure: `the status ${status}`, answer, retryAfter: retryAfterIn(headers, time) })
    } catch (error) {
      outgoing?.destroy()
      return done({ status: undefined, failure: failureOf(error), answer: '', retryAfter: undefined })
    } finally {
      isOver = true
      clearTimeout(timer)
      signal.removeEventListener('abort', end)
    }
  }

  #look(): Promise<Destination> {
    this.#looking ??= this.#lookUp().finally(() => {
      setTimeout(() => {
        this.#looking = undefined
      }, SHARED_TIME).unref()
    })
    return this.#looking
  }

  /**
   * Looks the name up, and checks all its addresses. Connections to other addresses than those of now are not used again,
   * and end after IDLE_TIME.
   *
   * @throws Error for a URL that the policy excludes
   */
  async #lookUp(): Promise<Destination> {
    const addresses = knownAddresses(this.#url) ?? (await this.#parts.resolve(hostOf(this.#url)))
    const fault = this.#parts.policy.faultOf(this.#url, addresses)
    if (fault !== undefined) throw new Error(`the URL ${fault}`)
    const key = addresses.toSorted().join()
    if (key === this.#destination?.key) return this.#destination
    // Takes no proxy of the environment.
    const options = { keepAlive: true, timeout: IDLE_TIME, maxCachedSessions: 1 }
    const agent = this.#url.protocol === 'https:' ? new TlsAgent(options) : new http.Agent(options)
    this.#destination = { key, agent, lookup: lookupOf(addresses) }
    return this.#destination
  }

  #request(
    { id, type, body }: Message,
    keys: WebhookKeys,
    { agent, lookup }: Destination,
    resolve: (answer: Answer) => void,
    reject: (error: unknown) => void,
  ): ClientRequest {
    const timestamp = Math.floor(Date.now() / 1000)
    const request = this.#url.protocol === 'https:' ? secure : http.request
    const outgoing = request(
      {
        ...this.#target,
        method: 'POST',
        agent,
        lookup,
        // Names it, so that no variable of the environment switches it off.
        rejectUnauthorized: true,
        headers: {
          'content-type': 'application/json',
          'content-length': Buffer.byteLength(body),
          'user-agent': this.#parts.agent,
          'plantstore-type': type,
          'webhook-id': id,
          'webhook-timestamp': String(timestamp),
          'webhook-signature': signaturesOf(keys, id, timestamp, body),
        },
      },
      (incoming) => {
        const parts: Buffer[] = []
        let length = 0
        const { statusCode: status = 0, headers } = incoming
        const finish = () => resolve({ status, headers, body: Buffer.concat(parts) })
        incoming.on('data', (part: Buffer) => {
          // The rest is only counted.
          if (length < SHOWN_ANSWER) parts.push(part.subarray(0, SHOWN_ANSWER))
          length += part.length
          if (length < MAX_ANSWER) return
          finish()
          incoming.destroy()
        })
        incoming.on('end', finish)
        incoming.on('error', reject)
        // Bytes behind a whole answer, such as a body after 204, do not undo it.
        outgoing.prependListener('error', () => incoming.complete && finish())
      },
    )
    let interim = 0
    outgoing.on('information', () => {
      if (++interim > MAX_INTERIM_ANSWERS) reject(new Error('too many answers with a status of 1xx'))
    })
    outgoing.on('error', reject)
    // As after 101, without an error.
    outgoing.on('close', () => reject(new Error(CLOSED)))
    return outgoing.end(body)
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

/** Returns all addresses of a name. Rejects when there are none. */
export type Resolve = (host: string) => Promise<readonly string[]>

/**
 * Asks the name servers by c-ares, and the operating system only for a name that they do not know, such as one of
 * /etc/hosts: getaddrinfo has two threads in the process, so two names whose servers hang would delay all others.
 */
export function resolverOf(resolver = new Resolver({ timeout: LOOK_UP_TIMEOUT, tries: 2 })): Resolve {
  return async (host) => {
    const found = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)])
    const addresses = found.flatMap((each) => (each.status === 'fulfilled' ? each.value : []))
    if (addresses.length > 0) return addresses
    const fault = found.find((each) => each.status === 'rejected' && !UNKNOWN.includes(codeOf(each.reason) ?? ''))
    if (fault?.status === 'rejected') throw fault.reason
    return (await lookup(host, { all: true })).map(({ address }) => address)
  }
}

/** The name servers know no such name, or there are none. */
const UNKNOWN = ['ENOTFOUND', 'ENODATA', 'ECONNREFUSED']

const codeOf = (error: unknown): string | undefined =>
  error instanceof Error && 'code' in error ? String(error.code) : undefined

/** Milliseconds in `Retry-After`: a number of seconds or a date (RFC 9110 section 10.2.3); undefined without one. */
function retryAfterIn({ 'retry-after': text }: IncomingHttpHeaders, now: number): number | undefined {
  if (text === undefined) return undefined
  const time = /^\d{1,9}$/.test(text) ? Number(text) * 1000 : / GMT$/.test(text) ? Date.parse(text) - now : Number.NaN
  return Number.isFinite(time) ? Math.min(Math.max(time, MIN_RETRY_AFTER), MAX_RETRY_AFTER) : undefined
}

/** What went wrong, without an address or anything else that the policy of the operator hides. */
function failureOf(error: unknown): string {
  const code = codeOf(error)
  if (code === undefined) return error instanceof Error ? error.message : String(error)
  return FAILURES[code] ?? `the connection failed (${code})`
}

const CLOSED = 'the receiver closed the connection'
const FAILURES: Readonly<Record<string, string>> = {
  ENOTFOUND: 'no host has this name',
  ECONNREFUSED: 'nothing answers at this address',
  ECONNRESET: CLOSED,
  ERR_TLS_CERT_ALTNAME_INVALID: 'the certificate is for another name',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'the certificate is self-signed',
  SELF_SIGNED_CERT_IN_CHAIN: 'the certificate is self-signed',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'the certificate has an unknown issuer',
  CERT_HAS_EXPIRED: 'the certificate has expired',
}
