/** The deadline of a request, and a signal that ends it early. */
export interface Budget {
  /** Milliseconds on the clock of performance.now(). */
  readonly deadline: number
  readonly signal?: AbortSignal | undefined
}

/** Returns a budget that begins now. */
export const budgetOf = (milliseconds: number, signal?: AbortSignal): Budget => ({
  deadline: performance.now() + milliseconds,
  signal,
})

/** Milliseconds until the deadline, at least 0. */
export const timeLeft = ({ deadline }: Budget): number => Math.max(0, deadline - performance.now())

/**
 * Settles like the work. Rejects with `late()` at the deadline, and with the signal's reason on an abort. It does not
 * end the work.
 */
export function within<T>(work: Promise<T>, budget: Budget, late: () => Error): Promise<T> {
  const { signal } = budget
  return new Promise<T>((resolve, reject) => {
    const abort = () => settle(() => reject(signal?.reason))
    const timer = setTimeout(() => settle(() => reject(late())), timeLeft(budget))
    const settle = (callback: () => void) => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', abort)
      callback()
    }
    signal?.addEventListener('abort', abort)
    if (signal?.aborted === true) abort()
    work.then(
      (value) => settle(() => resolve(value)),
      (error: unknown) => settle(() => reject(error)),
    )
  })
}
