/** A selector of the elements that Tab reaches. */
const STOPS =
  'a[href], button:not(:disabled), input:not(:disabled), select:not(:disabled), textarea, summary, [tabindex]'

let last: Element | undefined

/**
 * Moves the focus to a neighbour when the page removes the focused element, such as a button that has done its work.
 * Browsers would move it to the document, where no ring shows it and a screen reader begins at the top.
 */
export function keepFocus(): void {
  addEventListener('focusin', ({ target }) => {
    last = target instanceof Element ? target : undefined
  })
  new MutationObserver((records) => {
    if (!isFocusLost() || last === undefined || last.isConnected) return
    const gone = last
    const record = records.find(({ removedNodes }) => [...removedNodes].some((node) => node.contains(gone)))
    // A dialog keeps the focus itself.
    if (record?.target instanceof Element && record.target.closest('dialog[open]') !== null) return
    place(record)?.focus({ preventScroll: true })
  }).observe(document.body, { childList: true, subtree: true })
}

/** Whether no control has the focus, so that the page may move it. */
export const isFocusLost = (): boolean => [null, document.body, main()].includes(activeElement())

export const focusMain = (): void => main()?.focus({ preventScroll: true })

const main = (): HTMLElement | null => document.getElementById('main')

const activeElement = (): HTMLElement | null =>
  document.activeElement instanceof HTMLElement ? document.activeElement : null

/** Returns the next tab stop beside the removed element, else the previous one, else the closest place around it. */
function place(record: MutationRecord | undefined): HTMLElement | null {
  const around = record?.target
  // A removed view or row of a table has no related neighbours.
  if (!(around instanceof Element) || !around.isConnected || around.matches('body, [role=grid], [role=grid] *'))
    return main()
  const { nextSibling: next, previousSibling: before } = record as MutationRecord
  const stops = [...around.querySelectorAll<HTMLElement>(STOPS)].filter(
    (stop) => stop.tabIndex >= 0 && stop.checkVisibility(),
  )
  return (
    stops.find((stop) => next?.isConnected && (next.contains(stop) || isAfter(stop, next))) ??
    stops.findLast((stop) => before?.isConnected && (before.contains(stop) || isAfter(before, stop))) ??
    around.closest<HTMLElement>('[tabindex]') ??
    main()
  )
}

const isAfter = (one: Node, other: Node): boolean =>
  (other.compareDocumentPosition(one) & Node.DOCUMENT_POSITION_FOLLOWING) !== 0

/** Closes an open panel, and gives its button the focus. */
export function closeOnEscape(event: KeyboardEvent & { readonly currentTarget: HTMLDetailsElement }): void {
  if (event.key !== 'Escape' || !event.currentTarget.open) return
  event.preventDefault()
  event.currentTarget.open = false
  event.currentTarget.querySelector('summary')?.focus()
}
