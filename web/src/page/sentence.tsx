import type { JSX } from 'preact'
import { say } from '../language/language.ts'
import { useRepeat } from './connection.ts'
import { Button } from './controls.tsx'
import { dividedByMarks } from './named.ts'

/** Shows a sentence, each marked name in its own direction, and what is in English as English. */
export function Sentence({ text }: { readonly text: string }): JSX.Element {
  return (
    <span>
      {dividedByMarks(text).map(({ text: part, kind }, i) => {
        if (kind === 'name')
          return (
            <bdi translate={false} key={i}>
              {part}
            </bdi>
          )
        return kind === 'english' ? (
          <span key={i} lang="en">
            {part}
          </span>
        ) : (
          part
        )
      })}
    </span>
  )
}

interface FaultProps {
  /** Empty: there is no fault. */
  readonly text: string
  /** Repeats the read that failed. The page does so by itself once the service answers again. */
  readonly onRetry?: () => void
}

/** Tells the person of a fault. */
export function Fault({ text, onRetry }: FaultProps): JSX.Element | null {
  useRepeat(text === '' ? undefined : onRetry)
  return text === '' ? null : (
    <p role="alert">
      <Sentence text={text} />
      {onRetry !== undefined && (
        <>
          {' '}
          <Button text={say('page.tryAgain')} onClick={onRetry} />
        </>
      )}
    </p>
  )
}
