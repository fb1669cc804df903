/** Whether the observed element is near the window. The last entry counts: a busy browser reports several at once. */
export const isNear = (entries: readonly IntersectionObserverEntry[]): boolean =>
  entries.at(-1)?.isIntersecting ?? false
