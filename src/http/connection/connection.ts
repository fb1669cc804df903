import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { AppError } from '../../errors.ts'
import { Exchange } from '../exchange.ts'
import { hasLargeBody, sizeOf } from '../request/head.ts'
import { endRefused } from './connection-errors.ts'
import { PartedInput } from './parted-input.ts'
import type { ConnectionHandlers, Shared } from './shared.ts'

/** Milliseconds without a read of a connection whose requests wait: see `#waitFor`. */
const READ_PAUSE = 100

/** Milliseconds for which a connection stays open that was refused as a whole. */
const LAST_WORDS = 1000

/**
 * The requests of one connection. It works on one request at a time: it takes the next one once the answer before was
 * handed to the operating system. A refusal of bytes that are no request comes after all due answers.
 *
 * Node's parser reads ahead: a chunk of 64 KiB becomes up to 3,600 requests at once. They wait here in Node's form. A
 * connection that pipelines in a flood, or for long, gets a PartedInput.
 */
export class Connection {
  readonly #socket: Socket
  readonly #handlers: ConnectionHandlers
  readonly #shared: Shared
  #current: Exchange | undefined
  /** The responses to the requests behind the current one. */
  #waiting: ServerResponse[] = []
  #refusal: AppError | undefined
  #denial: AppError | undefined
  #readPause: NodeJS.Timeout | undefined
  #isParted = false
  #input: PartedInput | undefined
  /** The current exchange. The next one begins at its end. */
  #awaited: Exchange | undefined
  #isHeld = false
  #isEnded = false
  #held = 0

