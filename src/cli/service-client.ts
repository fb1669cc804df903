import { Agent, type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'
import { text } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { OperatorError } from '../base/operator-error.ts'
import { type ImportMode, textLength } from '../domain/plant.ts'
import type { Batch } from '../import/batch.ts'
import type { Duplicates } from '../import/duplicates.ts'
import { FORMATS, type Format, formatOf, MEDIA_TYPES, writePlants } from '../import/format.ts'
import { type BatchOutcome, type ImportSummary, putBatches, readSummary } from '../import/run-import.ts'
import type { Config, StoreAddress } from '../settings/config.ts'

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

  /** Returns the JSON of an answer to a request without a body. */
  async ask(method: 'GET' | 'POST', path: string, signal: AbortSignal): Promise<unknown> {
    const request = { query: new URLSearchParams(), mediaType: 'application/json', signal }
    return JSON.parse(await this.#read(text(await this.#send(method, path, request)), signal))
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
    const unreached = UNREACHED[code] ?? (UNTRUSTED.test(code) ? `${UNTRUSTED_WHY} (${code})` : undefined)
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

interface RetryOptions {
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
async function retry<T>(attempt: () => Promise<T>, options: RetryOptions): Promise<T> {
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

/** Rows, or UTF-16 units of their texts, after which a piece is sent as one request. */
const PIECE_ROWS = 5000
const PIECE_TEXT = 2 ** 19
/** Milliseconds that the service may take to store a piece. A busy service refuses it long before. */
const PIECE_TIMEOUT = 60_000

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
  const send = (plants: Batch['plants']) =>
    service.importPlants(writePlants('ndjson', plants), {
      mediaType: MEDIA_TYPES.ndjson,
      query: new URLSearchParams({ mode }),
      signal: AbortSignal.timeout(PIECE_TIMEOUT),
    })
  const put = async ({ plants }: Batch): Promise<BatchOutcome> => {
    const { refusedRows, ...counts } = await retry(() => send(plants), retrying)
    // A piece has one row in each line.
    return { ...counts, refusals: refusedRows.map(({ line, ...refusal }) => ({ ...refusal, index: line - 1 })) }
  }
  return putBatches(pieces(batches), put, take)
}

/** Makes a dry run on a running service, in one request for the whole file: a row may depend on any earlier row. */
export function dryRunThrough(
  service: ServiceClient,
  options: { readonly mode: ImportMode; readonly dryRun: boolean; readonly duplicates: boolean },
  format: Format,
  content: AsyncIterable<Buffer>,
  signal: AbortSignal,
): Promise<ImportSummary & Partial<Duplicates>> {
  const query = new URLSearchParams(Object.entries(options).map(([name, value]) => [name, String(value)]))
  return service.importPlants(content, { mediaType: MEDIA_TYPES[format], query, signal })
}

/** Joins batches, because each request takes a round trip over the network. */
async function* pieces(batches: AsyncIterable<Batch>): AsyncGenerator<Batch> {
  let gathered: Batch[] = []
  let rows = 0
  let text = 0
  for await (const batch of batches) {
    gathered.push(batch)
    rows += batch.plants.length + batch.refused.length
    for (const plant of batch.plants) text += textLength(plant)
    if (rows < PIECE_ROWS && text < PIECE_TEXT) continue
    yield joined(gathered)
    gathered = []
    rows = 0
    text = 0
  }
  if (gathered.length > 0) yield joined(gathered)
}

const joined = (batches: readonly Batch[]): Batch => ({
  plants: batches.flatMap(({ plants }) => plants),
  lines: batches.flatMap(({ lines }) => lines),
  refused: batches.flatMap(({ refused }) => refused),
})

export interface KindFlags {
  readonly format?: Format
  readonly gzip?: true
}

interface FileKind {
  readonly format: Format
  readonly gzip: boolean
}

/**
 * Returns the format of a file, and whether it is compressed, by the flags or else by the name.
 *
 * @param file a path, or `-` for standard input or output
 * @throws OperatorError (exit code 2) when neither tells the format
 */
export function fileKind(file: string, flags: KindFlags): FileKind {
  const format = flags.format ?? formatOf(file)
  if (format !== undefined) return { format, gzip: flags.gzip ?? file.toLowerCase().endsWith('.gz') }
  const reason =
    file === '-'
      ? '- has no file name to derive the format from'
      : `${file}: its name does not end like plants.csv or plants.ndjson`
  const cures = FORMATS.map((known) => `--format ${known}`)
  throw new OperatorError(`${reason}; add ${cures.join(' or ')}`, { exitCode: 2 })
}

export interface TargetFlags {
  readonly url?: string
  readonly store?: string
  readonly auditLog?: string
}

/** The target of a command: a running service, or a store that the command opens itself. */
type Target =
  | { readonly kind: 'service'; readonly service: ServiceClient }
  | { readonly kind: 'store'; readonly address: StoreAddress }

/** @throws OperatorError (exit code 2) when the flags contradict each other, or the address or the token is missing */
export function targetOf({ url, store }: TargetFlags, config: Config): Target {
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
