import type { IncomingMessage, RequestOptions } from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'
import { text } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { http } from '../base/http.ts'
import { OperatorError } from '../base/operator-error.ts'
import type { ImportMode } from '../domain/plant.ts'
import { type Batch, MAX_ROWS } from '../import/batch.ts'
import type { Duplicates } from '../import/duplicates.ts'
import { type Format, MEDIA_TYPES } from '../import/format.ts'
import { ndjsonRow } from '../import/ndjson.ts'
import { type ImportSummary, putBatches, readSummary } from '../import/run-import.ts'
import type { Config, StoreAddress } from '../settings/config.ts'
import type { Flags } from './command.ts'

/** The target of a command: a running service, or a store that the command opens itself. */
type Target =
  | { readonly kind: 'service'; readonly service: ServiceClient }
  | { readonly kind: 'store'; readonly address: StoreAddress }

/** @throws OperatorError (exit code 2) when the flags contradict each other, or the address or the token is missing */
export function targetOf({ url, store }: Flags, config: Config): Target {
  if (url === undefined) return { kind: 'store', address: config.store }
  if (store !== undefined) throw usageError('--url and --store: give only one of them')
  const address = serviceAddress(url)
  if (config.token === undefined) throw usageError('--url: set PLANTSTORE_TOKEN to an access token of the service')
  return { kind: 'service', service: new ServiceClient(address, config.token) }
}

function serviceAddress(text: string): URL {
  const url = URL.parse(text)
  const isAddress = url !== null && /^https?:$/.test(url.protocol) && url.search === '' && url.hash === ''
  if (!isAddress) throw usageError(`--url: "${text}" is not an address like http://127.0.0.1:8080`)
  if (url.username !== '' || url.password !== '') throw usageError('--url: must not hold a user name or password')
  return url
}

const usageError = (message: string): OperatorError => new OperatorError(message, { exitCode: 2 })

/** Thrown when the service is out of reach or busy. The same request may succeed later. */
export class Unavailable extends OperatorError {
  /** Milliseconds after which the service asks for a retry; 0 when it does not. */
  retryAfter = 0
}

interface FileRequest {
  readonly query: URLSearchParams
  /** The format of the file that is sent or received. */
  readonly format: Format
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
  readonly #options: RequestOptions
  #wasReached = false

  /** @param address without a query. The service's paths follow its path, which may be the prefix of a proxy */
  constructor(address: URL, token: string) {
    this.#address = address
    const agent = new (address.protocol === 'https:' ? HttpsAgent : http.Agent)({ keepAlive: true, maxSockets: 1 })
    this.#options = { agent, headers: { Authorization: `Bearer ${token}` } }
  }

