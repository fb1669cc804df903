import type { IncomingMessage } from 'node:http'

/** The headers that scripts of other origins may read. */
const EXPOSED =
  'ETag, Link, Location, Content-Location, Content-Disposition, Retry-After, RateLimit, RateLimit-Policy, WWW-Authenticate, X-Request-Id'
/** The headers that scripts of other origins may send. */
const SENDABLE = 'Authorization, Content-Type, Accept, If-Match, If-None-Match, Idempotency-Key, X-Request-Id'
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
