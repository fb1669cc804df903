import type { Logger } from 'pino'
import type { AuditLog } from '../../audit.ts'
import { AppError, errorJson } from '../../errors.ts'
import { AuditTrail } from '../audit-trail.ts'
import type { ClientAddresses } from '../auth/client-address.ts'
import { endAfterBody } from '../connection/drain-body.ts'
import { UnreadAnswers, type UnreadLimits } from '../connection/unread-answers.ts'
import type { Exchange } from '../exchange.ts'
import type { Metrics } from '../metrics/metrics.ts'
import { preferredCoding } from '../request/negotiation.ts'
import { RequestIds } from '../request/request-id.ts'
import type { ServiceState } from '../service-state.ts'
import type { Tracer } from '../tracing/tracer.ts'
import { CompressedFiles, codingOf, compressPieces, withCodedTag, withCoding } from './compression.ts'
import { Compressor } from './compressor.ts'
import type { Cors } from './cors.ts'
import { asRefusal, refusalHeaders } from './http-error.ts'
import { DEBUG, RefusalLog } from './refusal-log.ts'
import { requestFields } from './request-fields.ts'
import { type SendOptions, SLICE, sendInSlices, sendPieces } from './send-pieces.ts'

export const JSON_TYPE = 'application/json'
/** Cache-Control of reads: only the client may cache the answer, and must revalidate it each time. */
export const READ_CACHING = 'private, no-cache'

export interface ResponderOptions {
  readonly log: Logger
  readonly audit: AuditLog
  readonly metrics: Metrics
  readonly state: ServiceState
  readonly addresses: ClientAddresses
  /** Undefined: scripts of other origins cannot read any answer. */
  readonly cors: Cors | undefined
  readonly limits: ResponderLimits
  /** Undefined: the service traces no request. */
  readonly tracer?: Tracer | undefined
}

export interface ResponderLimits extends UnreadLimits {
  /** Bytes of answers that may be compressed at once. */
  readonly compressionLimit: number
}

/** Writes, counts and logs the answer to each request, and writes each change to the audit log. */
export class Responder {
  readonly audit: AuditTrail
  readonly #log: Logger
  readonly #addresses: ClientAddresses
  readonly #metrics: Metrics
  readonly #state: ServiceState
  readonly #cors: Cors | undefined
  readonly #unread: UnreadAnswers
  readonly #refusals: RefusalLog
  readonly #ids = new RequestIds()
  readonly #files = new CompressedFiles()
  readonly #compressor: Compressor
  readonly #tracer: Tracer | undefined

  constructor({ log, audit, metrics, state, addresses, cors, limits, tracer }: ResponderOptions) {
    this.#tracer = tracer
    this.#log = log
    this.#metrics = metrics
    this.#state = state
    this.#addresses = addresses
    this.#cors = cors
    this.#unread = new UnreadAnswers(limits, (exchange, reason) => this.#logCut(exchange, reason))
    this.#unread.describe(metrics)
    this.#compressor = new Compressor(limits.compressionLimit)
    this.#compressor.describe(metrics)
    this.#refusals = new RefusalLog(log)
    this.audit = new AuditTrail(audit, addresses, (exchange) => this.idOf(exchange))
  }

  /**
   * Answers a request. Compresses a body of a kilobyte or more when the client accepts that and there is room.
   *
   * @param headers names and values in turn, without Content-Length and Connection
   * @param body undefined for a 204, which has neither a body nor a length
   */
  reply(exchange: Exchange, status: number, headers: string[], body?: string | Buffer): void {
    if (exchange.change !== undefined) this.audit.answered(exchange)
    const coding = body === undefined ? undefined : codingOf(exchange.request, body)
    if (body === undefined || coding === undefined || !this.#compressor.hasRoom(Buffer.byteLength(body))) {
      this.#reply(exchange, status, headers, body)
    } else {
      const compressing = this.#compressor.compress(Buffer.from(body), coding)
      this.#replyCompressed(exchange, status, withCoding(headers, coding), compressing)
    }
  }

  /** Answers 200 with a file that never changes. Compresses it once for each coding. */
  replyFile(exchange: Exchange, headers: string[], file: Buffer): void {
    const coding = codingOf(exchange.request, file)
    if (coding === undefined) this.#reply(exchange, 200, headers, file)
    else this.#replyCompressed(exchange, 200, withCoding(headers, coding), this.#files.compress(file, coding))
  }

