import { randomBytes } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import type { Logger } from 'pino'
import { Histogram, Windows } from '../../base/counts.ts'
import { addressGroup, type ClientAddresses } from '../../base/network.ts'
import { AppError } from '../../domain/errors.ts'
import type { Labels, Metrics } from '../metrics/metrics.ts'
import type { Exchange } from '../request/exchange.ts'

/** Pino's number of the level debug. The level may change while the service runs. */
const DEBUG = 20
/** Lines per WINDOW about one error number, and of those about one address. */
const MAX_LINES = 20
const MAX_LINES_PER_ADDRESS = 5
/** Milliseconds. */
const WINDOW = 1000
/** Characters of a message in the log. */
const MAX_MESSAGE = 400

/** The ids of clients that the service adopts: short, and safe without quotes in a log, a shell or a path. */
const ADOPTED = /^[A-Za-z0-9._~:@=+-]{1,64}$/

/** The status in the metrics of a request whose client left, as in the log of nginx. */
const CLIENT_GONE = 499

/** Upper bounds of the buckets of answers, in milliseconds. */
const MILLISECONDS = [1, 2.5, 5, 10, 25, 50, 100, 250, 1000, 5000]

interface Answers {
  readonly byStatus: Float64Array
  readonly milliseconds: Histogram
}

/** Gives each request an id. Logs and counts its answer, in plain arrays: the library's counters take 0.4 µs each. */
export class RequestLog {
  readonly #log: Logger
  readonly #answers = new Map<string, Answers>()
  readonly #addresses: ClientAddresses
  readonly #refusals: RefusalLog
  /** Unique to this run of the process. */
  readonly #prefix = `${randomBytes(4).toString('hex')}-`
  #count = 0

  constructor(log: Logger, metrics: Metrics, addresses: ClientAddresses) {
    this.#log = log
    this.#addresses = addresses
    this.#refusals = new RefusalLog(log)
    metrics.series('plantstore_http_requests_total', () => this.#requests())
    metrics.series('plantstore_refusals_total', () =>
      [...this.#refusals.counts].map(([error, count]) => [{ error }, count]),
    )
    metrics.histogram('plantstore_http_request_seconds', 1000, () =>
      [...this.#answers].map(([operation, { milliseconds }]) => [{ operation }, milliseconds]),
    )
  }

  /** Returns the id of a request: `X-Request-Id` of its answer, and `req` of its lines in the log. */
  idOf(exchange: Exchange): string {
    if (exchange.requestId === undefined) {
      const sent = exchange.request.headers['x-request-id']
      exchange.requestId = typeof sent === 'string' && ADOPTED.test(sent) ? sent : this.#newId()
    }
    return exchange.requestId
  }

  /** Records an answer that is no refusal. */
  answered(exchange: Exchange, status: number): void {
    this.#done(exchange, status, 'answered')
  }

  /** Records a request that ended without a whole answer. */
  unanswered(exchange: Exchange): void {
    const { reason } = exchange.signal
    if (reason instanceof AppError) this.#observe(exchange, reason.status)
    else this.#done(exchange, CLIENT_GONE, 'the client left')
  }

  refused(exchange: Exchange, refusal: AppError): void {
    this.#refusals.write(refusal, () => this.#fieldsOf(exchange))
    this.#observe(exchange, refusal.status)
  }

  /** Logs the reason for which the service cut an answer off. `unanswered` then records the request. */
  cutOff(exchange: Exchange, refusal: AppError): void {
    this.#refusals.write(refusal, () => ({ ...this.#fieldsOf(exchange), brokenOff: true }))
  }

  /**
   * Records a refusal on a connection without a request to answer.
   *
   * @returns the id of the refusal in the log
   */
  note(refusal: AppError, address: string | undefined): string {
    const req = this.#newId()
    this.#refusals.write(refusal, () => ({ req, address: this.#addresses.of(address, {}) }))
    this.#countAnswer('none', refusal.status, 0)
    return req
  }

  #newId(): string {
    return this.#prefix + (this.#count++).toString(36)
  }

  #done(exchange: Exchange, status: number, message: string): void {
    if (this.#log.levelVal <= DEBUG) this.#log.debug({ ...this.#fieldsOf(exchange), status }, message)
    this.#observe(exchange, status)
  }

  #observe(exchange: Exchange, status: number): void {
    this.#countAnswer(exchange.operation?.id ?? 'none', status, performance.now() - exchange.startedAt)
  }

  /** Counts an answer. `operation` is `none` for a request that fits no operation. */
  #countAnswer(operation: string, status: number, milliseconds: number): void {
    let answers = this.#answers.get(operation)
    if (answers === undefined) {
      answers = { byStatus: new Float64Array(600), milliseconds: new Histogram(MILLISECONDS) }
      this.#answers.set(operation, answers)
    }
    answers.byStatus[status] = (answers.byStatus[status] ?? 0) + 1
    answers.milliseconds.observe(milliseconds)
  }