  constructor(socket: Socket, shared: Shared) {
    this.#socket = socket
    this.#handlers = shared.handlers
    this.#shared = shared
    // Node resumes a socket after each whole request.
    socket.on('resume', () => this.#resumed())
    socket.on('close', () => this.#close())
  }

  /** Takes the next request, once its head has arrived. */
  take(response: ServerResponse): void {
    if (this.#refusal !== undefined || this.#socket.destroyed) return
    if (this.#denial !== undefined) {
      this.#refusal = this.#denial
      this.#handlers.refuse(new Exchange(response.req, response), this.#denial)
      return
    }
    const current = this.#current
    if (this.#waiting.length === 0 && (current === undefined || current.isAnswered)) this.#work(response)
    else this.#waitFor(response)
  }

  /** Refuses bytes that can't be read, after the answers that are due before them. */
  refuse(refusal: AppError): void {
    // After the first fault, all further bytes are dropped.
    if (this.#refusal !== undefined) return
    this.#refusal = refusal
    const current = this.#current
    if (!this.#socket.writable) this.#socket.destroy()
    else if (this.#waiting.length > 0) return
    else if (current === undefined || current.isAnswered) this.#end()
    else {
      this.#goOnAfter(current)
      if (!current.request.complete) current.failBody(refusal)
    }
  }

  /** Refuses the connection as a whole, after the due answers if these come at once. */
  deny(refusal: AppError): void {
    setTimeout(() => this.#socket.destroy(), LAST_WORDS).unref()
    if (this.#current !== undefined) this.refuse(refusal)
    else this.#denial = refusal
    this.#release()
  }

  destroy(): void {
    this.#socket.destroy()
    this.#release()
  }

  /** Refuses a request that has not arrived as a whole, and ends the connection after an answer under way. */
  shutDown(refusal: AppError): void {
    const current = this.#current
    if (current !== undefined && !current.isAnswered) {
      if (!current.request.complete) current.failBody(refusal)
      // A header that has been sent does not announce the end. The refusal of a waiting request does.
      const endIdle = () => this.isIdle && this.#socket.writable && endRefused(this.#socket)
      if (current.response.headersSent) current.response.once('finish', endIdle)
    } else if (this.#waiting.length === 0) {
      if (this.#socket.bytesRead > 0) this.refuse(refusal)
      else this.#socket.destroy()
    }
  }

  /** Reads nothing until `read`, but for a chunk that waits in the socket's own buffer once the input is parted. */
  hold(): void {
    this.#isHeld = true
    this.#stopReading()
  }

  read(): void {
    const wasHeld = this.#isHeld
    this.#isHeld = false
    if (this.#input !== undefined) this.#input.read()
    else if (wasHeld) this.#socket.resume()
  }

  /** Makes Node parse the bytes of this connection in small parts, from its next resume on. */
  partInput(): void {
    this.#isParted = true
  }

  get isHeld(): boolean {
    return this.#isHeld
  }

  get isGone(): boolean {
    return this.#socket.destroyed
  }

  /** Whether a byte has ever been read. */
  get wasRead(): boolean {
    return this.#socket.bytesRead > 0
  }

  /** Whether bytes wait for Node's parser. */
  get hasUnparsed(): boolean {
    return this.#input?.isEmpty === false
  }

  /** Whether the client pipelines requests, or sends a large body. */
  get isHeavy(): boolean {
    return this.#held > 0 || (this.#input !== undefined && this.#current?.request.complete === false)
  }

  /** Bytes that waiting requests take, parsed or not. */
  get held(): number {
    return this.#held
  }

  /** The time (`performance.now()`) of its newest answer; 0 without a request so far. */
  get lastAnswered(): number {
    return this.#current?.endedAt ?? 0
  }

  /** Whether no answer is due, so that the connection may be closed. */
  get isIdle(): boolean {
    const isRefused = this.#refusal !== undefined || this.#denial !== undefined || this.#socket.destroyed
    return !isRefused && this.#held === 0 && (this.#current === undefined || this.#current.isAnswered)
  }

  /** Whether a body is being read in pieces. */
  get isStreaming(): boolean {
    const current = this.#current
    return current?.operation?.isStreamed === true && !current.response.headersSent && !current.request.complete
  }

  /**
   * Nothing is read meanwhile, so pipelined bytes stay in the socket. But only a read shows that a client has left, so
   * another chunk is read now and then.
   */
  #waitFor(response: ServerResponse): void {
    if (this.#refusal === undefined) this.#goOnAfter(this.#current)
    this.#waiting.push(response)
    if (!this.#isHeld) this.hold()
    this.#readLater()
    const size = sizeOf(response.req)
    this.#shared.reading.countRequest(size)
    this.#account(size)
  }

  #goOnAfter(exchange: Exchange | undefined): void {
    if (this.#awaited === exchange) return
    this.#awaited = exchange
    exchange?.response.once('finish', this.#goOn)
  }

  #readLater(): void {
    this.#readPause ??= setTimeout(() => {
      this.partInput()
      this.#askToRead()
    }, READ_PAUSE).unref()
  }

  #mayParse(): boolean {
    if (this.#waiting.length > 0 || this.#refusal !== undefined) return false
    const current = this.#current
    if (current === undefined || current.isAnswered) return true
    const { complete, readableLength, readableHighWaterMark } = current.request
    return !complete && readableLength < readableHighWaterMark
  }

  #askToRead(): void {
    clearTimeout(this.#readPause)
    this.#readPause = undefined
    this.#shared.reading.ask(this)
  }

  /** Node has just begun to read again: a `PartedInput` that is made before would get nothing. */
  #resumed(): void {
    if (this.#isHeld) this.#stopReading()
    if (this.#isHeld || !this.#isParted) return
    this.#input?.resumed()
    this.#input ??= PartedInput.of(this.#socket, {
      mayParse: () => this.#mayParse(),
      hold: (bytes) => this.#holdInput(bytes),
      wait: () => this.#readLater(),
    })
    if (this.#isEnded) this.#input?.drop()
  }

  #holdInput(bytes: number): void {
    if (bytes > 0) this.#shared.reading.countInput(bytes)
    this.#account(bytes)
  }

  #stopReading(): void {
    this.#socket.pause()
    // Behind a pause and a resume within one tick, Node reads a socket that calls itself paused, and `pause` is silent.
    this.#socket.emit('pause')
  }

  /** Begins the next request in a later turn, so that connections with many requests leave the event loop to others. */
  readonly #goOn = (): void => {
    this.#shared.working.add(() => {
      // A request that arrived since then is being worked on, and its own end brings the next one.
      if (this.#socket.destroyed || this.#current?.isAnswered === false) return
      const next = this.#socket.writable ? this.#waiting.shift() : undefined
      if (next === undefined) {
        if (this.#refusal !== undefined) this.#end()
        else this.#askToRead()
        return
      }
      this.#account(-sizeOf(next.req))
      this.#work(next)
      if (this.#waiting.length > 0) this.#goOnAfter(this.#current)
      else if (this.#refusal === undefined && !(next.req.complete && this.#input)) this.#askToRead()
    })
  }

  #work(response: ServerResponse): void {
    const exchange = new Exchange(response.req, response)
    this.#current = exchange
    if (this.#input === undefined && hasLargeBody(response.req)) {
      this.#isParted = true
      this.#socket.pause()
      this.#socket.resume()
    }
    const isLast = this.#refusal !== undefined && this.#waiting.length === 0
    if (isLast && !response.req.complete) {
      this.#handlers.refuse(exchange, this.#refusal as AppError)
    } else {
      if (isLast || this.#input !== undefined) this.#goOnAfter(exchange)
      this.#handlers.work(exchange)
    }
  }

  /** Ends a connection that can't be read any further. */
  #end(): void {
    const refusal = this.#refusal
    if (refusal === undefined || this.#isEnded) return
    this.#isEnded = true
    // Parsing further bytes would cost more than reading them.
    this.#isParted = true
    this.#socket.pause()
    this.#input?.drop()
    const isOfAnswered = this.#current?.request.complete === false
    if (isOfAnswered || !this.#socket.writable) endRefused(this.#socket)
    else endRefused(this.#socket, { refusal, requestId: this.#handlers.note(refusal, this.#socket.remoteAddress) })
  }

  #account(bytes: number): void {
    this.#held += bytes
    this.#shared.hold(bytes)
  }

  #release(): void {
    this.#waiting = []
    this.#input?.drop()
    this.#account(-this.#held)
  }

  #close(): void {
    clearTimeout(this.#readPause)
    this.#shared.reading.forget(this)
    this.#release()
    if (this.#current?.isAnswered === false) this.#current.giveUp()
  }
}
