/** Work that is done in parts: after each of them others may have their turn. */
export type Task<T> = Generator<undefined, T>

/** Does all of them by turns, and returns what the first one to be done returns. */
export function* race<T>(works: readonly Task<T>[]): Task<T> {
  try {
    for (;;) {
      for (const work of works) {
        const { done, value } = work.next()
        if (done === true) return value
      }
      yield
    }
  } finally {
    for (const work of works) work.return(undefined as never)
  }
}
