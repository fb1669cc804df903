import type { IncomingMessage } from 'node:http'
import { AppError, type AppErrorOptions, type ErrorNumber } from '../domain/errors.ts'

interface HttpErrorOptions extends AppErrorOptions {
  readonly headers: Readonly<Record<string, string>>
}

/** An AppError whose response has headers of its own, such as `Allow`. */
export class HttpError extends AppError {
  readonly headers: Readonly<Record<string, string>>

  constructor(number: ErrorNumber, message: string, options: HttpErrorOptions) {
    super(number, message, options)
    this.headers = options.headers
  }
}

/** A refusal after which the connection closes. */
export const closing = (number: ErrorNumber, message: string, headers: HttpErrorOptions['headers'] = {}): HttpError =>
  new HttpError(number, message, { headers: { ...headers, Connection: 'close' } })

/** The response headers of a refusal: Retry-After where it has a time, and the headers of an HttpError. */
export function refusalHeaders(refusal: AppError): Readonly<Record<string, string>> {
  const { retryAfter } = refusal
  return {
    ...(retryAfter === undefined ? {} : { 'Retry-After': String(retryAfter) }),
    ...(refusal instanceof HttpError ? refusal.headers : {}),
  }
}

/** Returns the refusal for an error. Hides the text of an error other than AppError, which may hold secrets. */
export const asRefusal = (error: unknown): AppError =>
  error instanceof AppError
    ? error
    : new AppError(50001, 'an unexpected error occurred in the service', { cause: error })

/** The headers that scripts of other origins may read. */
const EXPOSED =
  'ETag, Link, Location, Content-Location, Content-Disposition, Retry-After, RateLimit, RateLimit-Policy, WWW-Authenticate, X-Request-Id, Plantstore-Action, Plantstore-Log-Since, Plantstore-Position, Plantstore-Total'
/** The headers that scripts of other origins may send. */
const SENDABLE =
  'Authorization, Content-Type, Accept, If-Match, If-None-Match, Idempotency-Key, Last-Event-ID, Plantstore-Action, Plantstore-Action-Title, X-Request-Id, Mcp-Protocol-Version, Mcp-Session-Id, Mcp-Method, Mcp-Name'
/** Seconds; browsers take no more than two hours. */
const MAX_AGE = '600'

/** Lets scripts of some origins use the service (https://fetch.spec.whatwg.org/#http-cors-protocol). */
export class Cors {
  readonly #origins: ReadonlySet<string>

  /** @param origins in the form of browsers: `https://garden.example` */
  constructor(origins: readonly string[]) {
    this.#origins = new Set(origins)
  }

  /** The headers for any answer, names and values in turn. A bearer token needs no Allow-Credentials. */
  headersOf(origin: string | undefined): readonly string[] {
    // Two fields of one name mean the same as one field with a list (RFC 9110 section 5.2).
    const vary = ['Vary', 'Origin']
    if (origin === undefined || !this.#origins.has(origin)) return vary
    return [...vary, 'Access-Control-Allow-Origin', origin, 'Access-Control-Expose-Headers', EXPOSED]
  }

  /**
   * The further headers of the answer to a preflight.
   *
   * @param methods in the form of Allow
   */
  preflightHeadersOf({ headers }: IncomingMessage, methods: string): readonly string[] {
    const { origin = '', 'access-control-request-method': method } = headers
    if (method === undefined || !this.#origins.has(origin)) return []
    const allowed = ['Access-Control-Allow-Methods', methods, 'Access-Control-Allow-Headers', SENDABLE]
    return [...allowed, 'Access-Control-Max-Age', MAX_AGE]
  }
}
