import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Actor } from '../actor.ts'
import type { AppError } from '../errors.ts'
import type { Change } from './audit-trail.ts'
import type { Identity } from './auth/bearer.ts'
import type { Operation } from './operations.ts'

/** The client closed its connection, so it waits for no answer. */
export class ClientGone extends Error {
  override readonly name = 'ClientGone'
}

/** One request and its response, with what the stations on the way to the handler have found out about it. */
export class Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  /** `performance.now()` when the work on it began. */
  readonly startedAt = performance.now()
  /** The time (`performance.now()`) of the count of its answer; until then, of its beginning. */
  endedAt = this.startedAt
  /** Undefined until the router has found one. */
  operation: Operation | undefined = undefined
  /** By their names in the contract, percent-decoded. */
  pathParameters: PathParameters = NO_PARAMETERS
  identity: Identity | undefined = undefined
  /** Undefined until an answer or a line of the log needs it. */
  requestId: string | undefined = undefined
  /** Names and values in turn. */
  rateLimitHeaders: readonly string[] | undefined = undefined
  /** Undefined until the handler of a change has read its request. */
  change: Change | undefined = undefined
  #whyOver: ClientGone | AppError | undefined = undefined
  #abort: AbortController | undefined = undefined
  #failBody: ((refusal: AppError) => void) | undefined = undefined
  #bodyFault: AppError | undefined = undefined

  constructor(request: IncomingMessage, response: ServerResponse) {
    this.request = request
    this.response = response
  }

  /**
   * Aborts when the connection closes before the whole answer was handed to it. The reason is ClientGone, or an
   * AppError when the service cut the connection off. Work for this exchange listens to the signal, or passes it to the
   * store, and frees what it holds. The signal is made on first use, so a create pays nothing.
   */
  get signal(): AbortSignal {
    this.#abort ??= new AbortController()
    if (this.#whyOver !== undefined) this.#abort.abort(this.#whyOver)
    return this.#abort.signal
  }

  /** Who sent the request, in an operation that takes a token. */
  get actor(): Actor {
    if (this.identity === undefined) throw new Error('an operation without a token asks who sent its request')
    return this.identity.actor
  }

  /** Whether the exchange ended without a whole answer. */
  get isOver(): boolean {
    return this.#whyOver !== undefined
  }

  /** Whether the whole answer was handed to the operating system. Node takes the socket from the response then. */
  get isAnswered(): boolean {
    return this.response.writableEnded && this.response.socket === null
  }

  /** Ends the exchange without an answer, or in the middle of it. */
  giveUp(why: ClientGone | AppError = new ClientGone()): void {
    if (this.#whyOver !== undefined) return
    this.#whyOver = why
    this.#abort?.abort(why)
    this.response.destroy()
  }

  /**
   * Tells the client to send the body where it waits for that (RFC 9110 section 10.1.1). A head that is refused never
   * gets here, so its client may leave the body out.
   *
   * @param fail called when the rest of the body can never arrive, with the refusal for it
   */
  askForBody(fail: (refusal: AppError) => void): void {
    this.#failBody = fail
    const { httpVersion, headers } = this.request
    if (this.#bodyFault !== undefined) fail(this.#bodyFault)
    else if (headers.expect !== undefined && httpVersion === '1.1' && CONTINUE.test(headers.expect)) {
      this.response.writeContinue()
    }
  }

  /** Fails the body, whose rest can never arrive. The answer stays the same when no handler reads the body. */
  failBody(refusal: AppError): void {
    this.#bodyFault = refusal
    if (!this.response.headersSent) this.#failBody?.(refusal)
  }
}

export type PathParameters = Readonly<Record<string, string | undefined>>

const NO_PARAMETERS: PathParameters = {}

/** As Node has it, which decides by it whether the client waits. */
const CONTINUE = /(?:^|\W)100-continue(?:$|\W)/i
