import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { AppError } from '../../errors.ts'
import { Exchange } from '../exchange.ts'
import { endRefused } from './connection-errors.ts'
import type { ReadTurns } from './read-turns.ts'
import type { SharedTurns } from './shared-turns.ts'

/** How long nothing is read from a connection whose requests wait, in ms: see `#waitFor`. */
const READ_PAUSE = 250

/** How long a connection stays that is refused as a whole, in ms. */
const LAST_WORDS = 1000

/** Bytes that Node keeps for a request and its response, beside the text of the head (measured: 1,550 to 1,850). */
const REQUEST_SIZE = 2048

/** What a connection does with its requests. */
export interface ConnectionHandlers {
  /** Answers a request. */
  readonly work: (exchange: Exchange) => void
  /** Answers a request that can't be read to its end. */
  readonly refuse: (exchange: Exchange, refusal: AppError) => void
  /** Takes note of a refusal of bytes that are no request, and gives it an id. */
  readonly note: (refusal: AppError, address: string | undefined) => string
}

/** What all connections share. */
export interface Shared {
  readonly handlers: ConnectionHandlers
  /** Whose turn it is to be read. */
  readonly reading: ReadTurns
  /** In which the requests that waited behind others are begun. */
  readonly working: SharedTurns
  /** Told of bytes that requests take which wait, and, below 0, that they take no more. */
  readonly hold: (bytes: number) => void
}

