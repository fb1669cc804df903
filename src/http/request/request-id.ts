import { randomBytes } from 'node:crypto'

/** The ids of clients that the service adopts: short, and safe without quoting in a log, a shell or a URL's path. */
const SANE = /^[A-Za-z0-9._~:@=+-]{1,64}$/

/** Names requests: `X-Request-Id` of an answer is `req` of its lines in the log. */
export class RequestIds {
  /** Unique to this run of the process. */
  readonly #prefix = `${randomBytes(4).toString('hex')}-`
  #count = 0

  next(): string {
    return this.#prefix + (this.#count++).toString(36)
  }

  /** @param sent the X-Request-Id of the request; adopted where it matches SANE */
  of(sent: string | string[] | undefined): string {
    return typeof sent === 'string' && SANE.test(sent) ? sent : this.next()
  }
}
