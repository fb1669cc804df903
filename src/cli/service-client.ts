import { Agent, type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'
import { text } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { OperatorError } from '../base/operator-error.ts'
import { type Duplicates, type ImportSummary, readSummary } from '../import/import-summary.ts'

/** Thrown when the service is out of reach or busy. The same request may succeed later. */
export class Unavailable extends OperatorError {
  /** Milliseconds after which the service asks for a retry; 0 when it does not. */
  readonly retryAfter: number

  constructor(message: string, { retryAfter = 0, cause }: { retryAfter?: number; cause?: unknown } = {}) {
    super(message, { cause })
    this.retryAfter = retryAfter
  }
}

interface Request {
  readonly query: URLSearchParams
  /** The media type of the body that is sent or received. */
  readonly mediaType: string
  /** Ends the request, which then throws the signal's reason. */
  readonly signal: AbortSignal
}

type Body = string | AsyncIterable<Uint8Array>

/**
 * The HTTP client of a running service. Every method throws Unavailable, or OperatorError when a retry can't help.
 *
 * It does not use `fetch`, which refuses to connect to some ports (https://fetch.spec.whatwg.org/#port-blocking).
 */
export class ServiceClient {
  readonly #address: URL
  readonly #token: string
  readonly #agent: Agent
  #wasReached = false

  /** @param address without a query. The service's paths follow its path, which may be the prefix of a proxy */
  constructor(address: URL, token: string) {
    this.#address = address
    this.#token = token
    this.#agent = new (address.protocol === 'https:' ? HttpsAgent : Agent)({ keepAlive: true, maxSockets: 1 })
  }

  async importPlants(body: Body, request: Request): Promise<ImportSummary & Partial<Duplicates>> {
    const answer = await this.#send('POST', 'plants/import', request, body)
    return readSummary(await this.#read(text(answer), request.signal)) ?? this.#throwNotPlantstore()
  }

  /** Yields the bytes of a file. Ends without an error only after the last byte. */
  async *exportPlants(request: Request): AsyncGenerator<Uint8Array> {
    const answer = await this.#send('GET', 'plants/export', request)
    if (answer.headers['content-type']?.startsWith(request.mediaType) !== true) this.#throwNotPlantstore()
    try {
      yield* answer
    } catch (error) {
      throw this.#fault(error, request.signal)
    }
  }

  /** Returns the metrics of the service, as text. */
  async metrics(signal: AbortSignal): Promise<string> {
    const request = { query: new URLSearchParams(), mediaType: 'text/plain', signal }
    const answer = await this.#send('GET', 'metrics', request)
    return this.#read(text(answer), signal)
  }

  /** @throws Unavailable with the reason while the service is not ready */
  async checkReady(signal: AbortSignal): Promise<void> {
    const request = { query: new URLSearchParams(), mediaType: 'application/json', signal }
    await this.#read(text(await this.#send('GET', 'health/ready', request)), signal)
  }

  /** Resolves with the head of a successful answer, whose body is still to be read. */
  async #send(method: string, path: string, request: Request, body?: Body): Promise<IncomingMessage> {
    const { query, mediaType, signal } = request
    const url = new URL(`${this.#address.pathname.replace(/\/?$/, '/')}${path}?${query}`, this.#address)
    const headers = {
      Authorization: `Bearer ${this.#token}`,
      [body === undefined ? 'Accept' : 'Content-Type']: mediaType,
    }
    const send = url.protocol === 'https:' ? httpsRequest : httpRequest
    const outgoing = send(url, { method, headers, agent: this.#agent, signal })
    outgoing.on('socket', (socket) => {
      if (!socket.connecting) return
      socket.once('connect', () => {
        this.#wasReached = true
      })
    })
    const answer = await this.#read(exchange(outgoing, body), signal)
    if (answer.statusCode !== 200) throw await this.#refusal(answer)
    return answer
  }

  async #read<T>(what: Promise<T>, signal: AbortSignal): Promise<T> {
    try {
      return await what
    } catch (error) {
      throw this.#fault(error, signal)
    }
  }

  /** Returns the error to throw for a connection that failed or broke, and other errors unchanged. */
  #fault(error: unknown, signal: AbortSignal): unknown {
    const cause = signal.aborted ? signal.reason : error
    if (!(cause instanceof Error)) return cause
    const code = cause.name === 'TimeoutError' ? 'ETIMEDOUT' : 'code' in cause ? String(cause.code) : ''
    const unreached = UNREACHED[code]
    const message = `${this.#address.href}: ${unreached ?? `the connection broke (${code})`}`
    // Before the first connection, the address is probably wrong, which a retry does not change.
    if (BROKEN.includes(code) || (unreached !== undefined && this.#wasReached)) {
      return new Unavailable(message, { cause })
    }
    return code === '' ? cause : new OperatorError(message, { cause })
  }

  #throwNotPlantstore(): never {
    throw new OperatorError(`${this.#address.href}: ${NOT_PLANTSTORE}`)
  }

  async #refusal(answer: IncomingMessage): Promise<OperatorError> {
    const { statusCode = 0, headers } = answer
    const said = messageIn(await text(answer).catch(() => ''))
    const message = `${this.#address.href} answered ${statusCode}: ${said ?? NOT_PLANTSTORE}`
    if (!TRANSIENT.includes(statusCode)) return new OperatorError(message)
    return new Unavailable(message, { retryAfter: Number(headers['retry-after'] ?? 0) * 1000 })
  }
}

/** Sends a body, and resolves with the answer, which may come before the end of the body. */
function exchange(outgoing: ClientRequest, body: Body | undefined): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    outgoing.on('response', resolve)
    outgoing.on('error', reject)
    if (typeof body === 'object') pipeline(body, outgoing).catch(reject)
    else outgoing.end(body)
  })
}

export interface RetryOptions {
  /** Milliseconds for which to retry. */
  readonly time: number
  /** Ends a pause between two attempts. */
  readonly signal: AbortSignal
  /** Called before the first pause. */
  readonly onWait: (error: Unavailable) => void
}

/**
 * Retries at growing intervals while the service is unavailable.
 *
 * @throws Unavailable when the service stays unavailable for the whole time; the signal's reason
 */
export async function retry<T>(attempt: () => Promise<T>, options: RetryOptions): Promise<T> {
  const deadline = performance.now() + options.time
  for (let pause = FIRST_PAUSE; ; pause = Math.min(pause * 2, MAX_PAUSE)) {
    try {
      return await attempt()
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error
      const wait = Math.max(pause, error.retryAfter)
      if (performance.now() + wait > deadline) throw error
      if (pause === FIRST_PAUSE) options.onWait(error)
      await sleep(wait, undefined, { signal: options.signal }).catch(() => options.signal.throwIfAborted())
    }
  }
}

const FIRST_PAUSE = 200
const MAX_PAUSE = 5000
const TRANSIENT: readonly number[] = [408, 429, 502, 503, 504]
const BROKEN: readonly string[] = ['ECONNRESET', 'ECONNABORTED', 'EPIPE', 'ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH']
const UNREACHED: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing answers there; is the service running?',
  ENOTFOUND: 'no host has this name',
  EAI_AGAIN: 'the host name cannot be resolved at the moment',
}
const NOT_PLANTSTORE = 'it is not a Plantstore service; is the address right?'

/** Returns the number and message in an error body of the service; undefined for any other text. */
function messageIn(text: string): string | undefined {
  try {
    const { error, message } = JSON.parse(text) as { error?: unknown; message?: unknown }
    return typeof error === 'number' && typeof message === 'string' ? `error ${error}: ${message}` : undefined
  } catch {
    return undefined
  }
}
