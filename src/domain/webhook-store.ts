import type { Token } from './token.ts'
import type { Webhook, WebhookAttempt, WebhookProgress } from './webhook.ts'

export interface StoredWebhook {
  readonly webhook: Webhook
  readonly progress: WebhookProgress
  /** Grows with each change of `webhook`, and with each change of `progress` by `change`. */
  readonly version: number
  /** The token of the creator, for one of the store's. */
  readonly token: Pick<Token, 'scopes' | 'expiresAt' | 'revokedAt'> | undefined
}

export interface WebhookSave {
  readonly id: string
  /** The version of the webhook that the deliverer has. */
  readonly version: number
  readonly progress: WebhookProgress
  /** In the order of their ends. */
  readonly attempts: readonly WebhookAttempt[]
}

/** Attempts of each webhook that the store lists, at most this many and not longer than this, in milliseconds. */
export const MAX_ATTEMPTS = 1000
export const ATTEMPTS_KEEP = 7 * 86_400_000

/**
 * The webhooks of a store. These comments are the specification for every engine; each engine runs the same test suite
 * (test/webhook-suite.ts). Writes resolve after the commit. Every method throws the AppErrors that Store names for all
 * of its methods.
 */
export interface WebhookStore {
  /** Stores a new webhook, unless there are `max` already. A webhook that has this id stays, and is the result. */
  create(webhook: Webhook, progress: WebhookProgress, max: number): Promise<Webhook | 'too many'>

  /** Returns all webhooks, oldest first, or only the one with an id. */
  list(id?: string): Promise<readonly StoredWebhook[]>

  /**
   * Changes a webhook, and its progress where one is given. Returns false, and changes nothing, when the webhook has
   * another version by now, or is gone.
   */
  change(id: string, version: number, webhook: Webhook, progress?: WebhookProgress): Promise<boolean>

  /** Deletes a webhook with its attempts. Returns whether there was one. */
  delete(id: string): Promise<boolean>

  /** Returns the newest attempts of a webhook, newest first. */
  attempts(id: string, limit: number): Promise<readonly WebhookAttempt[]>

  /**
   * Takes the lease of every active webhook that nobody else holds, or renews it, for LEASE_TIME from now on. Returns
   * the ids of those that the holder has. Only one process opens a SQLite store to serve it, and holds all of them.
   */
  lease(holder: string): Promise<readonly string[]>

  /** Ends all leases of the holder. */
  release(holder: string): Promise<void>

  /**
   * Stores progress and attempts of webhooks, with one commit. Returns the ids of those whose progress it did not store,
   * because they have another version, are gone, or are leased to another instance. In the first case it stores the attempts.
   */
  save(holder: string, saves: readonly WebhookSave[]): Promise<readonly string[]>
}

/** Milliseconds. */
export const LEASE_TIME = 10_000
