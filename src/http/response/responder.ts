import type { Logger } from 'pino'
import type { AuditLog } from '../../domain/audit.ts'
import { AppError, errorJson } from '../../domain/errors.ts'
import { AuditTrail } from '../audit-trail.ts'
import type { ClientAddresses } from '../auth/client-address.ts'
import { endAfterBody } from '../connection/drain-body.ts'
import { UnreadAnswers, type UnreadLimits } from '../connection/unread-answers.ts'
import type { Exchange } from '../exchange.ts'
import type { Metrics } from '../metrics/metrics.ts'
import { preferredCoding } from '../request/negotiation.ts'
import type { ServiceState } from '../service-state.ts'
import { compressPieces } from './compress-pieces.ts'
import { CompressedFiles, Compressor, codingOf, withCodedTag, withCoding } from './compression.ts'
import type { Cors } from './cors.ts'
import { asRefusal, refusalHeaders } from './http-error.ts'
import { RequestLog } from './request-log.ts'
import { type SendOptions, SLICE_SIZE, sendInSlices, sendPieces } from './send-pieces.ts'

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
}

export interface ResponderLimits extends UnreadLimits {
  /** Milliseconds for which a connection may be idle; 0 for no limit. */
  readonly keepAliveTimeout: number
  /** Bytes of answers that may be compressed at once. */
  readonly compressionLimit: number
}

/** Writes the answer to each request. RequestLog records it, and AuditTrail each change. */
export class Responder {
  readonly audit: AuditTrail
  readonly #log: Logger
  readonly #requests: RequestLog
  readonly #state: ServiceState
  readonly #cors: Cors | undefined
  /** The value of Keep-Alive (RFC 2068 section 19.7.1.1), by which a client knows how long it may use a connection. */
  readonly #keepAlive: string | undefined
  readonly #unread: UnreadAnswers
  readonly #files = new CompressedFiles()
  readonly #compressor: Compressor

  constructor({ log, audit, metrics, state, addresses, cors, limits }: ResponderOptions) {
    this.#log = log
    this.#requests = new RequestLog({ log, metrics, addresses })
    this.#state = state
    this.#cors = cors
    this.#keepAlive =
      limits.keepAliveTimeout === 0 ? undefined : `timeout=${Math.floor(limits.keepAliveTimeout / 1000)}`
    this.#unread = new UnreadAnswers(limits, (exchange, reason) => this.#requests.cutOff(exchange, reason))
    this.#unread.describe(metrics)
    this.#compressor = new Compressor(limits.compressionLimit)
    this.#compressor.describe(metrics)
    this.audit = new AuditTrail(audit, addresses, (exchange) => this.#requests.idOf(exchange))
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
      this.#requests.unanswered(exchange)
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
    this.#requests.refused(exchange, refusal)
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
      this.#requests.answered(exchange, 200)
    } catch (error) {
      await this.#close(exchange, pieces)
      this.#breakOff(exchange, error)
    }
  }

  /**
   * Records a refusal on a connection without a request to answer.
   *
   * @param origin the sender's `Origin`, where it is known
   * @returns the headers that every answer has, names and values in turn
   */
  note(refusal: AppError, address: string | undefined, origin?: string): readonly string[] {
    return this.#headersOf(this.#requests.note(refusal, address), origin)
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
      this.#requests.unanswered(exchange)
    } else if (body !== undefined && length > SLICE_SIZE && exchange.request.method !== 'HEAD' && status !== 304) {
      void this.#replyInSlices(exchange, status, headers, typeof body === 'string' ? Buffer.from(body) : body)
    } else {
      this.#end(exchange, status, headers, body, length)
      this.#requests.answered(exchange, status)
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
      this.#requests.answered(exchange, status)
    } catch {
      this.#requests.unanswered(exchange)
    }
  }

  #end(exchange: Exchange, status: number, headers: string[], body: string | Buffer | undefined, length: number): void {
    const { request, response, operation } = exchange
    if (body !== undefined) headers.push('Content-Length', String(length))
    this.#begin(exchange, status, headers)
    // A request that announced no body has ended, though Node.js calls it complete only after its head.
    const hasMore = !request.complete && !request.readableEnded
    if (hasMore && body !== undefined && (operation?.isStreamed === true || headers.includes('Connection'))) {
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
    headers.push(...this.#headersOf(this.#requests.idOf(exchange), request.headers.origin))
    if (rateLimitHeaders !== undefined) headers.push(...rateLimitHeaders)
    if (!headers.includes('Connection')) {
      if (this.#state.current !== 'serving') headers.push('Connection', 'close')
      else if (this.#keepAlive !== undefined && response.shouldKeepAlive) headers.push('Keep-Alive', this.#keepAlive)
    }
    response.writeHead(status, headers)
  }

  #headersOf(requestId: string, origin: string | undefined): readonly string[] {
    const headers = ['X-Content-Type-Options', 'nosniff', 'X-Request-Id', requestId]
    return this.#cors === undefined ? headers : [...headers, ...this.#cors.headersOf(origin)]
  }

  #close(exchange: Exchange, pieces: AsyncGenerator<string | Buffer, void>): Promise<unknown> {
    const message = 'an unfinished answer could not be closed'
    return pieces
      .return()
      .catch((error: unknown) => this.#log.warn({ req: this.#requests.idOf(exchange), err: error }, message))
  }

  #breakOff(exchange: Exchange, error: unknown): void {
    if (!exchange.response.headersSent || exchange.isOver) {
      this.refuse(exchange, error)
      return
    }
    const refusal = asRefusal(error)
    exchange.giveUp(refusal)
    this.#requests.cutOff(exchange, refusal)
    this.#requests.unanswered(exchange)
  }
}

const unreadAnswers = (): AppError => new AppError(50302, 'too many answers wait for slow clients; retry in a second')
