/** Whether the element of an observer is near the window now. A busy browser reports several moments at once. */
export const isNear = (entries: readonly IntersectionObserverEntry[]): boolean =>
  entries.at(-1)?.isIntersecting ?? false
