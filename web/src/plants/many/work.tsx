import type { JSX } from 'preact'
import { say } from '../../language/language.ts'
import type { Conflict } from '../../offline/send-many.ts'
import { Button } from '../../page/controls.tsx'
import { Fault, Sentence } from '../../page/sentence.tsx'
import { Conflicts, plantsIn } from './done.tsx'

/** Plants that are read for changes of many, and the changes, which are under way or over. */
export type WorkStep =
  | { readonly kind: 'reading'; readonly count: number }
  | { readonly kind: 'unread'; readonly fault: string }
  | { readonly kind: 'working'; readonly done: number; readonly of: number }
  | WorkOver

interface WorkOver {
  readonly kind: 'over'
  /** What the changes have done; empty where that is not known. */
  readonly result: string
  readonly conflicts: readonly Conflict[]
  /** How many there are, where the list has only the first. */
  readonly stayed: number
  /** Why changes are left to make; empty if none are. */
  readonly fault: string
}

interface WorkProps {
  readonly title: string
  readonly step: WorkStep
  readonly onRetry: () => void
  readonly onStop: () => void
  readonly onGoOn: () => void
  readonly onClose: () => void
}

/** Shows how far the work is, and in the end what stayed as it is and whether some is left to do. */
export function Work({ title, step, onRetry, onStop, onGoOn, onClose }: WorkProps): JSX.Element {
  if (step.kind === 'reading' || step.kind === 'unread') {
    return (
      <>
        {step.kind === 'unread' ? (
          <Fault text={step.fault} onRetry={onRetry} />
        ) : (
          <p role="status">
            {say('plant.reading')} {step.count > 0 && say('page.soFar', { plants: plantsIn(step.count) })}
          </p>
        )}
        <div class="fields">
          <Button text={say('plants.cancel')} onClick={onClose} />
        </div>
      </>
    )
  }
  if (step.kind === 'working') {
    return (
      <>
        <p role="status">{say('import.doneOf', { done: step.done, plants: plantsIn(step.of) })}</p>
        <progress aria-label={title} max={step.of} value={step.done} />
        <div class="fields">
          <Button text={say('import.stop')} onClick={onStop} />
        </div>
      </>
    )
  }
  const { result, conflicts, stayed, fault } = step
  return (
    <>
      <p role="status">
        <Sentence text={result} />
      </p>
      <Conflicts conflicts={conflicts} count={stayed} />
      <Fault text={fault} />
      <div class="fields">
        {fault !== '' && <Button text={say('import.goOn')} class="primary" onClick={onGoOn} />}
        <Button text={say('bulk.close')} onClick={onClose} />
      </div>
    </>
  )
}
