import type { PlantstoreError } from './errors.ts'

export interface ClientOptions {
  /** The address of the service, such as `https://plants.example`. May have a path, but no user, query or fragment. */
  readonly url: string | URL
  /** The access token. Without it, only operations that need no token work. */
  readonly token?: string | undefined
  /** The most attempts of a request; 6 by default. */
  readonly attempts?: number
  /** Milliseconds for one attempt; 30,000 by default. Does not apply to imports, nor to an export after its start. */
  readonly timeout?: number
  /** Milliseconds that all waits between attempts may take together; 60,000 by default. */
  readonly maxWait?: number
  /** Called before each wait. */
  readonly onRetry?: (retry: Retry) => void
  /** Called when the last attempt of a request has failed and a later one may succeed. */
  readonly onGiveUp?: (reason: Error) => void
  /** Called for each answer of the service, with its refusal if it refuses; for no answer of another program. */
  readonly onAnswer?: (refusal: PlantstoreError | undefined) => void
  /** Replaces the global `fetch`. It must not follow redirects. */
  readonly fetch?: typeof globalThis.fetch
}

export interface Retry {
  /** The error of the attempt that failed. */
  readonly reason: Error
  /** The number of that attempt, from 1 on. */
  readonly attempt: number
  /** Milliseconds until the next attempt. */
  readonly wait: number
}

export interface CallOptions {
  /** Ends the call early; it rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined
}
