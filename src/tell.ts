import type { Answer } from './store.ts'

/** A caller that fails on its answer must not cost the others theirs: the process is told on its own. */
export function tell<T>(answer: Answer<T>, error: unknown, value?: T): void {
  try {
    answer(error, value)
  } catch (fault) {
    queueMicrotask(() => {
      throw fault
    })
  }
}
