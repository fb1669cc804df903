/** Whoever asks for a value. */
export interface Asker {
  /** Whether nobody waits for the value any more. */
  readonly isOver: boolean
}

/** An asker that can also end what it asked for while it is under way. */
export interface AbortingAsker extends Asker {
  /** Aborts when the asker is over. May be made on first use: a signal costs as much as the rest of a short page. */
  readonly signal: AbortSignal
}

/** Somebody who no longer waits once the signal aborts. */
export const askerOf = (signal: AbortSignal): AbortingAsker => ({
  signal,
  get isOver() {
    return signal.aborted
  },
})
