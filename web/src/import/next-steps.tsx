import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import type { PlantstoreClient } from '../../../client/src/index.ts'
import { say } from '../language/language.ts'
import { isFocusLost } from '../page/focus.ts'
import { linkTo } from '../page/route.ts'
import { plantsIn } from '../plants/bulk/done.tsx'
import { UndoDialog } from '../plants/bulk/undo-dialog.tsx'
import { printLabels } from '../plants/chosen-labels.ts'
import { queryFor } from '../plants/filter.ts'
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
  // The pressed button is gone.
  useLayoutEffect(() => {
    if (undone.value !== undefined && isFocusLost()) status.current?.focus()
  }, [undone.value])
  const tags = [...new Set(plants.map(({ after }) => after.tag))]
  const isByTag = tags.length <= MOST_TAGS && tags.every((tag) => tag !== undefined)
  const query = queryFor({ q: '', tags: isByTag ? tags.filter((tag) => tag !== undefined) : [], sort: '-id' })
  return (
    <section aria-label={say('import.nextSteps')}>
      <h2>{say('import.nextSteps')}</h2>
      <div class="fields">
        {undone.value === undefined && (
          <>
            <a class="button" href={linkTo('plants', plants.length > 0 ? query : undefined)}>
              {say('import.showThem')}
            </a>
            {plants.length > 0 && (
              <button type="button" onClick={() => printLabels(plants.map(({ after }) => after))}>
                {say('import.printLabels')}
              </button>
            )}
          </>
        )}
        {plants.length > 0 ? (
          <button type="button" onClick={() => (isUndoing.value = true)}>
            {say('import.undo')}
          </button>
        ) : (
          undone.value === undefined && (
            <a class="button" href={linkTo('actions')}>
              {say('view.actions')}
            </a>
          )
        )}
      </div>
      <p role="status" ref={status} tabIndex={-1}>
        {undone.value !== undefined && say('bulk.undoneFor', { plants: plantsIn(undone.value) })}
      </p>
      {isUndoing.value && (
        <UndoDialog
          client={client}
          title={say('import.undo')}
          read={async () => plants}
          asks={false}
          onClose={(count, left) => {
            isUndoing.value = false
            undone.value = (undone.value ?? 0) + count
            job.imported.value = left.flatMap(({ before, after }) => (after === undefined ? [] : [{ before, after }]))
          }}
        />
      )}
      {job.assignsIds && undone.value === undefined && (
        <p class="note">
          {say('import.nextTime', { become: say('import.become') })} {!job.isPasted && say('import.remembered')}
        </p>
      )}
    </section>
  )
}
