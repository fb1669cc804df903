import type { ServerResponse } from 'node:http'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { ClientAddresses } from '../../base/network.ts'
import { AppError, errorJson } from '../../domain/errors.ts'
import { abortable } from '../../domain/store.ts'
import type { Config } from '../../settings/config.ts'
import type { Metrics } from '../metrics/metrics.ts'
import { asRefusal, type Cors, refusalHeaders } from '../refusal.ts'
import type { Exchange } from '../request/exchange.ts'
import { codingOf, preferredCoding, withTagOf } from '../request/head.ts'
import { TextPieces, takeTextIds, withTextIds } from '../request/text-ids.ts'
import { type AuditLog, AuditTrail } from './audit-log.ts'
import type { BasePath } from './base-path.ts'
import { Compressor, compressPieces, withCoding } from './compression.ts'
import { endAfterBody } from './end-after-body.ts'
import { RequestLog } from './request-log.ts'
import type { SlowClients, Transfer } from './slow-clients.ts'

export const JSON_TYPE = 'application/json'
/** Cache-Control of reads: only the client may cache the answer, and must revalidate it each time. */
export const READ_CACHING = 'private, no-cache'

/** The headers of an answer in JSON, names and values in turn. */
export const jsonHeaders = (caching: string, ...others: readonly string[]): string[] => [
  ...['Content-Type', JSON_TYPE, 'Cache-Control', caching],
  ...others,
]

interface ResponderOptions {
  readonly log: Logger
  readonly audit: AuditLog
  readonly metrics: Metrics
  readonly state: ServiceState
  readonly addresses: ClientAddresses
  /** Undefined: scripts of other origins cannot read any answer. */
  readonly cors: Cors | undefined
  readonly slowClients: SlowClients
  readonly limits: Pick<Config, 'publicUrl' | 'public' | 'publicIndex' | 'keepAliveTimeout' | 'compressionLimit'>
  /** Returns the address that every 401 names (RFC 9728 section 5.1); undefined: none. */
  readonly metadataUrl?: (() => string) | undefined
  /** Undefined: paths in answers stay those of the contract. */
  readonly base?: BasePath
}

/**
 * Strict-Transport-Security (RFC 6797): 180 days, so that an operator who gives HTTPS up is not locked out for a year.
 * Browsers apply it to every port of the host, so it needs a public address that the operator gave.
 */
const TRANSPORT_SECURITY = ['Strict-Transport-Security', `max-age=${180 * 86_400}`] as const

/** Writes the answer to each request. RequestLog records it, and AuditTrail each change. */
export class Responder {
  readonly audit: AuditTrail
  readonly compressor: Compressor
  readonly #options: ResponderOptions
  readonly #requests: RequestLog
  /** The value of Keep-Alive (RFC 2068 section 19.7.1.1), by which a client knows how long it may use a connection. */
  readonly #keepAlive: string | undefined
  /** Headers of all answers of this service, names and values in turn. */
  readonly #always: readonly string[]
  readonly #textPieces = new TextPieces()
  /** Answers of this turn that the system has not taken so far. Over TLS, it takes every answer after the turn. */
  readonly #unsent: Exchange[] = []

