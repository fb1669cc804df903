import { randomBytes } from 'node:crypto'

/** Sane: short, and of characters that need no quoting in a log, a shell or a URL's path. Other ids are not taken over. */
const SANE = /^[A-Za-z0-9._~:@=+-]{1,64}$/

/** Names requests: `X-Request-Id` of an answer is `req` of its lines in the log. */
export class RequestIds {
  /** Ids of one run of the process begin alike, and with nothing else's. */
  readonly #prefix = `${randomBytes(4).toString('hex')}-`
  #count = 0

  next(): string {
    return this.#prefix + (this.#count++).toString(36)
  }

  /** @param sent the X-Request-Id of the request; taken over where it is sane */
  of(sent: string | string[] | undefined): string {
    return typeof sent === 'string' && SANE.test(sent) ? sent : this.next()
  }
}