/**
 * The requests of one connection. It works on one at a time: the next is looked at once the answer to the one before was
 * handed to the operating system. Refusals of bytes that are no request come behind all answers that are due.
 *
 * Node's parser reads ahead: a chunk of 64 KiB becomes up to 3,600 requests at once. They wait here as Node made them.
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
  #isHeld = false
  #held = 0

  constructor(socket: Socket, shared: Shared) {
    this.#socket = socket
    this.#handlers = shared.handlers
    this.#shared = shared
    // Node resumes a socket behind each whole request.
    socket.on('resume', () => {
      if (this.#isHeld) this.#stopReading()
    })
    socket.on('close', () => this.#close())
  }

  /** Takes the next request, whose head has arrived. */
  take(response: ServerResponse): void {
    if (this.#refusal !== undefined || this.#socket.destroyed) return
    if (this.#denial !== undefined) {
      this.#refusal = this.#denial
      this.#handlers.refuse(new Exchange(response.req, response), this.#denial)
      return
    }
    const current = this.#current
    if (this.#waiting.length === 0 && (current === undefined || current.isAnswered)) this.#work(response)
    else this.#waitFor(current as Exchange, response)
  }

  /** Refuses what can't be read any further, once all answers that are due before it have gone out. */
  refuse(refusal: AppError): void {
    // What still comes behind the first fault is another one, and thrown away.
    if (this.#refusal !== undefined) return
    this.#refusal = refusal
    const current = this.#current
    if (!this.#socket.writable) this.#socket.destroy()
    else if (this.#waiting.length > 0) return
    else if (current === undefined || current.isAnswered) this.#end()
    else {
      current.response.once('finish', this.#goOn)
      if (!current.request.complete) current.failBody(refusal)
    }
  }

  /** Refuses the connection as a whole, with the answers that are due if they come at once. */
  deny(refusal: AppError): void {
    setTimeout(() => this.#socket.destroy(), LAST_WORDS).unref()
    if (this.hasAsked) this.#refusal = refusal
    else this.#denial = refusal
    this.#release()
  }

  destroy(): void {
    this.#socket.destroy()
    this.#release()
  }

  /** Refuses what has not arrived as a whole. */
  shutDown(refusal: AppError): void {
    const current = this.#current
    if (current !== undefined && !current.isAnswered) {
      if (!current.request.complete) current.failBody(refusal)
    } else if (this.#waiting.length === 0) {
      if (this.#socket.bytesRead > 0) this.refuse(refusal)
      else this.#socket.destroy()
    }
  }

  /** Reads nothing until `read`. */
  hold(): void {
    this.#isHeld = true
    this.#stopReading()
  }

  read(): void {
    if (!this.#isHeld) return
    this.#isHeld = false
    this.#socket.resume()
  }

  get isHeld(): boolean {
    return this.#isHeld
  }

  get isGone(): boolean {
    return this.#socket.destroyed
  }

  /** Whether anything has ever been read. */
  get wasRead(): boolean {
    return this.#socket.bytesRead > 0
  }

  /** Bytes that waiting requests take. */
  get held(): number {
    return this.#held
  }

  /** Whether a request has ever come. */
  get hasAsked(): boolean {
    return this.#current !== undefined
  }

  /** Whether closing it would cost no client an answer that is due. */
  get isIdle(): boolean {
    const isRefused = this.#refusal !== undefined || this.#denial !== undefined || this.#socket.destroyed
    return !isRefused && this.#waiting.length === 0 && (this.#current === undefined || this.#current.isAnswered)
  }

  /** Whether a body is being read in pieces. */
  get isStreaming(): boolean {
    const current = this.#current
    return current?.operation?.isStreamed === true && !current.response.headersSent && !current.request.complete
  }

  /**
   * Nothing is read meanwhile, so that what a client sends ahead stays in its socket. But a client that leaves is seen by
   * reading alone; so another chunk is read now and then.
   */
  #waitFor(current: Exchange, response: ServerResponse): void {
    if (this.#waiting.length === 0 && this.#refusal === undefined) current.response.once('finish', this.#goOn)
    this.#waiting.push(response)
    if (!this.#isHeld) this.hold()
    this.#readPause ??= setTimeout(() => this.#askToRead(), READ_PAUSE).unref()
    this.#account(sizeOf(response.req))
  }

  #askToRead(): void {
    clearTimeout(this.#readPause)
    this.#readPause = undefined
    this.#shared.reading.ask(this)
  }

  #stopReading(): void {
    this.#socket.pause()
    // Behind a pause and a resume within one tick, Node reads a socket that calls itself paused, and `pause` is silent.
    this.#socket.emit('pause')
  }

  /** In a later turn, so that connections with many requests leave the event loop to the others. */
  readonly #goOn = (): void => {
    this.#shared.working.add(() => {
      if (this.#socket.destroyed) return
      const next = this.#waiting.shift()
      if (next === undefined || !this.#socket.writable) {
        this.#end()
        return
      }
      this.#account(-sizeOf(next.req))
      this.#work(next)
      const { response } = this.#current as Exchange
      if (this.#waiting.length > 0) response.once('finish', this.#goOn)
      else if (this.#refusal === undefined) this.#askToRead()
    })
  }

  #work(response: ServerResponse): void {
    const exchange = new Exchange(response.req, response)
    this.#current = exchange
    const isLast = this.#refusal !== undefined && this.#waiting.length === 0
    if (isLast && !response.req.complete) {
      this.#handlers.refuse(exchange, this.#refusal as AppError)
    } else {
      if (isLast) response.once('finish', this.#goOn)
      this.#handlers.work(exchange)
    }
  }

  /** Ends a connection that can't be read any further. */
  #end(): void {
    const refusal = this.#refusal
    if (refusal === undefined) return
    const isOfAnswered = this.#current?.request.complete === false
    if (this.#socket.writable && !isOfAnswered) {
      endRefused(this.#socket, { refusal, requestId: this.#handlers.note(refusal, this.#socket.remoteAddress) })
    } else {
      endRefused(this.#socket)
    }
  }

  #account(bytes: number): void {
    this.#held += bytes
    this.#shared.hold(bytes)
  }

  #release(): void {
    this.#waiting = []
    this.#account(-this.#held)
  }

  #close(): void {
    clearTimeout(this.#readPause)
    this.#shared.reading.forget(this)
    this.#release()
    if (this.#current?.isAnswered === false) this.#current.giveUp()
  }
}

const sizeOf = ({ url = '', rawHeaders }: IncomingMessage): number =>
  rawHeaders.reduce((sum, { length }) => sum + length, REQUEST_SIZE + url.length)
