import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { AppError } from '../../domain/errors.ts'
import type { DeferredTasks } from '../admission/turns.ts'
import type { Responder } from '../answer/responder.ts'
import { closing } from '../refusal.ts'
import { Exchange } from '../request/exchange.ts'
import type { ReadScheduler } from './read-scheduler.ts'
import { endRefused, unknownMethod } from './refusals.ts'

/** Requests that may wait behind the one in progress. Browsers pipeline none, and client libraries a few. */
const MAX_WAITING = 64

/** Milliseconds for which a denied connection stays open, so that its client gets the refusal. */
const DENIAL_LINGER = 1000

/** The parts that all connections share. */
export interface Shared {
  readonly responder: Pick<Responder, 'refuse' | 'note'>
  /** Answers a request. */
  readonly work: (exchange: Exchange) => void
  readonly reading: ReadScheduler
  readonly deferred: DeferredTasks
  /** Called with the bytes of requests that begin to wait, and with minus the bytes that leave. */
  readonly account: (bytes: number) => void
}

/**
 * The requests of one connection. The service works on one of them at a time: it begins the next one once the operating
 * system has the whole answer. After all due answers, it refuses bytes that are no request, and the request that comes
 * while MAX_WAITING wait.
 *
 * The connection reads on while requests wait, because only a read shows that the client has left.
 *
 * It has one state of each of these three tables. A closed socket ends them all (`#close`).
 *
 * | work | fields | waits for | ends with |
 * | --- | --- | --- | --- |
 * | securing | `#isSecuring` | the TLS handshake | `secure`, `shutDown` |
 * | new | `answeredAt` is 0 | the first request | `take` |
 * | working | `#isWorking`, `#current` | the end of an answer | `#finish` |
 * | receiving | `#current` alone | the rest of the body of an answered request | the next `#work`, `closeIdle` |
 * | due | `#waiting` or `#refused` | a later turn of the event loop | `#work` or `#end`, by `#startNext` |
 * | idle | none of these | the next request | `take`, `closeIdle`, `shutDown` |
 *
 * | end | fields | waits for | ends with |
 * | --- | --- | --- | --- |
 * | open | none | bytes that are no request, or the denial of the connection | `refuse`, `deny` |
 * | denied | `#denial` | the first request, which gets it, for DENIAL_LINGER | `take`, the timer of `deny` |
 * | refused | `#refused` | the due answers | `#end` |
 * | ended | `#isEnded` too | the client, which gets the refusal and closes | |
 *
 * | reads | fields | waits for | ends with |
 * | --- | --- | --- | --- |
 * | all bytes | none | | `pause`, `#drop` |
 * | nothing | `isPaused` | ReadScheduler | `read`, `#drop` |
 * | and drops all | `#isDropping` | the close | |
 */
export class Connection {
  /** After the TLS handshake, the decrypted side. */
  socket: Socket
  /** Whether the TLS handshake is not over. */
  #isSecuring: boolean
  readonly #shared: Shared
  /** The exchange under way. After its answer, the connection holds it only while the rest of its body arrives. */
  #current: Exchange | undefined
  /** Whether the current exchange has no whole answer. */
  #isWorking = false
  /** `performance.now()` at the newest answer, or later while the rest of its body arrived; 0 before the first one. */
  answeredAt = 0
  /** Bytes of the connection that were read before the end of the newest answer. */
  #readBytes = 0
  /** The responses to the requests behind the current one. */
  #waiting: ServerResponse[] = []
  /** The refusal of bytes that are no request, and their `Origin` where it is known. It ends the connection. */
  #refused: { readonly refusal: AppError; readonly origin: string | undefined } | undefined
  /** The refusal of the whole connection, which its first request gets if it has none so far. */
  #denial: AppError | undefined
  #isEnded = false
  /** Bytes of memory of waiting requests. */
  queuedBytes = 0
  isPaused = false
  #isDropping = false

  constructor(socket: Socket, shared: Shared, isSecuring: boolean) {
    this.socket = socket
    this.#shared = shared
    this.#isSecuring = isSecuring
    if (!isSecuring) this.#listen()
  }

  /** Ends the handshake. @param socket the decrypted side of the connection */
  secure(socket: Socket): void {
    this.socket = socket
    this.#isSecuring = false
    this.#listen()
  }

