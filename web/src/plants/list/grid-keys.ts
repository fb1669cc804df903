import { isFocusLost } from '../../page/focus.ts'

const STEPS: Readonly<Record<string, number>> = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10 }
const ENDS: Readonly<Record<string, (last: number) => number>> = { Home: () => 0, End: (last) => last }

/** Moves the focus from row to row. Ignores keys pressed in a field of a row. */
export function moveFocus(event: KeyboardEvent & { readonly currentTarget: HTMLElement }): void {
  const { target, currentTarget: grid, key } = event
  if (event.ctrlKey || event.altKey || event.metaKey) return
  if (!(target instanceof HTMLElement) || target.matches('input, textarea, select')) return
  const rows = [...grid.querySelectorAll<HTMLElement>('[role=row][data-id]')]
  const current = rows.findIndex((row) => row.contains(target))
  if (current === -1) return
  const last = rows.length - 1
  const step = STEPS[key]
  const wanted = step === undefined ? ENDS[key]?.(last) : Math.min(last, Math.max(0, current + step))
  if (wanted === undefined) return
  event.preventDefault()
  rows[wanted]?.focus()
}

/** Returns the id of the row that gets the focus when this one leaves the table. */
export function rowAfter(id: bigint): string | undefined {
  const row = rowOf(String(id))
  const rows = [...document.querySelectorAll<HTMLElement>('[role=row][data-id]')]
  const at = row === null ? -1 : rows.indexOf(row)
  return (rows[at + 1] ?? rows[at - 1])?.dataset['id']
}

/** Focuses the row of a plant, or its editor, once it is drawn, unless another element has the focus by then. */
export function focusRow(id: string): void {
  requestAnimationFrame(() => {
    const row = isFocusLost() ? rowOf(id) : null
    ;(row?.querySelector('textarea') ?? row)?.focus()
  })
}

/** Focuses the row of the table that Tab reaches, after an action that has removed its own controls. */
export function returnToRows(): void {
  requestAnimationFrame(() => {
    document.querySelector<HTMLElement>('[role=row][data-id][tabindex="0"]')?.focus()
  })
}

/** Focuses the first field of the editor of a plant once it is drawn. */
export function focusEditor(id: string): void {
  requestAnimationFrame(() => {
    const row = rowOf(id)
    if (isFocusLost() || row?.contains(document.activeElement)) row?.querySelector('textarea')?.focus()
  })
}

const rowOf = (id: string): HTMLElement | null => document.querySelector(`[role=row][data-id="${id}"]`)
