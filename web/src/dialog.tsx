import type { ComponentChildren, JSX } from 'preact'
import { useId, useLayoutEffect, useRef } from 'preact/hooks'

interface DialogProps {
  readonly title: ComponentChildren
  readonly children: ComponentChildren
  /** Called when the person presses Escape. */
  readonly onCancel: () => void
}

/** A modal question. When it closes, the focus returns to the element that had it. */
export function Dialog({ title, children, onCancel }: DialogProps): JSX.Element {
  const place = useRef<HTMLDialogElement>(null)
  const id = useId()
  useLayoutEffect(() => {
    const dialog = place.current
    dialog?.showModal()
    return () => dialog?.close()
  }, [])
  return (
    <dialog
      ref={place}
      aria-labelledby={id}
      // Keys pressed in the dialog must not reach a table around it.
      onKeyDown={(event) => event.stopPropagation()}
      onCancel={(event) => {
        event.preventDefault()
        onCancel()
      }}
    >
      <h2 id={id}>{title}</h2>
      {children}
    </dialog>
  )
}
