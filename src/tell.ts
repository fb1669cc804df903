/** A caller that fails on its answer must not cost the others theirs: the process is told on its own. */
export function tell(answer: () => void): void {
  try {
    answer()
  } catch (error) {
    queueMicrotask(() => {
      throw error
    })
  }
}
