import { randomBytes } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import { AppError, errorJson } from '../errors.ts'
import { ClientGone } from './client-gone.ts'
import type { Incoming } from './incoming.ts'
import { endAfterBody } from './linger.ts'
import { LogThrottle } from './log-throttle.ts'
import type { Metrics } from './metrics.ts'
import type { Phase } from './phase.ts'
import { sendPieces } from './send-pieces.ts'

export const JSON_TYPE = 'application/json'
/** For what is read: only the client itself may keep it, and has to ask each time whether it is still so. */
export const READ_CACHING = 'private, no-cache'

/**
 * The one way out for every answer that belongs to a request: writes it, counts it, logs it.
 *
 * It writes to Node's response itself. Fastify's `reply.send` and `onResponse` hooks would cost a create 12% of its
 * throughput (docs/decisions/0006-hot-path.md).
 */
export class Exit {
  readonly #log: Logger
  readonly #metrics: Metrics
  readonly #phase: Phase
  readonly #logsEveryRequest: boolean
  readonly #throttle = new LogThrottle()
  /** Ids of requests begin alike within one run of the process, and with nothing else's. */
  readonly #prefix = randomBytes(4).toString('hex')
  #count = 0

  constructor(log: Logger, metrics: Metrics, phase: Phase) {
    this.#log = log
    this.#metrics = metrics
    this.#phase = phase
    this.#logsEveryRequest = log.isLevelEnabled('debug')
  }

  /**
   * @param headers names and values in turn, without Content-Length and Connection
   * @param body left out with 204 and 304, which have none and no length
   */
  answer(reply: FastifyReply, status: number, headers: string[], body?: string | Buffer): void {
    const { request, raw } = reply
    this.#end(reply, status, headers, body)
    this.#done(request, raw.statusCode, 'answered')
  }

  /** Answers `{error, message}`. An error that is not ours is logged with its cause and answered without. */
  refuse(reply: FastifyReply, error: unknown): void {
    const { request } = reply
    const refusal = asRefusal(error)
    const { status, number, message } = refusal
    const headers = ['Content-Type', JSON_TYPE, ...Object.entries(refusal.headers).flat()]
    const id = this.#nextId()
    if (status >= 500) headers.push('X-Request-Id', id)
    this.#end(reply, status, headers, errorJson(number, message))
    this.#logRefusal(refusal, { req: id, ...about(request), ms: sinceStart(request) })
    this.#metrics.observe(request.operationId, status, performance.now() - request.startedAt)
  }

  /**
   * Answers 200 with pieces as they come, and no faster than the client takes them. An error before the first is a
   * refusal; one behind it breaks the connection off, so that the client sees that the answer is not whole.
   *
   * @param stallTimeout ms in which the client has to take something
   */
  async stream(
    reply: FastifyReply,
    headers: string[],
    pieces: AsyncGenerator<string, void>,
    stallTimeout: number,
  ): Promise<void> {
    const { request, raw } = reply
    try {
      const first = await pieces.next()
      this.#begin(reply, 200, headers)
      if (request.method !== 'HEAD') await sendPieces(raw, first, pieces, stallTimeout)
      raw.end()
      this.#done(request, 200, 'answered')
    } catch (error) {
      if (!raw.headersSent) return this.refuse(reply, error)
      raw.destroy()
      if (error instanceof ClientGone) return this.gone(reply)
      const refusal = asRefusal(error)
      this.#logRefusal(refusal, { req: this.#nextId(), ...about(request), ms: sinceStart(request), brokenOff: true })
      this.#metrics.observe(request.operationId, refusal.status, performance.now() - request.startedAt)
    } finally {
      await pieces.return().catch((error: unknown) => this.#log.warn({ err: error }, 'an answer could not be let go'))
    }
  }

  /** Takes note of a client that left before it had its answer. */
  gone({ request }: FastifyReply): void {
    this.#done(request, CLIENT_GONE, 'the client left')
  }

  /** Takes note of a refusal that was written to a connection on which there was no request to answer. */
  note(refusal: AppError, address: string | undefined): void {
    this.#logRefusal(refusal, { address })
    this.#metrics.observe('none', refusal.status, 0)
  }

  #end(reply: FastifyReply, status: number, headers: string[], body: string | Buffer | undefined): void {
    const { raw } = reply
    const length = body === undefined ? 0 : Buffer.byteLength(body)
    if (body !== undefined) headers.push('Content-Length', String(length))
    this.#begin(reply, status, headers)
    const incoming = raw.req as Incoming
    if (incoming.isStreamed && !incoming.complete && body !== undefined) endAfterBody(raw, body)
    // A text of as many bytes as characters is ASCII, which goes out as it is.
    else if (length === body?.length) raw.end(body, 'latin1')
    else raw.end(body)
  }

  #begin(reply: FastifyReply, status: number, headers: string[]): void {
    const { request, raw } = reply
    if (request.rateLimitHeaders !== undefined) headers.push(...request.rateLimitHeaders)
    if (this.#phase.current !== 'serving') headers.push('Connection', 'close')
    reply.hijack()
    raw.writeHead(status, headers)
  }

  #done(request: FastifyRequest, status: number, message: string): void {
    if (this.#logsEveryRequest) {
      this.#log.debug({ req: this.#nextId(), ...about(request), status, ms: sinceStart(request) }, message)
    }
    this.#metrics.observe(request.operationId, status, performance.now() - request.startedAt)
  }

  #nextId(): string {
    return `${this.#prefix}-${(this.#count++).toString(36)}`
  }

  #logRefusal(refusal: AppError, fields: object): void {
    const { status, number, message, cause } = refusal
    const suppressed = number === 50001 ? 0 : this.#throttle.admit(number)
    if (suppressed === undefined) return
    const all = { ...fields, status, error: number, ...(suppressed > 0 ? { suppressed } : {}) }
    if (status < 500) this.#log.info(all, `refused: ${message}`)
    else this.#log.error({ ...all, err: cause ?? refusal }, `failed: ${message}`)
  }
}

/** The status that the metrics count for it; no client ever sees it (https://nginx.org/en/docs/http/ngx_http_log_module.html has it too). */
const CLIENT_GONE = 499

const asRefusal = (error: unknown): AppError =>
  error instanceof AppError ? error : new AppError(50001, 'something went wrong on our side', { cause: error })

const sinceStart = (request: FastifyRequest): number => Math.round((performance.now() - request.startedAt) * 100) / 100

const about = (request: FastifyRequest) => ({
  operation: request.operationId,
  method: request.method,
  // Without the query, which is the client's data; never a header, which may be a secret.
  path: request.url.split('?', 1)[0],
  token: request.identity?.tokenId,
  address: request.socket.remoteAddress,
})
