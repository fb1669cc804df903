import { lookup, Resolver } from 'node:dns/promises'
import type { IncomingHttpHeaders } from 'node:http'
import { isIP, isIPv6, type LookupFunction, type Socket } from 'node:net'
import { setImmediate as turn } from 'node:timers/promises'
import type { Dispatcher, Pool } from 'undici'
import { abortable } from '../domain/store.ts'
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

export interface Message {
  /** The same in each attempt. */
  readonly id: string
  readonly type: string
  readonly body: string
}

/** The result of one attempt. Times are in milliseconds. */
export interface AttemptResult extends WebhookResult {
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
  #looking: Promise<Pool> | undefined
  #addresses = ''
  #pool: Pool | undefined

  constructor(url: string, parts: ReceiverParts) {
    this.#url = new URL(url)
    this.#parts = parts
  }

  /**
   * Makes one attempt to deliver a message. Checks all addresses of the host first, and connects to one of them.
   *
   * @param signal ends the attempt, which then fails
   */
  async send(message: Message, keys: WebhookKeys, signal: AbortSignal): Promise<AttemptResult> {
    const [time, startedAt] = [Date.now(), performance.now()]
    const { timeout = ATTEMPT_TIMEOUT } = this.#parts
    const reading = new Reading()
    const timer = setTimeout(() => reading.fail(new Error(`no whole answer within ${timeout / 1000} s`)), timeout)
    this.#look()
      .then((pool) => {
        if (!reading.isOver) pool.dispatch(this.#request(message, keys), reading)
      })
      .catch((error: unknown) => reading.fail(error))
    const done = (rest: Omit<AttemptResult, 'time' | 'durationMs'>): AttemptResult => ({
      ...rest,
      time,
      durationMs: Math.round(performance.now() - startedAt),
    })
    try {
      const { status, headers, body } = await abortable(reading.answer, signal)
      // The next attempt can use the connection only after this turn.
      await turn()
      // A receiver may send the values of its headers back, in any form.
      const isShown = (keys.headers ?? []).length === 0
      const answer = isShown ? body.toString('utf8', 0, SHOWN_ANSWER) : ''
      if (status >= 200 && status < 300) return done({ status, failure: undefined, answer, retryAfter: undefined })
      return done({ status, failure: `the status ${status}`, answer, retryAfter: retryAfterIn(headers, time) })
    } catch (error) {
      reading.fail(error)
      return done({ status: undefined, failure: failureOf(error), answer: '', retryAfter: undefined })
    } finally {
      clearTimeout(timer)
    }
  }

  /** Ends the connections, also those that nobody has accepted yet. */
  close(): void {
    void this.#pool?.destroy()
    // A look-up may still be under way: the close of a pool that is destroyed rejects.
    this.#pool = undefined
  }

  #look(): Promise<Pool> {
    this.#looking ??= this.#lookUp().finally(() => {
      setTimeout(() => {
        this.#looking = undefined
      }, SHARED_TIME).unref()
    })
    return this.#looking
  }

  /**
   * Looks the name up, and checks all its addresses. Connections to other addresses than those of now end after the
   * requests under way.
   *
   * @throws Error for a URL that the policy excludes
   */
  async #lookUp(): Promise<Pool> {
    const host = hostOf(this.#url)
    const addresses = knownAddresses(this.#url) ?? (await this.#parts.resolve(host))
    const fault = this.#parts.policy.faultOf(this.#url, addresses)
    if (fault !== undefined) throw new Error(`the URL ${fault}`)
    const key = addresses.toSorted().join()
    if (this.#pool !== undefined && key === this.#addresses) return this.#pool
    void this.#pool?.close()
    this.#addresses = key
    // Loads with the first delivery, in 120 ms. Takes no proxy of the environment.
    const { buildConnector, Pool } = await import('undici')
    const connect = buildConnector({
      allowH2: false,
      lookup: lookupOf(addresses),
      // TLS names a host without the dot of the root (RFC 6066 section 3), and no address.
      ...(isIP(host) === 0 ? { servername: host } : {}),
      // Given here, so that no variable of the environment switches it off.
      rejectUnauthorized: true,
      timeout: ATTEMPT_TIMEOUT,
    })
    this.#pool = new Pool(this.#url.origin, {
      allowH2: false,
      keepAliveTimeout: IDLE_TIME,
      connect: (options, callback) =>
        connect(options, (...made) => {
          if (made[0] === null) takeContinue(made[1])
          callback(...made)
        }),
    })
    return this.#pool
  }

  #request({ id, type, body }: Message, keys: WebhookKeys): Dispatcher.DispatchOptions {
    const timestamp = Math.floor(Date.now() / 1000)
    return {
      method: 'POST',
      path: this.#url.pathname + this.#url.search,
      headers: {
        ...Object.fromEntries(keys.headers ?? []),
        'content-type': 'application/json',
        'user-agent': this.#parts.agent,
        'plantstore-type': type,
        'webhook-id': id,
        'webhook-timestamp': String(timestamp),
        'webhook-signature': signaturesOf(keys, id, timestamp, body),
      },
      body,
    }
  }
}

