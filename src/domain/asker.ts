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

/** Settles like the work, or rejects with the signal's reason once the signal aborts. It does not end the work. */
export function abortable<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return work
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason)
    if (signal.aborted) abort()
    else signal.addEventListener('abort', abort, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  })
}
