import { randomBytes } from 'node:crypto'
import type { Logger } from 'pino'
import { AppError, errorJson } from '../errors.ts'
import type { ClientAddresses } from './client-address.ts'
import { endAfterBody } from './drain-body.ts'
import type { Exchange } from './exchange.ts'
import { LogThrottle } from './log-throttle.ts'
import type { Metrics } from './metrics.ts'
import { sendPieces } from './send-pieces.ts'
import type { ServiceState } from './service-state.ts'

export const JSON_TYPE = 'application/json'
/** For what is read: only the client itself may keep it, and has to ask each time whether it is still so. */
export const READ_CACHING = 'private, no-cache'

/** The one way out for every answer that belongs to a request: writes it, counts it, logs it. */
export class Responder {
  readonly #log: Logger
  readonly #addresses: ClientAddresses
  readonly #metrics: Metrics
  readonly #state: ServiceState
  readonly #logsEveryRequest: boolean
  readonly #throttle = new LogThrottle()
  /** Ids of requests begin alike within one run of the process, and with nothing else's. */
  readonly #prefix = randomBytes(4).toString('hex')
  #count = 0

  constructor(log: Logger, metrics: Metrics, state: ServiceState, addresses: ClientAddresses) {
    this.#addresses = addresses
    this.#log = log
    this.#metrics = metrics
    this.#state = state
    this.#logsEveryRequest = log.isLevelEnabled('debug')
  }

  /**
   * @param headers names and values in turn, without Content-Length and Connection
   * @param body left out with 204 and 304, which have none and no length
   */
  reply(exchange: Exchange, status: number, headers: string[], body?: string | Buffer): void {
    if (exchange.isOver) {
      this.#gone(exchange)
    } else {
      this.#end(exchange, status, headers, body)
      this.#done(exchange, status, 'answered')
    }
  }

  /** Answers `{error, message}`. An error that is not ours is logged with its cause and answered without. */
  refuse(exchange: Exchange, error: unknown): void {
    if (exchange.isOver) {
      this.#gone(exchange)
      return
    }
    const refusal = asRefusal(error)
    const { status, number, message } = refusal
    const headers = ['Content-Type', JSON_TYPE, ...Object.entries(refusal.headers).flat()]
    const id = this.#nextId()
    if (status >= 500) headers.push('X-Request-Id', id)
    this.#end(exchange, status, headers, errorJson(number, message))
    this.#logRefusal(refusal, { req: id, ...this.#about(exchange) })
    this.#observe(exchange, status)
  }

  /**
   * Answers 200 with pieces as they come, and no faster than the client takes them. An error before the first is a
   * refusal; one behind it breaks the connection off, so that the client sees that the answer is not whole.
   *
   * @param stallTimeout ms in which the client has to take something
   */
  async stream(
    exchange: Exchange,
    headers: string[],
    pieces: AsyncGenerator<string, void>,
    stallTimeout: number,
  ): Promise<void> {
    const { request, response } = exchange
    try {
      const first = await pieces.next()
      this.#begin(exchange, 200, headers)
      if (request.method !== 'HEAD') await sendPieces(exchange, first, pieces, stallTimeout)
      response.end()
      this.#done(exchange, 200, 'answered')
    } catch (error) {
      if (!response.headersSent || exchange.isOver) return this.refuse(exchange, error)
      const refusal = asRefusal(error)
      exchange.giveUp(refusal)
      this.#logRefusal(refusal, { req: this.#nextId(), ...this.#about(exchange), brokenOff: true })
      this.#observe(exchange, refusal.status)
    } finally {
      await pieces.return().catch((error: unknown) => this.#log.warn({ err: error }, 'an answer could not be let go'))
    }
  }

  /** Takes note of a refusal that was written to a connection on which there was no request to answer. */
  note(refusal: AppError, address: string | undefined): void {
    this.#logRefusal(refusal, { address: this.#addresses.of(address, {}) })
    this.#metrics.observe('none', refusal.status, 0)
  }

  #end(exchange: Exchange, status: number, headers: string[], body: string | Buffer | undefined): void {
    const { request, response, operation } = exchange
    const length = body === undefined ? 0 : Buffer.byteLength(body)
    if (body !== undefined) headers.push('Content-Length', String(length))
    this.#begin(exchange, status, headers)
    if (!request.complete && body !== undefined && (operation?.isStreamed === true || headers.includes('Connection'))) {
      endAfterBody(response, body)
    }
    // A text of as many bytes as characters is ASCII, which goes out as it is.
    else if (length === body?.length) response.end(body, 'latin1')
    else response.end(body)
  }

  #begin({ response, rateLimitHeaders }: Exchange, status: number, headers: string[]): void {
    if (rateLimitHeaders !== undefined) headers.push(...rateLimitHeaders)
    if (this.#state.current !== 'serving') headers.push('Connection', 'close')
    response.writeHead(status, headers)
  }

  #gone(exchange: Exchange): void {
    this.#done(exchange, CLIENT_GONE, 'the client left')
  }

  #done(exchange: Exchange, status: number, message: string): void {
    if (this.#logsEveryRequest) this.#log.debug({ req: this.#nextId(), ...this.#about(exchange), status }, message)
    this.#observe(exchange, status)
  }

  #observe({ operation, startedAt }: Exchange, status: number): void {
    this.#metrics.observe(operation?.id ?? 'none', status, performance.now() - startedAt)
  }

  #nextId(): string {
    return `${this.#prefix}-${(this.#count++).toString(36)}`
  }

  #about({ request, operation, identity, startedAt }: Exchange) {
    return {
      operation: operation?.id ?? 'none',
      method: request.method,
      // Without the query, which is the client's data; never a header, which may be a secret.
      path: cutShort(request.url?.split('?', 1)[0] ?? '', LONGEST_PATH),
      token: identity?.tokenId,
      address: this.#addresses.of(request.socket.remoteAddress, request.headers),
      ms: Math.round((performance.now() - startedAt) * 100) / 100,
    }
  }

  #logRefusal(refusal: AppError, fields: { readonly address: string; readonly [field: string]: unknown }): void {
    const { status, number, cause } = refusal
    const suppressed = this.#throttle.admit(number, fields.address)
    if (suppressed === undefined) return
    const all = { ...fields, status, error: number, ...(suppressed > 0 ? { suppressed } : {}) }
    const message = cutShort(refusal.message, LONGEST_MESSAGE)
    if (status < 500) this.#log.info(all, `refused: ${message}`)
    else this.#log.error({ ...all, err: cause ?? refusal }, `failed: ${message}`)
  }
}

/** The status that the metrics count for it; no client ever sees it (https://nginx.org/en/docs/http/ngx_http_log_module.html has it too). */
const CLIENT_GONE = 499

const asRefusal = (error: unknown): AppError =>
  error instanceof AppError ? error : new AppError(50001, 'something went wrong on our side', { cause: error })

/** Characters of a client's that a line of the log has. */
const LONGEST_PATH = 200
const LONGEST_MESSAGE = 400

const cutShort = (text: string, most: number): string => (text.length <= most ? text : `${text.slice(0, most)}…`)
