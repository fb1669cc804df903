import type { Operation } from './contract.generated.ts'
import { PlantstoreError, PlantstoreUnreachable } from './errors.ts'
import { Foreign, judge, type Success } from './judge.ts'
import type { ClientOptions } from './options.ts'

export interface Call {
  readonly operation: Operation
  /** The value of `{id}` in the path. */
  readonly id?: string
  /** The query string with its question mark, or an empty text. */
  readonly query?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Blob | ReadableStream<Uint8Array> | undefined
  readonly signal?: AbortSignal | undefined
  /** Whether the attempt has no timeout. */
  readonly isLong?: boolean
  /** The media type of an answer that the caller reads as it comes. */
  readonly stream?: RegExp
}

/** Statuses of refusals that a retry may not get. 502 and 504 come from proxies. */
const TRANSIENT: readonly number[] = [408, 429, 500, 502, 503, 504]
/** Statuses by which a network asks for a sign-in of its own (RFC 6585 section 6). */
const SIGN_INS: readonly number[] = [401, 511]
/** The least milliseconds before the second attempt, doubled before each further one. */
const FIRST_WAIT = 100

/** Sends requests, and retries after transient failures. Every operation of the service is safe to repeat. */
export class Transport {
  readonly #base: string
  readonly #options: ClientOptions
  readonly #fetch: typeof globalThis.fetch

  /** @throws TypeError for an address to which no request can go */
  constructor(options: ClientOptions) {
    this.#base = baseOf(String(options.url))
    this.#options = options
    this.#fetch = options.fetch ?? ((...request) => globalThis.fetch(...request))
  }

  /**
   * Sends a request, and resolves with the value that `read` returns for a successful answer.
   *
   * @throws TypeError for an id that no path can have; PlantstoreError when the service refuses; PlantstoreUnreachable
   *   when no whole answer comes; the reason of the call's signal
   */
  async send<T>(call: Call, read: (success: Success) => T): Promise<T> {
    const { maxWait = 60_000, onRetry, onGiveUp } = this.#options
    // A stream can be sent only once.
    const attempts = call.body instanceof ReadableStream ? 1 : (this.#options.attempts ?? 6)
    const path = pathOf(call)
    let mayHaveSucceeded = false
    let waited = 0
    for (let attempt = 1; ; attempt++) {
      const outcome = await this.#attempt(call, path, mayHaveSucceeded, read)
      if ('value' in outcome) return outcome.value
      const { reason } = outcome
      const wait = waitAfter(reason, attempt)
      if (!isTransient(reason)) throw reason
      if (attempt >= attempts || waited + wait > maxWait) {
        onGiveUp?.(reason)
        throw reason
      }
      mayHaveSucceeded ||= isOpen(reason)
      waited += wait
      onRetry?.({ reason, attempt, wait })
      await pause(wait, call.signal)
    }
  }

  async #attempt<T>(
    call: Call,
    path: string,
    mayHaveSucceeded: boolean,
    read: (success: Success) => T,
  ): Promise<{ readonly value: T } | { readonly reason: PlantstoreError | PlantstoreUnreachable }> {
    const { signal } = call
    signal?.throwIfAborted()
    const ending = new AbortController()
    const end = () => ending.abort(signal?.reason)
    signal?.addEventListener('abort', end)
    const timer = this.#startTimer(call, ending)
    try {
      const response = await this.#request(call, path, ending.signal)
      const answer = await judge(call.operation, response, call.stream)
      if (!('number' in answer)) {
        const value = read(answer)
        this.#options.onAnswer?.(undefined)
        return { value }
      }
      const { status, headers } = response
      const reason = new PlantstoreError(answer.number, answer.message, {
        status,
        requestId: headers.get('X-Request-Id') ?? undefined,
        retryAfter: secondsIn(headers.get('Retry-After')),
        mayHaveSucceeded,
      })
      if (answer.number !== 0) this.#options.onAnswer?.(reason)
      return { reason }
    } catch (cause) {
      signal?.throwIfAborted()
      const { method, path } = call.operation
      const message = `${method} ${path}: no whole answer came`
      return { reason: new PlantstoreUnreachable(message, { cause }, cause instanceof Foreign) }
    } finally {
      clearTimeout(timer)
      signal?.removeEventListener('abort', end)
    }
  }

