import type { ComponentChildren, JSX } from 'preact'
import { closeOnEscape } from './focus.ts'
import { Icon } from './icon.tsx'

interface FurtherProps {
  readonly label: string
  readonly children: ComponentChildren
}

/** A menu of further actions. It closes with each of them, and its button has the focus when a dialog of one closes. */
export function Further({ label, children }: FurtherProps): JSX.Element {
  return (
    <details class="further" onKeyDown={closeOnEscape}>
      <summary aria-label={label}>
        <Icon name="more" />
      </summary>
      <div
        class="panel"
        // Before the action itself, which may open a dialog.
        onClickCapture={({ currentTarget, target }) => {
          const menu = currentTarget.closest('details')
          if (menu === null || !(target instanceof Element) || target.closest('button') === null) return
          menu.querySelector('summary')?.focus()
          menu.open = false
        }}
      >
        {children}
      </div>
    </details>
  )
}
