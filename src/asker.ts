/** A caller that asks for a value. */
export interface Asker {
  /** Whether the caller no longer waits for the value. */
  readonly isOver: boolean
  /** Its reason tells why the asker is over. Undefined for an asker without one. */
  readonly signal?: AbortSignal
}

/** An asker that can also abort the work that it asked for. */
export interface AbortingAsker extends Asker {
  /** Aborts when the asker is over. The first use creates it, which costs as much as the rest of a short page. */
  readonly signal: AbortSignal
}

/** An asker that no longer waits once the signal aborts. */
export const askerOf = (signal: AbortSignal): AbortingAsker => ({
  signal,
  get isOver() {
    return signal.aborted
  },
})
