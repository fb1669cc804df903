import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { say } from '../language/language.ts'
import { Button } from '../page/controls.tsx'
import { isFocusLost } from '../page/focus.ts'
import { named } from '../page/named.ts'
import { linkTo } from '../page/route.ts'
import { queryFor } from '../plants/list/filter.ts'
import { printLabels } from '../plants/many/chosen-labels.ts'
import { plantsIn } from '../plants/many/done.tsx'
import { askUndo } from '../plants/many/undo-dialog.tsx'
import type { ImportJob } from './import-job.ts'

interface NextStepsProps {
  readonly job: ImportJob
  /** Whether the person may look at the last actions. */
  readonly hasActions: boolean
}

/** The most tags that the address of the list names. */
const MOST_TAGS = 20

/** Leads on after an import: to its plants, to their labels, to the next import of the file, and back. */
export function NextSteps({ job, hasActions }: NextStepsProps): JSX.Element {
  const plants = job.imported.value
  const status = useRef<HTMLParagraphElement>(null)
  const undone = useSignal<number | undefined>(undefined)
  const { action } = job.run ?? {}
  // The pressed button is gone.
  useLayoutEffect(() => {
    if (undone.value !== undefined && isFocusLost()) status.current?.focus()
  }, [undone.value])
  const tags = [...new Set(plants.map(({ tag }) => tag))]
  const isByTag = tags.length <= MOST_TAGS && tags.every((tag) => tag !== undefined)
  const query = queryFor({ q: '', tags: isByTag ? tags.filter((tag) => tag !== undefined) : [], sort: '-id' })
  const onUndone = async (count: number | undefined) => {
    undone.value = count
    if (count !== undefined) job.imported.value = []
  }
  return (
    <section aria-label={say('import.nextSteps')}>
      <h2>{say('import.nextSteps')}</h2>
      <div class="fields">
        {undone.value === undefined && (
          <>
            <a class="button" href={linkTo('plants', plants.length > 0 ? query : undefined)}>
              {say('waiting.show')}
            </a>
            {plants.length > 0 && <Button text={say('plants.printLabels')} onClick={() => printLabels(plants)} />}
          </>
        )}
        {undone.value === undefined &&
          (action === undefined ? (
            hasActions && (
              <a class="button" href={linkTo('actions')}>
                {say('view.actions')}
              </a>
            )
          ) : (
            <Button
              text={say('import.undo')}
              onClick={() => askUndo({ action, title: named(job.sheet.file.name), onUndone })}
            />
          ))}
      </div>
      <p role="status" ref={status} tabIndex={-1}>
        {undone.value !== undefined && say('bulk.undoneFor', { plants: plantsIn(undone.value) })}
      </p>
      {job.assignsIds && undone.value === undefined && (
        <p class="note">
          {say('import.nextTime', { become: say('import.become') })} {!job.isPasted && say('import.remembered')}
        </p>
      )}
    </section>
  )
}
