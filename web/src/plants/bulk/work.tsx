import type { JSX } from 'preact'
import { say } from '../../language/language.ts'
import { sayWith } from '../../language/say-with.ts'
import { Sentence } from '../../page/sentence.tsx'
import type { Outcome } from './apply.ts'
import { Conflicts, plantsIn } from './done.tsx'

/** Changes of many plants that are under way, or over. */
export type WorkStep =
  | { readonly kind: 'working'; readonly done: number; readonly of: number }
  /** `result` says what the changes have done. */
  | { readonly kind: 'over'; readonly outcome: Outcome; readonly result: string }

interface WorkProps {
  readonly title: string
  readonly step: WorkStep
  readonly onStop: () => void
  readonly onGoOn: (left: Outcome['left']) => void
  readonly onClose: () => void
}

/** Shows how far changes are, and in the end what stayed as it is and what is left to do. */
export function Work({ title, step, onStop, onGoOn, onClose }: WorkProps): JSX.Element {
  if (step.kind === 'working') {
    return (
      <>
        <p role="status">{say('bulk.working', { count: step.done, of: step.of })}</p>
        <progress aria-label={title} max={step.of} value={step.done} />
        <div class="fields">
          <button type="button" onClick={onStop}>
            {say('import.stop')}
          </button>
        </div>
      </>
    )
  }
  const {
    result,
    outcome: { conflicts, left, fault },
  } = step
  return (
    <>
      <p role="status">
        <Sentence text={result} />
      </p>
      <Conflicts conflicts={conflicts} />
      {left.length > 0 && (
        <p role="alert">{sayWith('bulk.left', { plants: plantsIn(left.length), why: <Sentence text={fault} /> })}</p>
      )}
      <div class="fields">
        {left.length > 0 && (
          <button type="button" class="primary" onClick={() => onGoOn(left)}>
            {say('import.goOn')}
          </button>
        )}
        <button type="button" onClick={onClose}>
          {say('bulk.close')}
        </button>
      </div>
    </>
  )
}