  /**
   * Call it before work with a large answer: once the work is done, the service cannot refuse it.
   *
   * @throws AppError 50302 while unread answers take all the memory that they may have
   */
  mustHaveRoom(): void {
    if (!this.#unread.makeRoom(1)) throw unreadAnswers()
  }

  /**
   * Answers 304: the client has the body already.
   *
   * @param headers as for the answer with a body; the entity tag depends on the content coding
   */
  notModified(exchange: Exchange, headers: string[], body: string | Buffer): void {
    const coding = codingOf(exchange.request, body)
    this.#reply(exchange, 304, coding === undefined ? headers : withCodedTag(headers, coding))
  }

  /** Answers `{error, message}`. Logs an error other than AppError, and answers 50001 without the error's text. */
  refuse(exchange: Exchange, error: unknown): void {
    this.audit.refused(exchange, error)
    if (exchange.isOver) {
      this.#gone(exchange)
      return
    }
    const refusal = asRefusal(error)
    const { status, number, message } = refusal
    const headers = [
      'Content-Type',
      JSON_TYPE,
      'Cache-Control',
      'no-store',
      ...Object.entries(refusalHeaders(refusal)).flat(),
    ]
    const body = errorJson(number, message)
    this.#end(exchange, status, headers, body, Buffer.byteLength(body))
    this.#refusals.write(refusal, () => this.#about(exchange))
    this.#metrics.countRefusal(number)
    this.#observe(exchange, status)
  }

  /**
   * Answers 200 with pieces as they come, no faster than the client reads them. Refuses the request on an error before
   * the first piece. A later error closes the connection, which shows the client that the answer is incomplete.
   *
   * @param options as for sendPieces; an abort of the signal ends the answer with the signal's reason
   */
  async stream(
    exchange: Exchange,
    headers: string[],
    plain: AsyncGenerator<string, void>,
    options: SendOptions,
  ): Promise<void> {
    const { request, response } = exchange
    const coding = preferredCoding(request.headers['accept-encoding'])
    if (coding !== undefined) withCoding(headers, coding)
    const pieces = coding === undefined ? plain : compressPieces(plain, coding)
    try {
      const first = await pieces.next()
      this.#begin(exchange, 200, headers)
      if (request.method !== 'HEAD') await sendPieces(response, first, pieces, options)
      // The pieces must release the store before the answer ends.
      await this.#close(exchange, pieces)
      response.end()
      this.#done(exchange, 200, 'answered')
    } catch (error) {
      await this.#close(exchange, pieces)
      this.#breakOff(exchange, error)
    }
  }

  /**
   * Logs and counts a refusal on a connection without a request to answer.
   *
   * @returns its id in the log
   */
  note(refusal: AppError, address: string | undefined): string {
    const req = this.#ids.next()
    this.#refusals.write(refusal, () => ({ req, address: this.#addresses.of(address, {}) }))
    this.#metrics.countRefusal(refusal.number)
    this.#metrics.observe('none', refusal.status, 0)
    return req
  }

  #replyCompressed(exchange: Exchange, status: number, headers: string[], compressing: Promise<Buffer>): void {
    compressing.then(
      (body) => this.#reply(exchange, status, headers, body),
      (error: unknown) => this.refuse(exchange, error),
    )
  }

