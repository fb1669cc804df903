/** Closes an open panel, and gives its button the focus. */
export function closeOnEscape(event: KeyboardEvent & { readonly currentTarget: HTMLDetailsElement }): void {
  if (event.key !== 'Escape' || !event.currentTarget.open) return
  event.preventDefault()
  event.currentTarget.open = false
  event.currentTarget.querySelector('summary')?.focus()
}
