import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Actor } from '../domain/actor.ts'
import type { AppError } from '../domain/errors.ts'
import type { Change } from './audit-trail.ts'
import type { Identity } from './auth/bearer.ts'
import type { Operation } from './operations.ts'

/** The reason of an exchange that ended because its client closed the connection. */
export class ClientGone extends Error {
  override readonly name = 'ClientGone'
}

/** One request and its response, with everything that the service has found out about the request so far. */
export class Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  /** `performance.now()` when the work on the request began. */
  readonly startedAt = performance.now()
  /** Undefined until the router has found one. */
  operation: Operation | undefined = undefined
  /** Percent-decoded, by their names in the contract. */
  pathParameters: PathParameters = NO_PARAMETERS
  identity: Identity | undefined = undefined
  /** Undefined until an answer or a line of the log needs it. */
  requestId: string | undefined = undefined
  /** Names and values in turn. */
  rateLimitHeaders: readonly string[] | undefined = undefined
  /** Undefined until the handler of a change has read its request. */
  change: Change | undefined = undefined
  #endReason: ClientGone | AppError | undefined = undefined
  #abort: AbortController | undefined = undefined
  #failBody: ((refusal: AppError) => void) | undefined = undefined
  #bodyFault: AppError | undefined = undefined

  constructor(request: IncomingMessage, response: ServerResponse) {
    this.request = request
    this.response = response
  }

  /**
   * Aborts when the connection closes before it has taken the whole answer. The reason is ClientGone, or an AppError
   * when the service cut the connection off. Work for this exchange listens to the signal, or passes it to the store,
   * and frees its resources. The first use creates the signal, because most requests need none.
   */
  get signal(): AbortSignal {
    this.#abort ??= new AbortController()
    if (this.#endReason !== undefined) this.#abort.abort(this.#endReason)
    return this.#abort.signal
  }

  /** The actor of the token. @throws Error in an operation that takes no token */
  get actor(): Actor {
    if (this.identity === undefined) throw new Error('an operation without a token has no actor')
    return this.identity.actor
  }

  /** Whether the exchange ended without a whole answer. */
  get isOver(): boolean {
    return this.#endReason !== undefined
  }

  /** Ends the exchange without an answer, or in the middle of it. */
  giveUp(reason: ClientGone | AppError = new ClientGone()): void {
    if (this.#endReason !== undefined) return
    this.#endReason = reason
    this.#abort?.abort(reason)
    this.response.destroy()
  }

  /**
   * Sends 100 Continue to a client that waits for it (RFC 9110 section 10.1.1). A refused head gets none, so that its
   * client need not send the body.
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

/** The expression by which Node.js recognizes a client that waits for 100 Continue. */
const CONTINUE = /(?:^|\W)100-continue(?:$|\W)/i
