import { signal } from '@preact/signals'
import type { JSX } from 'preact'

interface Notice {
  readonly id: number
  readonly text: string
  readonly isError: boolean
  readonly action: { readonly label: string; readonly run: () => void } | undefined
}

/** The most notices on the screen, so that they do not cover the page. A new one replaces the oldest. */
const MOST = 4

const notices = signal<readonly Notice[]>([])
let last = 0

/** Shows a notice until the person dismisses it or newer ones replace it. */
export function tell(text: string, options: { action?: Notice['action']; isError?: boolean } = {}): void {
  const { action, isError = false } = options
  last += 1
  notices.value = [...notices.value.slice(1 - MOST), { id: last, text, isError, action }]
}

const dismiss = (id: number): void => {
  notices.value = notices.value.filter((notice) => notice.id !== id)
}

export const clearNotices = (): void => {
  notices.value = []
}

/** A live region: screen readers announce each new notice. */
export function Notices(): JSX.Element {
  return (
    <section class="notices" aria-label="Messages" aria-live="polite">
      {notices.value.map(({ id, text, isError, action }) => (
        <div key={id} class={isError ? 'notice error' : 'notice'}>
          <span dir="auto">{text}</span>
          {action !== undefined && (
            <button
              type="button"
              onClick={() => {
                dismiss(id)
                action.run()
              }}
            >
              {action.label}
            </button>
          )}
          <button type="button" class="quiet" aria-label={`Dismiss: ${text}`} onClick={() => dismiss(id)}>
            ×
          </button>
        </div>
      ))}
    </section>
  )
}
