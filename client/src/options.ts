export interface ClientOptions {
  /** Where the service is, such as `https://plants.example`. */
  readonly url: string | URL
  /** The access token. Without it only the operations that need none work. */
  readonly token?: string | undefined
  /** How often a request is sent at most; 6 by default. */
  readonly attempts?: number
  /** Milliseconds that one attempt may take; 30,000 by default. An import has no limit, an export one for its start. */
  readonly timeout?: number
  /** Milliseconds that all waits between attempts may take together; 60,000 by default. */
  readonly maxWait?: number
  /** Called before each wait. */
  readonly onRetry?: (retry: Retry) => void
  /** Instead of the global one. */
  readonly fetch?: typeof globalThis.fetch
}

export interface Retry {
  /** The error of the attempt that failed. */
  readonly reason: Error
  /** The number of that attempt, from 1 on. */
  readonly attempt: number
  /** Milliseconds until the next one. */
  readonly wait: number
}

export interface CallOptions {
  /** Ends the call early; it rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined
}
