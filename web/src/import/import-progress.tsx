import type { JSX } from 'preact'
import { say } from '../language/language.ts'
import { linkTo } from '../page/route.ts'
import { plantsIn } from '../plants/many/done.tsx'
import { job } from './import-job.ts'

/** Shows in other views how far a running import is. */
export function ImportProgress(): JSX.Element | null {
  const current = job.value
  const step = current?.step.value
  const all = current?.run?.count ?? 0
  if (current === undefined || step === undefined || !(current.isUnfinished || step.kind === 'done')) return null
  if (current.isSeen.value && step.kind === 'done') return null
  return (
    <section class="running" aria-label={say('view.import')}>
      <a href={linkTo('import')}>
        <bdi translate={false}>{current.sheet.file.name}</bdi>
      </a>
      {step.kind === 'importing' && (
        <>
          {' '}
          {say('import.doneOf', { done: step.done, plants: plantsIn(all) })}{' '}
          <progress aria-label={say('view.import')} max={all} value={step.done} />
        </>
      )}
      <span role="status">
        {step.kind === 'broken' && ` ${say('import.inPart')}`}
        {step.kind === 'done' && ` ${say('import.isImported')}`}
      </span>
    </section>
  )
}
