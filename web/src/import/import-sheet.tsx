import type { JSX } from 'preact'
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'
import type { PlantstoreClient } from '../../../client/src/index.ts'
import type { Reading } from '../../../src/import/sheet/sheet.ts'
import { say } from '../language/language.ts'
import { sayWith } from '../language/say-with.ts'
import { connection, isLost } from '../page/connection.ts'
import { Button } from '../page/controls.tsx'
import { isFocusLost } from '../page/focus.ts'
import { Fault, Sentence } from '../page/sentence.tsx'
import { plantsIn } from '../plants/many/done.tsx'
import type { Session } from '../session/session.ts'
import { Columns } from './columns.tsx'
import { Downloads } from './downloads.tsx'
import type { ImportJob } from './import-job.ts'
import { NextSteps } from './next-steps.tsx'
import { OutcomeTable } from './outcome-table.tsx'
import { Questions } from './questions.tsx'
import { WhatHappens } from './what-happens.tsx'

interface SheetProps {
  readonly session: Session
  readonly job: ImportJob
  readonly onReopen: (chosen: Reading) => void
}

/** The steps of an import: map the columns, check without storing, import, save the report. */
export function ImportSheet({ session, job, onReopen }: SheetProps): JSX.Element {
  const { sheet } = job
  const { kind } = job.step.value
  const isBusy = kind === 'checking' || kind === 'importing'
  // The service may have answered while the person was in another view.
  useEffect(() => {
    if (job.awaits.value && !isLost()) void job.check(session.client)
  }, [job])
  return (
    <>
      <h2>
        <bdi translate={false}>{sheet.file.name}</bdi>
      </h2>
      <Columns
        sheet={sheet}
        workbook={job.workbook}
        mapping={job.mapping.value}
        mode={job.mode.value}
        isLocked={isBusy || kind === 'done' || kind === 'broken'}
        onMapping={({ id, name, tag }) => job.change({ mapping: { id, name, tag } })}
        onMode={(next) => job.change({ mode: next })}
        onReopen={onReopen}
      />
      <Fault text={job.fault.value} {...(job.awaits.value ? { onRetry: () => void job.check(session.client) } : {})} />
      {kind === 'mapping' && <Check key="check" session={session} job={job} />}
      <Status job={job} />
      {isBusy && <Button key="stop" text={say('import.stop')} onClick={() => job.stop()} />}
      <Next job={job} {...session} />
    </>
  )
}

type StepProps = Pick<SheetProps, 'job'> & { readonly client: PlantstoreClient }

function Check({ session: { client, may }, job }: Pick<SheetProps, 'session' | 'job'>): JSX.Element {
  const { name, id } = job.mapping.value
  const withoutIds = id === undefined && !may('plants:read') ? say('import.chooseIds') : ''
  return (
    <Main
      text={say(job.isPasted ? 'import.checkRows' : 'import.check')}
      obstacle={name.length === 0 ? say('import.chooseNames') : withoutIds}
      onPress={() => void job.check(client)}
    />
  )
}

/** The button of a step. @param obstacle what the person has to do before; empty: nothing */
function Main(props: { readonly text: string; readonly obstacle: string; readonly onPress: () => void }): JSX.Element {
  const { text, obstacle, onPress } = props
  return (
    <div>
      <Button
        text={text}
        class="primary"
        disabled={obstacle !== ''}
        aria-describedby={obstacle === '' ? undefined : 'obstacle'}
        onClick={onPress}
      />
      {obstacle !== '' && (
        <p id="obstacle" class="note">
          {obstacle}
        </p>
      )}
    </div>
  )
}

/** How far the step is, and its figures. */
function Status({ job }: Pick<SheetProps, 'job'>): JSX.Element {
  const status = useRef<HTMLDivElement>(null)
  const step = job.step.value
  const { kind } = step
  // The pressed button is gone. Focus moves to the result, so that the next Tab continues from there.
  useLayoutEffect(() => {
    if (kind !== 'mapping' && isFocusLost()) status.current?.focus()
  }, [kind])
  return (
    <div role="status" ref={status} tabIndex={-1}>
      {kind === 'checking' && (
        <p>
          {say('import.checking')} {connection.value !== 'good' && say('import.needsService')}
        </p>
      )}
      {kind === 'importing' && (
        <p>
          <label>
            {say('import.doneOf', { done: step.done, plants: plantsIn(job.run?.count ?? 0) })}{' '}
            <progress max={job.run?.count ?? 0} value={step.done} />
          </label>
        </p>
      )}
      {kind === 'checked' && job.checked && <OutcomeTable title={say('import.checked')} outcome={job.checked} />}
      {kind === 'broken' && <OutcomeTable title={say('import.soFar')} outcome={step.outcome} />}
      {kind === 'done' && <OutcomeTable title={say('import.imported')} outcome={step.outcome} />}
    </div>
  )
}

/** What the person can do after the step. */
function Next({ job, client, may }: StepProps & Pick<Session, 'may'>): JSX.Element | null {
  const step = job.step.value
  if (step.kind === 'checked') return <AfterCheck job={job} client={client} />
  if (step.kind !== 'broken' && step.kind !== 'done') return null
  const isDone = step.kind === 'done'
  return (
    <>
      {isDone ? (
        <NextSteps job={job} hasActions={may('log')} />
      ) : (
        <div key="broken">
          <p role="alert">{sayWith('import.broken', { why: <Sentence text={step.why} /> })}</p>
          <p class="fields">
            <Button text={say('import.goOn')} class="primary" onClick={() => void job.start(client)} />
            <Button text={say('import.leaveRest')} onClick={() => job.leaveRest()} />
          </p>
        </div>
      )}
      <Downloads job={job} outcome={step.outcome} hasIds={isDone && job.assignsIds} />
    </>
  )
}

function AfterCheck({ job, client }: StepProps): JSX.Element | null {
  const { checked, run: { findings } = {} } = job
  if (checked === undefined || findings === undefined) return null
  const changes = checked.added + checked.updated
  return (
    <>
      <WhatHappens job={job} findings={findings} outcome={checked} client={client} />
      <Questions job={job} findings={findings} client={client} />
      {changes === 0 ? (
        <p>{say('import.nothing')}</p>
      ) : (
        <Main
          text={say('import.submit', { plants: plantsIn(changes) })}
          obstacle={job.isUndecided ? say('import.decideFirst') : ''}
          onPress={() => void job.start(client)}
        />
      )}
      <Downloads job={job} outcome={checked} hasIds={false} />
    </>
  )
}
