import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import type { PlantstoreClient } from '../../../client/src/index.ts'
import { isFocusLost } from '../focus.ts'
import { add, clearChosen, labelOf, MOST_LABELS } from '../labels/chosen.ts'
import { say } from '../language/language.ts'
import { apply, type Conflict, reversed } from '../plants/bulk/apply.ts'
import { Conflicts, plantsIn } from '../plants/bulk/done.tsx'
import { queryFor } from '../plants/filter.ts'
import { go, linkTo } from '../route.ts'
import { Fault } from '../sentence.tsx'
import type { ImportJob } from './import-job.ts'

interface NextStepsProps {
  readonly job: ImportJob
  readonly client: PlantstoreClient
}

/** The most tags that the address of the list names. */
const MOST_TAGS = 20

/** Leads on after an import: to its plants, to their labels, to the next import of the file, and back. */
export function NextSteps({ job, client }: NextStepsProps): JSX.Element {
  const plants = job.imported.value
  const status = useRef<HTMLParagraphElement>(null)
  const undone = useSignal<number | undefined>(undefined)
  const isUndoing = useSignal(false)
  const fault = useSignal('')
  const conflicts = useSignal<readonly Conflict[]>([])
  // The pressed button is gone.
  useLayoutEffect(() => {
    if (undone.value !== undefined && isFocusLost()) status.current?.focus()
  }, [undone.value])
  const tags = [...new Set(plants.map(({ after }) => after.tag))]
  const isByTag = tags.length <= MOST_TAGS && tags.every((tag) => tag !== undefined)
  const query = queryFor({ q: '', tags: isByTag ? tags.filter((tag) => tag !== undefined) : [], sort: '-id' })
  const print = () => {
    clearChosen()
    add(plants.map(({ after }) => labelOf(after)))
    go('labels')
  }
  const undo = async () => {
    isUndoing.value = true
    fault.value = ''
    const outcome = await apply(client, plants.map(reversed), () => {}, new AbortController().signal)
    isUndoing.value = false
    conflicts.value = outcome.conflicts
    undone.value = (undone.value ?? 0) + outcome.done.length
    fault.value = outcome.fault
    job.imported.value = outcome.left
      .map(reversed)
      .flatMap(({ before, after }) => (after === undefined ? [] : [{ before, after }]))
  }
  return (
    <section aria-label={say('import.nextSteps')}>
      <h2>{say('import.nextSteps')}</h2>
      <div class="fields">
        {undone.value === undefined && (
          <>
            <a class="button" href={linkTo('plants', plants.length > 0 ? query : undefined)}>
              {say('import.showThem')}
            </a>
            {plants.length > 0 && plants.length <= MOST_LABELS && (
              <button type="button" onClick={print}>
                {say('import.printLabels')}
              </button>
            )}
          </>
        )}
        {plants.length > 0 && (
          <button type="button" aria-disabled={isUndoing.value} onClick={() => isUndoing.value || void undo()}>
            {isUndoing.value ? say('bulk.undoing') : say('import.undo')}
          </button>
        )}
      </div>
      <p role="status" ref={status} tabIndex={-1}>
        {undone.value !== undefined && say('bulk.undoneFor', { plants: plantsIn(undone.value) })}
      </p>
      <Fault text={fault.value} />
      <Conflicts conflicts={conflicts.value} />
      {job.assignsIds && undone.value === undefined && (
        <p class="note">{say('import.nextTime', { become: say('import.become') })}</p>
      )}
    </section>
  )
}