interface ReceiverAnswer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
}

class Reading implements Dispatcher.DispatchHandler {
  isOver = false
  readonly #answer = Promise.withResolvers<ReceiverAnswer>()
  #controller: Dispatcher.DispatchController | undefined
  #head: Omit<ReceiverAnswer, 'body'> = { status: 0, headers: {} }
  readonly #parts: Buffer[] = []
  #length = 0
  #interim = 0

  get answer(): Promise<ReceiverAnswer> {
    return this.#answer.promise
  }

  /** Ends the request, if there is one. */
  fail(reason: unknown): void {
    this.isOver = true
    this.#answer.reject(reason)
    this.#controller?.abort(new Error('the attempt has failed', { cause: reason }))
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    if (this.isOver) controller.abort(new Error('the attempt has ended'))
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    this.#head = { status, headers }
    if (status < 200 && ++this.#interim > MAX_INTERIM_ANSWERS) {
      this.fail(new Error('too many answers with a status of 1xx'))
    }
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    // The rest is only counted.
    if (this.#length < SHOWN_ANSWER) this.#parts.push(chunk.subarray(0, SHOWN_ANSWER))
    this.#length += chunk.length
    if (this.#length < MAX_ANSWER) return
    this.onResponseEnd()
    controller.abort(new Error('the answer is too long'))
  }

  onResponseEnd(): void {
    this.isOver = true
    this.#answer.resolve({ ...this.#head, body: Buffer.concat(this.#parts) })
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.fail(error)
  }
}

const CONTINUE = Buffer.from('HTTP/1.1 100')

/**
 * Has undici pass over `100 Continue` as over 102: it ends the connection at a 100 that it has not asked for, which any
 * receiver may send (RFC 9110 section 15.2.1).
 */
function takeContinue(socket: Socket): void {
  const read = socket.read.bind(socket)
  socket.read = (size) => {
    const chunk: unknown = read(size)
    const isContinue = Buffer.isBuffer(chunk) && chunk.subarray(0, CONTINUE.length).equals(CONTINUE)
    if (isContinue) chunk.write('2', CONTINUE.length - 1)
    return chunk
  }
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

function codeOf(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined
  if ('code' in error && typeof error.code === 'string') return error.code
  // undici gives no code to an answer that its parser refuses.
  return error.name === NO_HTTP ? NO_HTTP : undefined
}

const NO_HTTP = 'HTTPParserError'

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
  UND_ERR_SOCKET: CLOSED,
  [NO_HTTP]: 'the answer is not HTTP/1.1',
  ERR_TLS_CERT_ALTNAME_INVALID: 'the certificate is for another name',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'the certificate is self-signed',
  SELF_SIGNED_CERT_IN_CHAIN: 'the certificate is self-signed',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'the certificate has an unknown issuer',
  CERT_HAS_EXPIRED: 'the certificate has expired',
}
