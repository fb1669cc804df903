import type { ComponentChildren, JSX } from 'preact'
import { useId, useLayoutEffect, useRef } from 'preact/hooks'
import { say } from '../language/language.ts'
import { Button } from './controls.tsx'

interface DialogProps {
  readonly title: ComponentChildren
  readonly children: ComponentChildren
  /** Called when the person presses Escape. */
  readonly onCancel: () => void
}

const FIELDS = 'input:not(:disabled), select:not(:disabled), textarea:not(:disabled)'
const BUTTONS = 'button:not(:disabled), a[href]'

/** A modal question, which keeps the focus. When it closes, the focus returns to the element that had it. */
export function Dialog({ title, children, onCancel }: DialogProps): JSX.Element {
  const place = useRef<HTMLDialogElement>(null)
  const id = useId()
  useLayoutEffect(() => {
    const dialog = place.current
    if (dialog === null) return
    dialog.showModal()
    begin(dialog)
    // A new step of the question removes the element that has the focus, or disables it.
    const observer = new MutationObserver(() => {
      if (dialog.open && !isWithin(dialog)) begin(dialog)
    })
    observer.observe(dialog, { childList: true, subtree: true, attributeFilter: ['disabled'] })
    return () => {
      observer.disconnect()
      dialog.close()
    }
  }, [])
  return (
    <dialog
      ref={place}
      tabIndex={-1}
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

interface QuestionProps extends DialogProps {
  readonly act: string
  readonly isDanger?: boolean
  readonly onAct: () => void
}

/** Asks before something is done, and gives the focus to the answer that changes nothing. */
export const Question = ({ act, isDanger = false, onAct, children, ...asked }: QuestionProps): JSX.Element => (
  <Dialog {...asked}>
    {children}
    <div class="fields">
      <Button text={say('plants.cancel')} onClick={asked.onCancel} />
      <Button text={act} class={isDanger ? 'danger' : 'primary'} onClick={onAct} />
    </div>
  </Dialog>
)

/** Gives the focus to the first field, else to the first button, which is the one that changes nothing. */
function begin(dialog: HTMLDialogElement): void {
  const first = dialog.querySelector<HTMLElement>(FIELDS) ?? dialog.querySelector<HTMLElement>(BUTTONS)
  const target = first ?? dialog
  target.focus()
}

/** Whether an element that can have the focus has it. Where the focused one is disabled, the document has the focus. */
const isWithin = (dialog: HTMLDialogElement): boolean => {
  const { activeElement } = document
  return (
    activeElement !== null &&
    activeElement !== dialog &&
    dialog.contains(activeElement) &&
    !activeElement.matches(':disabled')
  )
}
