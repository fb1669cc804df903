export interface ClientOptions {
  /** The address of the service, such as `https://plants.example`. */
  readonly url: string | URL
  /** The access token. Without it, only operations work that need no token. */
  readonly token?: string | undefined
  /** The most attempts of a request; 6 by default. */
  readonly attempts?: number
  /** Milliseconds that one attempt may take; 30,000 by default. An import has no limit, an export one for its start. */
  readonly timeout?: number
  /** Milliseconds that all waits between attempts may take together; 60,000 by default. */
  readonly maxWait?: number
  /** Called before each wait. */
  readonly onRetry?: (retry: Retry) => void
  /** Replaces the global `fetch`. */
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