  *#requests(): Generator<readonly [Labels, number]> {
    for (const [operation, { byStatus }] of this.#answers) {
      for (const [status, count] of byStatus.entries()) if (count > 0) yield [{ operation, status }, count]
    }
  }

  /** The fields of a request in the log. Leaves out query, headers and body, which may hold secrets. */
  #fieldsOf(exchange: Exchange) {
    const { request, operation, identity, startedAt } = exchange
    return {
      req: this.idOf(exchange),
      trace: traceIn(request.headers),
      operation: operation?.id ?? 'none',
      method: request.method,
      path: loggedPath(request.url),
      token: identity?.actor.id,
      address: this.#addresses.of(request.socket.remoteAddress, request.headers),
      ms: Math.round((performance.now() - startedAt) * 100) / 100,
    }
  }
}

/** Version, trace id, parent id, flags (https://www.w3.org/TR/trace-context/). Later versions may append members. */
const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-(?!0+-)([0-9a-f]{32})-(?!0+-)[0-9a-f]{16}-[0-9a-f]{2}(?:$|(?<!^00.*)-)/

/** Returns the id of the trace to which the client's request belongs; undefined without a valid `traceparent`. */
function traceIn({ traceparent }: IncomingHttpHeaders): string | undefined {
  if (typeof traceparent !== 'string') return undefined
  return TRACEPARENT.exec(traceparent)?.[1]
}

/** Characters of a path in the log. */
const MAX_PATH = 200

/** The path of a URL, cut short, without the query, which may hold data of the client. */
const loggedPath = (url = ''): string => cutShort(url.split('?', 1)[0] ?? '', MAX_PATH)

interface RefusalFields {
  readonly address: string
  readonly [field: string]: unknown
}

/**
 * Writes refusals to the log: all of them at level debug, else a few per second of each error number, and fewer of each
 * address. The next line about the same number has the number of suppressed lines.
 */
export class RefusalLog {
  /** All refusals by their numbers, also those that no client gets. */
  readonly counts = new Map<number, number>()
  readonly #log: Logger
  readonly #lines = new Windows(WINDOW)

  constructor(log: Logger) {
    this.#log = log
  }

  /** @param about makes the fields of the line; not called once a second has all its lines of the number */
  write(refusal: AppError, about: () => RefusalFields): void {
    const { status, number, cause } = refusal
    this.counts.set(number, (this.counts.get(number) ?? 0) + 1)
    const fields = this.#log.levelVal <= DEBUG ? about() : this.#admitted(number, about)
    if (fields === undefined) return
    const all = { ...fields, status, error: number }
    const message = cutShort(refusal.message, MAX_MESSAGE)
    if (status < 500) this.#log.info(all, `refused: ${message}`)
    else this.#log.error({ ...all, err: cause ?? refusal }, `failed: ${message}`)
  }

  #admitted(error: number, about: () => RefusalFields): object | undefined {
    const lines = this.#lines.of(String(error))
    const fields = lines.count < MAX_LINES ? about() : undefined
    const ofAddress = fields && this.#lines.of(`${error} ${addressGroup(fields.address)}`)
    if (ofAddress === undefined || ofAddress.count >= MAX_LINES_PER_ADDRESS) {
      lines.omitted++
      return undefined
    }
    lines.count++
    ofAddress.count++
    const suppressed = lines.omitted
    lines.omitted = 0
    return suppressed > 0 ? { ...fields, suppressed } : fields
  }
}

const cutShort = (text: string, max: number): string => (text.length <= max ? text : `${text.slice(0, max)}…`)
