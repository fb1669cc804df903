declare global {
  interface ErrorConstructor {
    /** Of V8; other browsers ignore it. */
    stackTraceLimit: number
  }
}

/**
 * An error that is an answer, and no bug: its message says where it comes from. A stack takes several times as long as
 * the rest of a row that is refused, and a file of 60 kB may have 30,000 of them.
 */
export class StacklessError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    const { stackTraceLimit } = Error
    Error.stackTraceLimit = 0
    super(message, options)
    Error.stackTraceLimit = stackTraceLimit
  }
}

/**
 * Every refusal of the service. A number is the HTTP status times 100 plus a counter, and is never reused. openapi.yaml
 * names the refusals of each operation; `npm run generate` makes docs/reference/errors.md from this list.
 */
export const ERRORS = {
  40001: 'The body cannot be parsed: bad syntax, bad UTF-8, empty, or nested too deep.',
  40002: 'The body is JSON but not a valid record.',
  40003: 'A path or query parameter is not valid.',
  40004: 'The request is not valid HTTP.',
  40101: 'The request carries no access token.',
  40102: 'The access token is malformed, unknown or revoked.',
  40103: 'The access token has expired.',
  40301: 'The access token lacks the scope that the operation needs.',
  40302: 'The access token to make or revoke has more rights than the token of the request; nothing was changed.',
  40303:
    'The plant would be outside of the part of the access token, the operation needs a token without a part, or pages of the origin may not use the path.',
  40401: 'There is no such path.',
  40402: 'There is no such record.',
  40501: 'The path does not have this method, or no path has it, such as CONNECT; Allow lists the methods there are.',
  40601: 'Accept excludes every media type that the operation can answer with.',
  40801: 'The request took too long to arrive.',
  40901: 'The id belongs to a different plant; nothing was changed.',
  40902:
    'The Idempotency-Key belongs to another request, or to a token or secret that no longer works; nothing was changed.',
  40903: 'The last active access token with the scope tokens cannot be revoked; nothing was changed.',
  40904: 'The store has as many active access tokens as the operator allows; nothing was changed.',
  40905: 'There is no free range of ids after those in use; nothing was changed.',
  40906: 'The store has as many webhooks as it may have; nothing was changed.',
  40907: 'The action id belongs to another token, or to another undo; nothing was changed.',
  41001: 'The position is older than the log of changes, or of another history; begin again with an export.',
  41002: 'The log of changes has no longer all changes of the action; nothing was changed.',
  41201: 'A precondition of the request (If-Match, If-None-Match) does not hold; nothing was changed.',
  41301: 'The body is larger than the limit.',
  41501: 'The body has a media type, charset or encoding that the operation does not take.',
  42901: 'One token or address sends too many requests, or too many at once; Retry-After says when to retry.',
  43101: 'The request line and headers are larger than the limit.',
  50001: 'An unexpected error occurred; the log has its cause under the X-Request-Id of the answer.',
  50301:
    'The store is out of reach, or the keys of the identity provider are. A write may or may not have been stored; sending it again is safe.',
  50302:
    'The service is overloaded: a limit for all clients is reached, or a search passed its deadline. Nothing was done.',
  50303: 'The service is shutting down; nothing was done.',
  50304: 'The store has no space left; nothing was stored.',
  // Never reuse 50305: earlier programs answered it while the search index was behind.
} as const

export type ErrorNumber = keyof typeof ERRORS

export const statusOf = (number: ErrorNumber): number => Math.trunc(number / 100)

export interface AppErrorOptions {
  /** Seconds after which a retry makes sense; 1 by default for the statuses 429 and 503. */
  readonly retryAfter?: number | undefined
  readonly cause?: unknown
}

/** Statuses of refusals that a later retry may not get. */
const TRANSIENT = [429, 503]

/** The only error that reaches a client, as `{error, message}`. The client gets 50001 for every other error. */
export class AppError extends StacklessError {
  override readonly name = 'AppError'
  readonly number: ErrorNumber
  /** Seconds after which a retry makes sense; undefined when no retry helps. */
  readonly retryAfter: number | undefined

  constructor(number: ErrorNumber, message: string, { retryAfter, cause }: AppErrorOptions = {}) {
    super(message, cause === undefined ? undefined : { cause })
    this.number = number
    this.retryAfter = retryAfter ?? (TRANSIENT.includes(statusOf(number)) ? 1 : undefined)
  }

  get status(): number {
    return statusOf(this.number)
  }
}

/** The faults of a store, in the words of every engine. */
export const outOfReach = (cause: unknown): AppError =>
  new AppError(50301, 'the store is out of reach; a later retry is safe', { cause })
export const noSpaceLeft = (cause: unknown): AppError =>
  new AppError(50304, 'the store has no space left; nothing was stored, retry later', { cause })
export const refusedRecord = (cause: unknown): AppError =>
  new AppError(50001, 'the store refused the record', { cause })
export const shuttingDown = (): AppError => new AppError(50303, 'the service is shutting down; nothing was done')

/**
 * Thrown by a close, when all is stored but a thread still works, for which the end of the process would wait. The
 * process must kill itself; its next start continues the work.
 */
export class NotEnded extends Error {
  override readonly name = 'NotEnded'
}

/** The body of every refusal: exactly these two members. */
export const errorJson = (error: ErrorNumber, message: string): string => JSON.stringify({ error, message })
