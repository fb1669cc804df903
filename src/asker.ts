/** Whoever asks for a value. */
export interface Asker {
  /** Whether nobody waits for the value any more. */
  readonly isOver: boolean
}

/** Somebody who no longer waits once the signal aborts. */
export const askerOf = (signal: AbortSignal): Asker => ({
  get isOver() {
    return signal.aborted
  },
})
