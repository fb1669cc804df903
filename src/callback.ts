/**
 * Called exactly once: with an error, or with undefined and the result. The calls of every create and every read by id
 * take one in place of a promise, which would cost 4% of the throughput (docs/decisions/0006-hot-path.md).
 */
export type Callback<T> = (error: unknown, result?: T) => void

/** Calls a callback. What it throws is an uncaught error of the process, and keeps no other callback from its call. */
export function callSafely<T>(callback: Callback<T>, error: unknown, result?: T): void {
  try {
    callback(error, result)
  } catch (fault) {
    queueMicrotask(() => {
      throw fault
    })
  }
}
