/** Where clients of OAuth look for the metadata of the service at the root of an origin (RFC 9728 section 3). */
const METADATA_PATH = '/.well-known/oauth-protected-resource'

/** The headers whose values may begin with a path of the service. Link has it in angle brackets. */
const WITH_PATHS = ['Location', 'Content-Location', 'Link']

/**
 * The path of the address that clients use, such as `/garden`. A proxy may leave it in requests or take it off. No other
 * part of the service knows of it: the router takes it off a request, and the responder puts it before the paths of an
 * answer.
 */
export class BasePath {
  /** Empty at the root of an origin. */
  readonly path: string
  readonly #pattern: RegExp

  /** @param publicUrl as `--public-url` has it, whose path begins unlike every path of the service */
  constructor(publicUrl: string | undefined) {
    this.path = publicUrl === undefined ? '' : new URL(publicUrl).pathname.replace(/\/$/, '')
    const base = RegExp.escape(this.path)
    // A target may be a whole address (RFC 9112 section 3.2.2), whose scheme has any case (RFC 9110 section 4.2.3).
    this.#pattern = new RegExp(`^((?i:https?)://[^/?]*)?(?:(${METADATA_PATH})${base}(?=[?]|$)|${base}(?=[\\/?]|$)/?)`)
  }

  /** Returns a path of the service, with the query, for the target of a request. */
  within(target: string): string {
    if (this.path === '') return target
    return target.replace(this.#pattern, (_, origin: string = '', metadata: string = '/') => origin + metadata)
  }

  /**
   * Puts the path before those in the headers of an answer.
   *
   * @param headers names and values in turn
   * @param prefix stands between the two
   */
  addTo(headers: string[], prefix: string): void {
    const path = this.path + prefix
    if (path === '') return
    for (let i = 0; i < headers.length; i += 2) {
      if (WITH_PATHS.includes(headers[i] ?? ''))
        headers[i + 1] = headers[i + 1]?.replace(/^<?(?=\/)/, `$&${path}`) ?? ''
    }
  }

  /** The address of the metadata: it has the path behind its own (RFC 9728 section 3.1). */
  metadataUrl(publicUrl: string): string {
    return new URL(METADATA_PATH + this.path, publicUrl).href
  }
}