  constructor(options: ResponderOptions) {
    const { log, audit, metrics, addresses, limits } = options
    this.#options = options
    this.#requests = new RequestLog(log, metrics, addresses)
    this.#keepAlive =
      limits.keepAliveTimeout === 0 ? undefined : `timeout=${Math.floor(limits.keepAliveTimeout / 1000)}`
    this.#always = [
      ...(limits.publicUrl?.startsWith('https:') === true ? TRANSPORT_SECURITY : []),
      ...(limits.public !== undefined && limits.publicIndex === undefined ? ['X-Robots-Tag', 'noindex'] : []),
    ]
    this.compressor = new Compressor(limits.compressionLimit)
    this.audit = new AuditTrail(audit, addresses, (exchange) => this.idOf(exchange))
  }

  idOf(exchange: Exchange): string {
    return this.#requests.idOf(exchange)
  }

  /**
   * Answers a request, with ids as texts where the client asks for them. Compresses a body of a kilobyte or more when the client accepts that and there is room.
   *
   * @param headers names and values in turn, without Content-Length and Connection
   * @param text undefined for a 204, which has neither a body nor a length
   */
  reply(exchange: Exchange, status: number, headers: string[], text?: string): void {
    if (exchange.change !== undefined) this.audit.answered(exchange)
    const body = text !== undefined && takeTextIds(exchange.request, headers) ? withTextIds(text) : text
    const coding = body === undefined ? undefined : codingOf(exchange.request, body)
    const compressing = body && coding && this.compressor.compress(Buffer.from(body), coding)
    if (compressing) this.#replyCompressed(exchange, status, withCoding(headers, coding), compressing)
    else this.#reply(exchange, status, headers, body)
  }

  /** Answers 200 with a file that never changes. Compresses it once for each coding. */
  replyFile(exchange: Exchange, headers: string[], file: Buffer): void {
    const coding = codingOf(exchange.request, file)
    if (coding === undefined) this.#reply(exchange, 200, headers, file)
    else this.#replyCompressed(exchange, 200, withCoding(headers, coding), this.compressor.compressFile(file, coding))
  }

  /**
   * Call it before work with a large answer: once the work is done, the service cannot refuse it.
   *
   * @throws AppError 50302 while unread answers take all the memory that they may have
   */
  mustHaveRoom(): void {
    if (!this.#options.slowClients.makeRoom(1)) throw unreadAnswers()
  }

  /**
   * Answers 304: the client has the body already.
   *
   * @param headers as for the answer with a body; the entity tag depends on its form and its content coding
   * @param type the media type of a body with ids
   */
  notModified(exchange: Exchange, headers: string[], body: string | Buffer, type?: string): void {
    if (type !== undefined) takeTextIds(exchange.request, headers, type)
    const coding = codingOf(exchange.request, body)
    this.#reply(exchange, 304, coding === undefined ? headers : withTagOf(headers, coding))
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
    const headers = jsonHeaders('no-store', ...Object.entries(this.#refusalHeaders(refusal)).flat())
    const body = exchange.operation?.refusalJson?.(refusal, exchange.messageId) ?? errorJson(number, message)
    this.#end(exchange, status, headers, body, Buffer.byteLength(body))
    this.#requests.refused(exchange, refusal)
  }

  /**
   * Answers 200 with pieces as they come, no faster than the client reads them. Refuses the request on an error before
   * the first piece. A later error closes the connection, which shows the client that the answer is incomplete.
   *
   * @param signal ends the answer with its reason. It must abort when the client leaves
   * @param isLive whether pieces come as things happen: they go out in few writes, and no compressor holds them back
   */
  async stream(
    exchange: Exchange,
    headers: string[],
    written: AsyncGenerator<string | Buffer, void>,
    signal: AbortSignal,
    isLive = false,
  ): Promise<void> {
    const { request, response } = exchange
    const plain = takeTextIds(request, headers) ? this.#textPieces.write(written) : written
    const coding = isLive ? undefined : preferredCoding(request.headers['accept-encoding'])
    if (coding !== undefined) withCoding(headers, coding)
    const pieces = coding === undefined ? plain : compressPieces(plain, coding)
    try {
      let piece = await pieces.next()
      this.#begin(exchange, 200, headers)
      const watched = this.#watch(exchange, 0)
      for (; piece.done !== true && request.method !== 'HEAD'; piece = await pieces.next()) {
        const bytes = typeof piece.value === 'string' ? Buffer.from(piece.value) : piece.value
        this.#options.slowClients.resize(watched, bytes.length)
        await writeParts(response, bytes, signal, isLive ? MAX_WRITE : PART_SIZE)
        this.#options.slowClients.resize(watched, 0)
        // A client that reads as fast as the store would otherwise occupy the event loop.
        await nextTurn()
      }
      // The pieces must release the store before the answer ends.
      await this.#close(exchange, pieces)
      if (closesEarly(exchange, headers)) endAfterBody(response)
      else response.end()
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
   * @param isClearText whether a port for HTTPS answers in clear text, where no browser may learn to use HTTPS alone
   *   (RFC 6797 section 7.2)
   * @returns the headers that every answer has, names and values in turn
   */
  note(refusal: AppError, address: string | undefined, origin?: string, isClearText = false): readonly string[] {
    const headers = this.#headersOf(this.#requests.note(refusal, address), origin)
    const at = isClearText ? headers.indexOf(TRANSPORT_SECURITY[0]) : -1
    return at === -1 ? headers : headers.toSpliced(at, TRANSPORT_SECURITY.length)
  }

  #refusalHeaders(refusal: AppError): Readonly<Record<string, string>> {
    const headers = refusalHeaders(refusal)
    const challenge = headers['WWW-Authenticate']
    const { metadataUrl } = this.#options
    if (metadataUrl === undefined || refusal.status !== 401 || challenge === undefined) return headers
    return { ...headers, 'WWW-Authenticate': `${challenge}, resource_metadata="${metadataUrl()}"` }
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
    } else if (
      body !== undefined &&
      length > MAX_WRITE &&
      exchange.take === undefined &&
      exchange.request.method !== 'HEAD' &&
      status !== 304
    ) {
      void this.#replyInParts(exchange, status, headers, typeof body === 'string' ? Buffer.from(body) : body)
    } else {
      this.#end(exchange, status, headers, body, length)
      this.#requests.answered(exchange, status)
    }
  }

  async #replyInParts(exchange: Exchange, status: number, headers: string[], body: Buffer): Promise<void> {
    // A change is done at this point, so a refusal would be wrong.
    if (!this.#options.slowClients.makeRoom(body.length) && exchange.request.method === 'GET') {
      this.refuse(exchange, unreadAnswers())
      return
    }
    headers.push('Content-Length', String(body.length))
    this.#begin(exchange, status, headers)
    this.#watch(exchange, body.length)
    try {
      await writeParts(exchange.response, body, exchange.signal)
      if (closesEarly(exchange, headers)) endAfterBody(exchange.response)
      else exchange.response.end()
      this.#requests.answered(exchange, status)
    } catch {
      this.#requests.unanswered(exchange)
    }
  }

  #end(exchange: Exchange, status: number, headers: string[], body: string | Buffer | undefined, length: number): void {
    const { response } = exchange
    if (exchange.take !== undefined) {
      exchange.take(status, headers, body?.toString() ?? '')
      return
    }
    if (body !== undefined) headers.push('Content-Length', String(length))
    this.#begin(exchange, status, headers)
    if (closesEarly(exchange, headers)) endAfterBody(response, body)
    // A text with as many bytes as characters is ASCII, which Node.js writes fastest as latin1.
    else if (length === body?.length) response.end(body, 'latin1')
    else response.end(body)
    if (response.writableLength > 0 && this.#unsent.push(exchange) === 1) setImmediate(this.#watchUnsent)
  }

  readonly #watchUnsent = (): void => {
    for (const exchange of this.#unsent.splice(0)) {
      const { writableLength, closed } = exchange.response
      if (writableLength > 0 && !closed) this.#watch(exchange, writableLength)
    }
  }

  /** Cuts the answer off when its client is too slow. @param size bytes of memory that the answer takes */
  #watch(exchange: Exchange, size: number): Transfer {
    const { response } = exchange
    const transfer: Transfer = {
      moved: () => (response.socket === null ? 0 : response.socket.bytesWritten - response.socket.writableLength),
      isWaiting: () => response.writableLength > 0,
      end: (reason) => {
        exchange.giveUp(reason)
        this.#requests.cutOff(exchange, reason)
      },
      size,
      verb: 'read',
    }
    response.once('close', this.#options.slowClients.watch(transfer))
    return transfer
  }

  #begin(exchange: Exchange, status: number, headers: string[]): void {
    const { request, response, operation, rateLimitHeaders } = exchange
    this.#options.base?.addTo(headers, exchange.prefix)
    if (operation !== undefined && operation.vary !== '') headers.push('Vary', operation.vary)
    headers.push(...this.#headersOf(this.#requests.idOf(exchange), request.headers.origin))
    if (rateLimitHeaders !== undefined) headers.push(...rateLimitHeaders)
    if (!headers.includes('Connection')) {
      if (this.#options.state.current !== 'serving') headers.push('Connection', 'close')
      else if (this.#keepAlive !== undefined && response.shouldKeepAlive) headers.push('Keep-Alive', this.#keepAlive)
    }
    response.writeHead(status, headers)
  }

  #headersOf(requestId: string, origin: string | undefined): readonly string[] {
    const { cors } = this.#options
    const headers = ['X-Content-Type-Options', 'nosniff', 'X-Request-Id', requestId, ...this.#always]
    return cors === undefined ? headers : [...headers, ...cors.headersOf(origin)]
  }

  #close(exchange: Exchange, pieces: AsyncGenerator<string | Buffer, void>): Promise<unknown> {
    const message = 'an unfinished answer could not be closed'
    return pieces
      .return()
      .catch((error: unknown) => this.#options.log.warn({ req: this.#requests.idOf(exchange), err: error }, message))
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

/** Whether the connection closes behind the answer, while more of the request may arrive. @param headers of the answer */
function closesEarly({ request, response, operation }: Exchange, headers: readonly string[]): boolean {
  // A request that announced no body has ended, though Node.js calls it complete only after its head.
  if (request.complete || request.readableEnded) return false
  return operation?.isStreamed === true || !response.shouldKeepAlive || headers.includes('Connection')
}

const unreadAnswers = (): AppError => new AppError(50302, 'too many answers wait for slow clients; retry in a second')

/** Bytes of the longest answer that the service hands to the system at once. */
const MAX_WRITE = 64 * 2 ** 10

/** Bytes of one part of a longer answer. A client at the least speed takes it in half a stall timeout. */
const PART_SIZE = 16 * 2 ** 10

/** Milliseconds within which the system takes a part for a client that keeps up. */
const AT_ONCE = 1

/**
 * Writes bytes in parts, each once the system has taken the one before: so SlowClients sees how fast the client reads.
 *
 * @param signal must abort when the client leaves
 * @param mostAtOnce bytes of a part for a client that takes each at once: fewer writes take less of the processor
 * @throws the reason of the signal
 */
async function writeParts(
  response: ServerResponse,
  bytes: Buffer,
  signal: AbortSignal,
  mostAtOnce = PART_SIZE,
): Promise<void> {
  let size = PART_SIZE
  for (let from = 0; from < bytes.length; ) {
    signal.throwIfAborted()
    const startedAt = performance.now()
    const part = bytes.subarray(from, from + size)
    const taken = new Promise<void>((resolve) => {
      // After a fault the connection closes, which aborts the signal.
      response.write(part, (error) => {
        if (error == null) resolve()
      })
    })
    await abortable(taken, signal)
    from += part.length
    size = performance.now() - startedAt < AT_ONCE ? mostAtOnce : PART_SIZE
  }
}

/**
 * The state of the service. `draining`: the service answers every request, reports that it is not ready, and closes
 * each connection after its answer. `closing`: it answers each request with 503.
 */
export type ServiceState = { current: 'serving' | 'draining' | 'closing' }
