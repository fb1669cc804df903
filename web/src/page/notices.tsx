import { signal } from '@preact/signals'
import type { ComponentChildren, JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { say } from '../language/language.ts'
import { Button } from './controls.tsx'
import { focusMain } from './focus.ts'
import { plain } from './named.ts'
import { said } from './said.ts'
import { Sentence } from './sentence.tsx'

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

/** Shows a notice until the person dismisses it, newer ones replace it, or, of those without an action, time passes. */
export function tell(text: string, options: { action?: Notice['action']; isError?: boolean } = {}): void {
  const { action, isError = false } = options
  last += 1
  const older = notices.value
  const kept = older.filter((notice, i) => i > older.length - MOST || isFailure(notice))
  notices.value = [...kept, { id: last, text, isError, action }]
}

/** Tells that something has failed. @param what as `sayOf` says it */
export const tellFailure = (what: string, error: unknown): void =>
  tell(say('page.failed', { what, why: said(error) }), { isError: true })

/** Whether the notice offers to retry. Newer notices do not replace it, because the offer would be lost. */
const isFailure = ({ isError, action }: Notice): boolean => isError && action !== undefined

const dismiss = (id: number): void => {
  notices.value = notices.value.filter((notice) => notice.id !== id)
}

export const clearNotices = (): void => {
  notices.value = []
}

/** A live region: screen readers announce each new notice. @param children stand above them */
export function Notices({ children }: { readonly children: ComponentChildren }): JSX.Element {
  return (
    <section class="notices" aria-label={say('page.messages')} aria-live="polite">
      {children}
      {notices.value.map((notice) => (
        <Item key={notice.id} {...notice} />
      ))}
    </section>
  )
}

/** ms after which a notice leaves that offers nothing and reports no fault. */
const SHOWN = 8000

function Item({ id, text, isError, action }: Notice): JSX.Element {
  const place = useRef<HTMLDivElement>(null)
  useEffect(() => {
    if (isError || action !== undefined) return undefined
    const timer = setInterval(() => {
      // Who points at it, is in it or has another tab open has not read it yet.
      const isLookedAt = place.current?.matches(':hover, :focus-within') === true
      if (!isLookedAt && document.visibilityState === 'visible') dismiss(id)
    }, SHOWN)
    return () => clearInterval(timer)
  }, [])
  return (
    <div ref={place} class={isError ? 'notice error' : 'notice'}>
      <Sentence text={text} />
      {action !== undefined && (
        <Button
          text={action.label}
          onClick={() => {
            // The action may move the focus to its result, but only while no other element has the focus.
            focusMain()
            dismiss(id)
            action.run()
          }}
        />
      )}
      <Button
        text="×"
        class="quiet"
        aria-label={say('page.dismiss', { text: plain(text) })}
        onClick={() => dismiss(id)}
      />
    </div>
  )
}