  #reply(exchange: Exchange, status: number, headers: string[], body?: string | Buffer): void {
    const length = body === undefined ? 0 : Buffer.byteLength(body)
    if (exchange.isOver) {
      this.#gone(exchange)
    } else if (body !== undefined && length > SLICE && exchange.request.method !== 'HEAD' && status !== 304) {
      void this.#replyInSlices(exchange, status, headers, typeof body === 'string' ? Buffer.from(body) : body)
    } else {
      this.#end(exchange, status, headers, body, length)
      this.#done(exchange, status, 'answered')
    }
  }

  async #replyInSlices(exchange: Exchange, status: number, headers: string[], body: Buffer): Promise<void> {
    // A change is done at this point, so a refusal would be wrong.
    if (!this.#unread.makeRoom(body.length) && exchange.request.method === 'GET') {
      this.refuse(exchange, unreadAnswers())
      return
    }
    headers.push('Content-Length', String(body.length))
    this.#begin(exchange, status, headers)
    this.#unread.watch(exchange, body.length)
    try {
      await sendInSlices(exchange, body)
      exchange.response.end()
      this.#done(exchange, status, 'answered')
    } catch {
      this.#gone(exchange)
    }
  }

  #end(exchange: Exchange, status: number, headers: string[], body: string | Buffer | undefined, length: number): void {
    const { request, response, operation } = exchange
    if (body !== undefined) headers.push('Content-Length', String(length))
    this.#begin(exchange, status, headers)
    if (!request.complete && body !== undefined && (operation?.isStreamed === true || headers.includes('Connection'))) {
      endAfterBody(response, body)
    }
    // A text with as many bytes as characters is ASCII, which Node.js writes fastest as latin1.
    else if (length === body?.length) response.end(body, 'latin1')
    else response.end(body)
    if (response.writableLength > 0) this.#unread.watch(exchange, response.writableLength)
  }

  #begin(exchange: Exchange, status: number, headers: string[]): void {
    const { request, response, operation, rateLimitHeaders } = exchange
    if (operation !== undefined && operation.vary !== '') headers.push('Vary', operation.vary)
    // Two fields of one name mean the same as one field with a list (RFC 9110 section 5.2).
    if (this.#cors !== undefined) headers.push('Vary', 'Origin', ...this.#cors.headersOf(request))
    headers.push('X-Content-Type-Options', 'nosniff', 'X-Request-Id', this.idOf(exchange))
    if (rateLimitHeaders !== undefined) headers.push(...rateLimitHeaders)
    if (this.#state.current !== 'serving' && !headers.includes('Connection')) headers.push('Connection', 'close')
    response.writeHead(status, headers)
  }

  #close(exchange: Exchange, pieces: AsyncGenerator<string | Buffer, void>): Promise<unknown> {
    const message = 'an unfinished answer could not be closed'
    return pieces.return().catch((error: unknown) => this.#log.warn({ req: this.idOf(exchange), err: error }, message))
  }

  #breakOff(exchange: Exchange, error: unknown): void {
    if (!exchange.response.headersSent || exchange.isOver) {
      this.refuse(exchange, error)
      return
    }
    const refusal = asRefusal(error)
    exchange.giveUp(refusal)
    this.#logCut(exchange, refusal)
    this.#observe(exchange, refusal.status)
  }

  #gone(exchange: Exchange): void {
    const { reason } = exchange.signal
    if (reason instanceof AppError) this.#observe(exchange, reason.status)
    else this.#done(exchange, CLIENT_GONE, 'the client left')
  }

  #logCut(exchange: Exchange, refusal: AppError): void {
    this.#metrics.countRefusal(refusal.number)
    this.#refusals.write(refusal, () => ({ ...this.#about(exchange), brokenOff: true }))
  }

  #done(exchange: Exchange, status: number, message: string): void {
    if (this.#log.levelVal <= DEBUG) this.#log.debug({ ...this.#about(exchange), status }, message)
    this.#observe(exchange, status)
  }

  #observe(exchange: Exchange, status: number): void {
    exchange.endedAt = performance.now()
    this.#metrics.observe(exchange.operation?.id ?? 'none', status, exchange.endedAt - exchange.startedAt)
    if (this.#tracer !== undefined) this.#tracer.end(exchange, status, this.idOf(exchange), this.#addresses)
  }

  /** Returns the id of a request in its answer and in the log. */
  idOf(exchange: Exchange): string {
    exchange.requestId ??= this.#ids.of(exchange.request.headers['x-request-id'])
    return exchange.requestId
  }

  #about(exchange: Exchange) {
    const { socket, headers } = exchange.request
    const names = { req: this.idOf(exchange), trace: this.#tracer?.traceIdOf(exchange) }
    return requestFields(exchange, names, this.#addresses.of(socket.remoteAddress, headers))
  }
}

/** The status in the metrics of a request whose client left, as in the log of nginx. */
const CLIENT_GONE = 499

const unreadAnswers = (): AppError => new AppError(50302, 'too many answers wait for slow clients; retry in a second')
