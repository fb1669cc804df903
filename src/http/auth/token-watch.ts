import type { Auth, Identity } from './bearer.ts'

/**
 * Milliseconds between look-ups of the tokens of requests under way. With CACHE_TTL (bearer.ts), a revoked token stops
 * working within a second.
 */
const INTERVAL = 400

type End = (reason: unknown) => void

/** Ends requests under way, such as imports and exports, whose token is revoked or expires. */
export class TokenWatch {
  readonly #auth: Auth
  readonly #watched = new Map<string, { readonly identity: Identity; readonly ends: Set<End>; isLookedUp: boolean }>()
  #timer: NodeJS.Timeout | undefined

  constructor(auth: Auth) {
    this.#auth = auth
  }

  /**
   * @param end called with an AppError: 40102, 40103, or the failure of the look-up
   * @returns a function that stops the watch
   */
  watch(identity: Identity, end: End): () => void {
    const watched = this.#watched.get(identity.actor.id) ?? { identity, ends: new Set(), isLookedUp: false }
    watched.ends.add(end)
    this.#watched.set(identity.actor.id, watched)
    this.#timer ??= setInterval(() => this.#check(), INTERVAL).unref()
    return () => {
      watched.ends.delete(end)
      if (watched.ends.size === 0 && this.#watched.get(identity.actor.id) === watched) {
        this.#watched.delete(identity.actor.id)
      }
    }
  }

  #check(): void {
    if (this.#watched.size === 0) {
      clearInterval(this.#timer)
      this.#timer = undefined
    }
    for (const watched of this.#watched.values()) {
      // One look-up per token at a time. The store bounds the time of each.
      if (watched.isLookedUp) continue
      watched.isLookedUp = true
      this.#auth
        .confirm(watched.identity)
        .catch((reason: unknown) => {
          for (const end of watched.ends) end(reason)
        })
        .finally(() => {
          watched.isLookedUp = false
        })
    }
  }
}
