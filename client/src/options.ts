import type { ImportPlantsQuery, ImportReport } from './contract.generated.ts'
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

/** What a change is a part of. */
export interface ActionOptions {
  /** 1 to 64 characters of `[A-Za-z0-9_-]`, such as a UUID, the same for all that is done together. */
  readonly action?: string | undefined
  /** What people call it, such as the name of a file: at most 200 characters. */
  readonly actionTitle?: string | undefined
}

export interface CallOptions {
  /** Ends the call early; it rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined
}

export interface CreateOptions extends CallOptions, ActionOptions {
  /** Refuses an id that exists, even with an equal plant (`If-None-Match: *`). */
  readonly mustBeNew?: boolean
}

export interface WriteOptions extends CallOptions, ActionOptions {
  /** Refuses to write a plant that no longer has this entity tag; `*` refuses to write a plant that does not exist. */
  readonly ifMatch?: string | undefined
  /** `*` refuses to write a plant that exists. */
  readonly ifNoneMatch?: string | undefined
}

export interface ImportOptions extends CallOptions, ActionOptions, ImportPlantsQuery {
  /** The format of a file; `ndjson` by default. An iterable of plants needs none. */
  readonly format?: 'ndjson' | 'csv'
  /**
   * The Idempotency-Key of an import that assigns ids: each row then has the same id in each attempt. Without it, the same
   * rows go on with the ids of the attempt before.
   */
  readonly key?: string
  /** Called with the report so far, after each part of an iterable of plants. */
  readonly onProgress?: (report: ImportReport) => void
}

/** A report, with the id of the action that it is of; without one of a dry run, and of a store without a log. */
export type ReportOf<Report> = Report & { readonly action?: string | undefined }

export interface UndoOptions extends CallOptions, ActionOptions {
  /** Changes nothing. */
  readonly dryRun?: boolean
}
