import type { JSX } from 'preact'
import { linkTo } from '../route.ts'
import { job } from './import-job.ts'

const number = new Intl.NumberFormat()

/** Shows in other views how far a running import is. */
export function ImportProgress(): JSX.Element | null {
  const current = job.value
  const step = current?.step.value
  if (current === undefined || step === undefined || !(current.isUnfinished || step.kind === 'done')) return null
  if (current.isSeen.value && step.kind === 'done') return null
  return (
    <section class="running" aria-label="Import">
      <a href={linkTo('import')}>
        <bdi>{current.sheet.file.name}</bdi>
      </a>
      {step.kind === 'importing' && (
        <>
          : {number.format(step.done)} of {number.format(current.count)} plants{' '}
          <progress aria-label="Import" max={current.count} value={step.done} />
        </>
      )}
      <span role="status">
        {step.kind === 'broken' && ' is imported only in part'}
        {step.kind === 'done' && ' is imported'}
      </span>
    </section>
  )
}
