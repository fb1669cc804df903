import { setTimeout as sleep } from 'node:timers/promises'
import { OperatorError } from '../operator-error.ts'
import { type Outcome, outcomeIn } from './tally.ts'

/** The service could not be reached, or can't do it now: the same request may succeed later. */
export class Unavailable extends OperatorError {
  /** Milliseconds after which the service wants to be asked again. */
  readonly retryAfter: number

  constructor(message: string, { retryAfter = 0, cause }: { retryAfter?: number; cause?: unknown } = {}) {
    super(message, { cause })
    this.retryAfter = retryAfter
  }
}

interface Request {
  readonly query: URLSearchParams
  /** Of the body that is sent or received. */
  readonly mediaType: string
  readonly signal: AbortSignal
}

/** A running service, over HTTP. Every method throws Unavailable, or OperatorError where trying again is no use. */
export class Service {
  readonly #address: URL
  readonly #token: string

  /** @param address without query; a path is that of a proxy, below which the service's own paths are */
  constructor(address: URL, token: string) {
    this.#address = address
    this.#token = token
  }

  async importPlants(body: string | AsyncIterable<Uint8Array>, request: Request): Promise<Outcome> {
    const response = await this.#send('POST', 'plants/import', request, body)
    try {
      return outcomeIn(await response.json())
    } catch (error) {
      throw this.#fault(error, request.signal)
    }
  }

  /** The bytes of a whole file; ends without an error only when all of them have come. */
  async *exportPlants(request: Request): AsyncGenerator<Uint8Array> {
    const response = await this.#send('GET', 'plants/export', request)
    try {
      yield* response.body ?? []
    } catch (error) {
      throw this.#fault(error, request.signal)
    }
  }

  /** Resolves with a successful answer, whose body is still to be read. */
  async #send(
    method: string,
    path: string,
    { query, mediaType, signal }: Request,
    body?: string | AsyncIterable<Uint8Array>,
  ): Promise<Response> {
    const url = new URL(`${this.#address.pathname.replace(/\/?$/, '/')}${path}?${query}`, this.#address)
    const headers = {
      Authorization: `Bearer ${this.#token}`,
      [body === undefined ? 'Accept' : 'Content-Type']: mediaType,
    }
    let response: Response
    try {
      // A redirect is not followed: it would take the token to another place.
      const common = { method, headers, signal, redirect: 'manual' as const }
      response = await fetch(url, body === undefined ? common : { ...common, body, duplex: 'half' })
    } catch (error) {
      throw this.#fault(error, signal)
    }
    if (response.status !== 200) throw await this.#refusal(response)
    return response
  }

  /** What to say of a connection that could not be made, or broke. */
  #fault(error: unknown, signal: AbortSignal): unknown {
    if (signal.aborted && !isTimeout(signal.reason)) return signal.reason
    if (!(error instanceof TypeError) && !isTimeout(error)) return error
    const { code, message } = (error.cause ?? error) as NodeJS.ErrnoException
    const reason = REASONS[code ?? ''] ?? `the connection broke (${code ?? message})`
    return new Unavailable(`${this.#address.href}: ${reason}`, { cause: error })
  }

  async #refusal(response: Response): Promise<OperatorError> {
    const text = await response.text().catch(() => '')
    const message = `${this.#address.href} answered ${response.status}: ${messageIn(text)}`
    if (!TRANSIENT.includes(response.status)) return new OperatorError(message)
    return new Unavailable(message, { retryAfter: Number(response.headers.get('Retry-After') ?? 0) * 1000 })
  }
}

export interface Patience {
  /** How long to go on trying, in milliseconds. */
  readonly time: number
  /** Ends the waiting. */
  readonly signal: AbortSignal
  /** Told before the first wait. */
  readonly onWait: (error: Unavailable) => void
}

/**
 * Tries again while the service is not available, at growing intervals.
 *
 * @throws Unavailable when it was not for all the time; the signal's reason
 */
export async function patiently<T>(attempt: () => Promise<T>, patience: Patience): Promise<T> {
  const deadline = performance.now() + patience.time
  for (let pause = FIRST_PAUSE; ; pause = Math.min(pause * 2, LONGEST_PAUSE)) {
    try {
      return await attempt()
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error
      const wait = Math.max(pause, error.retryAfter)
      if (performance.now() + wait > deadline) throw error
      if (pause === FIRST_PAUSE) patience.onWait(error)
      await sleep(wait, undefined, { signal: patience.signal }).catch(() => patience.signal.throwIfAborted())
    }
  }
}

const FIRST_PAUSE = 200
const LONGEST_PAUSE = 5000
const TRANSIENT: readonly number[] = [408, 429, 502, 503, 504]
const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing answers there; is the service running?',
  ENOTFOUND: 'there is no host of this name',
  EAI_AGAIN: 'the name of the host can not be looked up now',
}

const isTimeout = (error: unknown): error is Error => error instanceof Error && error.name === 'TimeoutError'

/** The number and message of a refusal; anything else is not shown. */
function messageIn(text: string): string {
  try {
    const { error, message } = JSON.parse(text) as { error?: unknown; message?: unknown }
    if (typeof error === 'number' && typeof message === 'string') return `error ${error}: ${message}`
  } catch {}
  return 'it is no plant store; is the address right?'
}