  async importPlants(body: Body, { query, format, signal }: FileRequest): Promise<ImportSummary & Partial<Duplicates>> {
    const headers = { 'Content-Type': MEDIA_TYPES[format] }
    const answer = await this.#send('POST', `plants/import?${query}`, signal, headers, body)
    return readSummary(await this.#whole(text(answer), signal)) ?? this.#throwNotPlantstore()
  }

  /** Yields the bytes of a file. Ends without an error only after the last byte. */
  async *exportPlants({ query, format, signal }: FileRequest): AsyncGenerator<Uint8Array> {
    const answer = await this.#send('GET', `plants/export?${query}`, signal, { Accept: MEDIA_TYPES[format] })
    if (answer.headers['content-type']?.startsWith(MEDIA_TYPES[format]) !== true) this.#throwNotPlantstore()
    try {
      yield* answer
    } catch (error) {
      throw this.#fault(error, signal)
    }
  }

  /** Returns the answer to a request without a body, as text. */
  async ask(method: 'GET' | 'POST', path: string, signal: AbortSignal): Promise<string> {
    return this.#whole(text(await this.#send(method, path, signal)), signal)
  }

  /** Resolves with the head of a successful answer, which may come before the end of the body. */
  async #send(
    method: string,
    path: string,
    signal: AbortSignal,
    headers: Readonly<Record<string, string>> = {},
    body: Body = '',
  ): Promise<IncomingMessage> {
    const url = new URL(`${this.#address.pathname.replace(/\/?$/, '/')}${path}`, this.#address)
    const send = url.protocol === 'https:' ? httpsRequest : http.request
    const { agent } = this.#options
    const outgoing = send(url, { method, agent, signal, headers: { ...this.#options.headers, ...headers } })
    const answering = new Promise<IncomingMessage>((resolve, reject) => {
      outgoing.on('response', resolve)
      outgoing.on('error', reject)
      if (typeof body === 'object') pipeline(body, outgoing).catch(reject)
      else outgoing.end(body)
    })
    const answer = await this.#whole(answering, signal)
    this.#wasReached = true
    if (answer.statusCode !== 200) throw await this.#refusal(answer)
    return answer
  }

  async #whole<T>(answer: Promise<T>, signal: AbortSignal): Promise<T> {
    try {
      return await answer
    } catch (error) {
      throw this.#fault(error, signal)
    }
  }

  /** Returns the error to throw for a connection that failed or broke, and other errors unchanged. */
  #fault(error: unknown, signal: AbortSignal): unknown {
    const cause = signal.aborted ? signal.reason : error
    if (!(cause instanceof Error)) return cause
    const code = cause.name === 'TimeoutError' ? 'ETIMEDOUT' : 'code' in cause ? String(cause.code) : ''
    const unreached = UNREACHED[code] ?? (UNTRUSTED.test(code) ? `${UNTRUSTED_WHY} (${code})` : undefined)
    const message = `${this.#address.href}: ${unreached ?? `the connection broke (${code})`}`
    // Before the first connection, the address is probably wrong, which a retry does not change.
    this.#wasReached ||= BROKEN.includes(code)
    if (this.#wasReached && (unreached !== undefined || BROKEN.includes(code)))
      return new Unavailable(message, { cause })
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
    const error = new Unavailable(message)
    error.retryAfter = Number(headers['retry-after'] ?? 0) * 1000
    return error
  }
}

const TRANSIENT: readonly number[] = [408, 429, 502, 503, 504]
const BROKEN: readonly string[] = ['ECONNRESET', 'ECONNABORTED', 'EPIPE', 'ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH']
const UNREACHED: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing answers there; is the service running?',
  ENOTFOUND: 'no host has this name',
  EAI_AGAIN: 'the host name cannot be resolved at the moment',
}
/** Codes of certificates that Node.js does not trust (https://nodejs.org/api/tls.html#x509-certificate-error-codes). */
const UNTRUSTED = /CERT|UNABLE_TO_|SIGNATURE/
const UNTRUSTED_WHY =
  'its certificate is not trusted; NODE_EXTRA_CA_CERTS=FILE adds an authority of your own to those that are trusted'
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

interface RetryOptions {
  /** Milliseconds. */
  readonly retryFor: number
  /** Ends a pause between two attempts, which then throws the signal's reason. */
  readonly stop: AbortSignal
  /** Called before the first pause. */
  readonly onWait: (error: Unavailable) => void
}

/** The most batches in one request, which takes a round trip over the network. */
const BATCHES = 5
/** Milliseconds that the service may take to store them. A busy service refuses them long before. */
const TIMEOUT = 60_000

/**
 * Imports rows in pieces through a running service. It sends a piece again when the answer is lost. This is safe, as
 * the service then counts the rows as unchanged.
 */
export function importThrough(
  service: ServiceClient,
  mode: ImportMode,
  batches: AsyncIterable<Batch>,
  take: (summary: ImportSummary) => void,
  retrying: RetryOptions,
): Promise<void> {
  return putBatches(
    pieces(batches),
    async ({ plants }) => {
      const body = plants.map(ndjsonRow).join('')
      const query = new URLSearchParams({ mode })
      const { refusedRows, ...counts } = await retry(
        () => service.importPlants(body, { format: 'ndjson', query, signal: AbortSignal.timeout(TIMEOUT) }),
        retrying,
      )
      // A piece has one row in each line.
      return { ...counts, refusals: refusedRows.map(({ line, ...refusal }) => ({ ...refusal, index: line - 1 })) }
    },
    take,
  )
}

/** Joins the batches of one chunk of the file. All but its last one are full. */
async function* pieces(batches: AsyncIterable<Batch>): AsyncGenerator<Batch> {
  let gathered: Batch[] = []
  for await (const batch of batches) {
    const isFull = batch.plants.length + batch.refused.length >= MAX_ROWS
    if (gathered.push(batch) < BATCHES && isFull) continue
    yield joined(gathered)
    gathered = []
  }
  if (gathered.length > 0) yield joined(gathered)
}

const joined = (batches: readonly Batch[]): Batch => ({
  plants: batches.flatMap(({ plants }) => plants),
  lines: batches.flatMap(({ lines }) => lines),
  refused: batches.flatMap(({ refused }) => refused),
})

const FIRST_PAUSE = 200
const MAX_PAUSE = 5000

/** Retries at growing intervals while the service is unavailable. At last throws its Unavailable. */
async function retry<T>(attempt: () => Promise<T>, { retryFor, stop, onWait }: RetryOptions): Promise<T> {
  const deadline = performance.now() + retryFor
  for (let pause = FIRST_PAUSE; ; pause = Math.min(pause * 2, MAX_PAUSE)) {
    try {
      return await attempt()
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error
      const wait = Math.max(pause, error.retryAfter)
      if (performance.now() + wait > deadline) throw error
      if (pause === FIRST_PAUSE) onWait(error)
      await sleep(wait, undefined, { signal: stop }).catch(() => stop.throwIfAborted())
    }
  }
}
