import { BoundedMap, Windows } from '../../base/counts.ts'
import { addressGroup } from '../../base/network.ts'
import { HttpError } from '../refusal.ts'

/** Milliseconds. */
const WINDOW = 60_000

/** Counts failed authentications, or requests without a token, per address (per /64 network of IPv6) and minute. */
export class AddressLimit {
  readonly #limit: number
  readonly #requests = new Windows(WINDOW)

  constructor(limit: number) {
    this.#limit = limit
  }

  /** Counts a request. @returns 0 up to the limit of the address, and beyond it the seconds until the window ends */
  note(address: string): number {
    const requests = this.#requests.of(addressGroup(address))
    requests.count++
    return requests.count > this.#limit ? Math.ceil((requests.ends - performance.now()) / 1000) : 0
  }
}

interface Bucket {
  left: number
  filledAt: number
}

const MAX_TOKENS = 10_000

/**
 * A token bucket per access token: `limit` requests per second, and a bucket of the same size. The headers follow
 * draft-ietf-httpapi-ratelimit-headers-10.
 */
export class RateLimiter {
  readonly #limit: number
  readonly #policy: string
  readonly #buckets = new BoundedMap<string, Bucket>(MAX_TOKENS)

  /** @param limit requests per second and token */
  constructor(limit: number) {
    this.#limit = limit
    this.#policy = `"default";q=${limit};w=1`
  }

  /**
   * Takes one request from the token's bucket.
   *
   * @returns the response headers with the rest of the bucket, names and values in turn
   * @throws AppError 42901 when the bucket is empty
   */
  take(tokenId: string): string[] {
    const bucket = this.#refilled(tokenId)
    if (bucket.left < 1) {
      const message = `at most ${this.#limit} requests per second are allowed with this token; wait a second`
      throw new HttpError(42901, message, { headers: this.#fields(0) })
    }
    bucket.left--
    return Object.entries(this.#fields(Math.floor(bucket.left))).flat()
  }

  #refilled(tokenId: string): Bucket {
    const now = performance.now()
    const bucket = this.#buckets.get(tokenId) ?? { left: this.#limit, filledAt: now }
    // Makes the bucket the newest entry: an active token whose bucket was evicted would get a full one.
    this.#buckets.set(tokenId, bucket)
    bucket.left = Math.min(this.#limit, bucket.left + ((now - bucket.filledAt) / 1000) * this.#limit)
    bucket.filledAt = now
    return bucket
  }

  #fields(left: number): Record<string, string> {
    return { 'RateLimit-Policy': this.#policy, RateLimit: `"default";r=${left};t=1` }
  }
}