  #listen(): void {
    // Node.js resumes a socket after each whole request.
    this.socket.on('resume', () => this.#resumed())
    this.socket.on('close', () => this.#close())
  }

  /** Takes the next request. Call it when its head has arrived. */
  take(response: ServerResponse): void {
    if (this.socket.destroyed) return
    if (this.#refused !== undefined) {
      // Node.js parses the whole chunk, and keeps its requests until the connection closes.
      this.#count(response)
    } else if (this.#denial !== undefined) {
      this.#refused = { refusal: this.#denial, origin: undefined }
      this.#shared.responder.refuse(new Exchange(response.req, response), this.#denial)
    } else if (this.#waiting.length === 0 && !this.#isWorking) this.#work(response)
    else this.#waitFor(response)
  }

  /** Refuses bytes that are no request, after the answers to the requests before them. */
  refuse(refusal: AppError, origin?: string): void {
    if (this.#refused !== undefined) return
    this.#refused = { refusal, origin }
    if (!this.socket.writable) this.socket.destroy()
    else if (this.#waiting.length > 0) return
    else if (!this.#isWorking) this.#end()
    else if (this.isReceiving) this.#current?.failBody(refusal)
  }

  /** Refuses a CONNECT, for which Node.js gives the socket up: it no longer reads, and answers get no `drain`. */
  refuseTunnel(origin: string | undefined): void {
    this.socket.on('drain', () => this.#current?.response.emit('drain'))
    this.refuse(unknownMethod(), origin)
    // Drops what follows, and shows when the client leaves before the due answers.
    this.socket.resume()
  }

  /** Refuses the whole connection, after the due answers if they come within DENIAL_LINGER milliseconds. */
  deny(refusal: AppError): void {
    setTimeout(() => this.socket.destroy(), DENIAL_LINGER).unref()
    this.#denial = refusal
    if (this.#isWorking || this.answeredAt > 0) this.refuse(refusal)
    this.#release()
  }

  destroy(): void {
    this.socket.destroy()
    this.#release()
  }

  /**
   * Closes the connection if it has been idle since its newest answer. Before the first answer, and while a request
   * arrives, the deadlines of requests apply.
   *
   * @param before the answer must be older than this time
   * @param ifRead the same for a client that has sent bytes since: they may be a stray line end, which begins no request
   */
  closeIdle(before: number, ifRead: number): void {
    if (!this.isIdle || this.answeredAt === 0) return
    // The rest of the body of an answered request arrives.
    if (this.isReceiving) this.answeredAt = performance.now()
    else if (this.answeredAt < (this.socket.bytesRead === this.#readBytes ? before : ifRead)) this.destroy()
  }

  /** Refuses a request whose rest has not arrived, and ends the connection after an answer under way. */
  shutDown(refusal: AppError): void {
    if (this.#isSecuring) {
      this.socket.destroy()
      return
    }
    const current = this.#current
    if (current !== undefined && this.#isWorking) {
      if (!current.request.complete) current.failBody(refusal)
      // An answer with `Connection: close` ends the connection itself. This one's header was sent before.
      const endIdle = () => this.isIdle && this.socket.writable && endRefused(this.socket)
      if (current.response.headersSent) current.response.once('finish', endIdle)
    } else if (this.#waiting.length === 0) {
      if (this.socket.bytesRead > 0) this.refuse(refusal)
      else this.socket.destroy()
    }
  }

  /** Whether the rest of a body has not arrived. */
  get isReceiving(): boolean {
    return this.#current?.request.complete === false
  }

  /** Whether no answer is due, so that the connection may be closed. */
  get isIdle(): boolean {
    const isRefused = this.#refused !== undefined || this.#denial !== undefined || this.socket.destroyed
    return !isRefused && this.queuedBytes === 0 && !this.#isWorking
  }

  /** Whether a handler is reading a body in pieces. */
  get isStreaming(): boolean {
    const current = this.#current
    return current?.operation?.isStreamed === true && !current.response.headersSent && !current.request.complete
  }

  /** Whether no byte of it is parsed any more, or none is parsed yet. */
  get isGone(): boolean {
    return this.socket.destroyed || this.#isDropping || this.#isSecuring
  }

  /** Whether the service has read a byte of the connection. */
  get wasRead(): boolean {
    return this.socket.bytesRead > 0
  }

  /** Stops reading until `read`. */
  pause(): void {
    this.isPaused = true
    this.socket.pause()
    // After a pause and a resume within one tick, Node.js reads a paused socket, on which `pause` does nothing.
    this.socket.emit('pause')
  }

  read(): void {
    if (!this.isPaused) return
    this.isPaused = false
    this.socket.resume()
  }

  #waitFor(response: ServerResponse): void {
    if (this.#waiting.length === MAX_WAITING) {
      const message = `more than ${MAX_WAITING} requests wait on this connection; wait for their answers first`
      this.refuse(closing(42901, message))
      this.#drop()
    } else {
      this.#waiting.push(response)
    }
    this.#count(response)
  }

  #count({ req }: ServerResponse): void {
    const size = sizeOf(req)
    this.#shared.reading.count(size)
    if (this.#denial === undefined) this.#account(size)
  }

  #account(bytes: number): void {
    this.queuedBytes += bytes
    this.#shared.account(bytes)
  }

  /** Call it when the operating system has the whole answer. */
  readonly #finish = (): void => {
    this.#isWorking = false
    this.answeredAt = performance.now()
    this.#readBytes = this.socket.bytesRead
    // Memory of the exchanges of idle connections would outlive many collections.
    if (!this.isReceiving) this.#current = undefined
    if (this.#waiting.length > 0 || this.#refused !== undefined) this.#startNext()
  }

  /** Begins the next request in a later turn, so that connections with many requests leave the event loop to others. */
  #startNext(): void {
    this.#shared.deferred.add(() => {
      // A request that arrived in the meantime is under way, and its end starts the next one.
      if (this.socket.destroyed || this.#isWorking) return
      const next = this.socket.writable ? this.#waiting.shift() : undefined
      if (next === undefined) {
        this.#end()
        return
      }
      this.#account(-sizeOf(next.req))
      this.#work(next)
    })
  }

  #work(response: ServerResponse): void {
    const exchange = new Exchange(response.req, response)
    this.#current = exchange
    this.#isWorking = true
    response.on('finish', this.#finish)
    if (this.#refused === undefined || this.#waiting.length > 0 || response.req.complete) this.#shared.work(exchange)
    else this.#shared.responder.refuse(exchange, this.#refused.refusal)
  }

  /** Ends the connection with the refusal, unless the current request had an answer before its body arrived. */
  #end(): void {
    if (this.#refused === undefined || this.#isEnded) return
    this.#isEnded = true
    this.#drop()
    const wasAnswered = this.isReceiving
    if (wasAnswered || !this.socket.writable) endRefused(this.socket)
    else {
      const { refusal, origin } = this.#refused
      const headers = this.#shared.responder.note(refusal, this.socket.remoteAddress, origin, this.#isSecuring)
      endRefused(this.socket, refusal, headers)
    }
  }

  #release(): void {
    this.#waiting = []
    this.#account(-this.queuedBytes)
  }

  /** Parses no further chunk. A chunk dropped costs a hundredth of one parsed, and reading shows when the client leaves. */
  #drop(): void {
    this.#isDropping = true
    this.socket.pause()
    this.socket.resume()
  }

  #resumed(): void {
    // Node.js takes a socket back from its parser for a listener that is added while the socket reads.
    if (this.#isDropping) this.socket.removeAllListeners('data').on('data', () => {})
    else if (this.isPaused) this.pause()
  }

  #close(): void {
    this.#release()
    if (this.#isWorking) this.#current?.giveUp()
  }
}

/** Bytes that Node.js holds for a request and its response besides the text of the head (measured: 1,550 to 1,850). */
const REQUEST_SIZE = 2048

/** Bytes of a body that Node.js reads ahead of its handler. */
const BODY_AHEAD = 64 * 2 ** 10

/** Bytes of memory that a waiting request takes, with the part of its body that may arrive meanwhile. */
function sizeOf({ url = '', rawHeaders, headers }: IncomingMessage): number {
  const length = Number(headers['content-length'] ?? (headers['transfer-encoding'] === undefined ? 0 : BODY_AHEAD))
  const head = rawHeaders.reduce((sum, text) => sum + text.length, REQUEST_SIZE + url.length)
  return head + Math.min(length, BODY_AHEAD)
}
