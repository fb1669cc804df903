import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { AppError } from '../errors.ts'
import { endRefused } from './connection-errors.ts'
import { Exchange } from './exchange.ts'

/** How long nothing is read from a connection whose requests wait, in ms: see `#waitFor`. */
const READ_PAUSE = 250

/** What a connection does with its requests. */
export interface ConnectionHandlers {
  /** Answers a request. */
  readonly work: (exchange: Exchange) => void
  /** Answers a request that can't be read to its end. */
  readonly refuse: (exchange: Exchange, refusal: AppError) => void
  /** Takes note of a refusal of bytes that are no request, and gives it an id. */
  readonly note: (refusal: AppError, address: string | undefined) => string
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
  #current: Exchange | undefined
  /** The responses to the requests behind the current one. */
  #waiting: ServerResponse[] = []
  #refusal: AppError | undefined
  #readPause: NodeJS.Timeout | undefined

  constructor(socket: Socket, handlers: ConnectionHandlers) {
    this.#socket = socket
    this.#handlers = handlers
    // Node resumes a socket behind each whole request.
    socket.on('resume', () => {
      if (this.#readPause !== undefined) socket.pause()
    })
    socket.on('close', () => this.#close())
  }

  /** Takes the next request, whose head has arrived. */
  take(response: ServerResponse): void {
    if (this.#refusal !== undefined) return
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
    this.#socket.pause()
    this.#readPause ??= setTimeout(() => this.#read(), READ_PAUSE).unref()
  }

  #read(): void {
    clearTimeout(this.#readPause)
    this.#readPause = undefined
    this.#socket.resume()
  }

  /** In a turn of its own, so that a connection with many requests leaves the event loop to the others. */
  readonly #goOn = (): void => {
    setImmediate(() => {
      if (this.#socket.destroyed) return
      const next = this.#waiting.shift()
      if (next === undefined || !this.#socket.writable) {
        this.#end()
        return
      }
      this.#work(next)
      const { response } = this.#current as Exchange
      if (this.#waiting.length > 0) response.once('finish', this.#goOn)
      else if (this.#refusal === undefined) this.#read()
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

  #close(): void {
    clearTimeout(this.#readPause)
    this.#waiting = []
    if (this.#current?.isAnswered === false) this.#current.giveUp()
  }
}