  #startTimer({ isLong = false }: Call, ending: AbortController): ReturnType<typeof setTimeout> | undefined {
    const { timeout = 30_000 } = this.#options
    if (isLong) return undefined
    return setTimeout(() => ending.abort(new DOMException(`no answer within ${timeout} ms`, 'TimeoutError')), timeout)
  }

  #request({ operation, headers, body }: Call, path: string, signal: AbortSignal): Promise<Response> {
    const { token } = this.#options
    const authorization = token === undefined ? {} : { Authorization: `Bearer ${token}` }
    return this.#fetch(`${this.#base}${path}`, {
      method: operation.method,
      headers: { ...authorization, ...headers },
      signal,
      // The token is in a header. The browser must neither send cookies nor ask for a password.
      credentials: 'omit',
      // A redirect leads to another program. `error` would not tell it from a lost connection.
      redirect: 'manual',
      // `duplex` is for a stream.
      ...(body === undefined ? {} : { body, duplex: 'half' }),
    })
  }
}

/** @throws TypeError for an id that would make another path: URLs leave `.` and `..` out, also where they are encoded */
function pathOf({ operation, id = '', query = '' }: Call): string {
  const path = operation.path.replace('{id}', () => {
    if (!/^\.{0,2}$|\p{Surrogate}/u.test(id)) return encodeURIComponent(id)
    throw new TypeError('an id must not be empty, . or .., and must not have a lone surrogate')
  })
  return path + query
}

/** Returns an address to which paths can be added. */
function baseOf(url: string): string {
  try {
    const { protocol, username, password, origin, pathname, search, hash } = new URL(url)
    const rest = username + password + search + hash
    // `localhost:8080` is a URL too: one with the scheme `localhost`.
    if (/^https?:$/.test(protocol) && rest === '') return `${origin}${pathname}`.replace(/\/+$/, '')
  } catch {}
  throw new TypeError('the address of a service is one such as https://plants.example, without user, query or fragment')
}

/** The seconds in a Retry-After, which proxies may write as a date (RFC 9110 section 10.2.3). */
function secondsIn(header: string | null): number | undefined {
  if (header === null) return undefined
  const seconds = /^\d+$/.test(header) ? Number(header) : (Date.parse(header) - Date.now()) / 1000
  return Number.isFinite(seconds) ? Math.max(0, seconds) : undefined
}

/** Whether a later attempt may succeed. */
export const isTransient = (reason: unknown): boolean =>
  reason instanceof PlantstoreUnreachable ||
  (reason instanceof PlantstoreError && (TRANSIENT.includes(reason.status) || asksForSignIn(reason)))

/**
 * Whether another program has answered in place of the service, as the portal of a network does that asks for a sign-in
 * of its own. What it does not let through may succeed after that sign-in.
 */
export const asksForSignIn = (reason: unknown): boolean =>
  (reason instanceof PlantstoreUnreachable && reason.isForeign) ||
  (reason instanceof PlantstoreError && reason.number === 0 && SIGN_INS.includes(reason.status))

/** Whether the request may have succeeded: the answer was lost, came from a proxy (0), or leaves the outcome open. */
const isOpen = (reason: PlantstoreError | PlantstoreUnreachable): boolean =>
  reason instanceof PlantstoreUnreachable || [0, 50001, 50301].includes(reason.number)

/** Milliseconds: the time that the service asks for, and a random part, so that clients do not retry all at once. */
function waitAfter(reason: PlantstoreError | PlantstoreUnreachable, attempt: number): number {
  const asked = reason instanceof PlantstoreError ? (reason.retryAfter ?? 0) * 1000 : 0
  return Math.max(asked, FIRST_WAIT * 2 ** (attempt - 1)) * (1 + Math.random() / 2)
}

/** Resolves after a time; rejects with the reason of the signal. */
export function pause(time: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = () => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    if (signal?.aborted) return reject(signal.reason)
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', end)
      resolve()
    }, time)
    signal?.addEventListener('abort', end)
  })
}
