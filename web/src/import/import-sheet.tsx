import type { JSX } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import type { Reading } from '../../../src/import/sheet/sheet.ts'
import { say } from '../language/language.ts'
import { sayWith } from '../language/say-with.ts'
import { isFocusLost } from '../page/focus.ts'
import { Fault, Sentence } from '../page/sentence.tsx'
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

const plants = (count: number): string => say('plants.count', { count })

/** The steps of an import: map the columns, check without storing, import, save the report. */
export function ImportSheet({ session: { client, may }, job, onReopen }: SheetProps): JSX.Element {
  const status = useRef<HTMLDivElement>(null)
  const { sheet } = job
  const step = job.step.value
  const { kind } = step
  const mapping = job.mapping.value
  // The pressed button is gone. Focus moves to the result, so that the next Tab continues from there.
  useLayoutEffect(() => {
    if (kind !== 'mapping' && isFocusLost()) status.current?.focus()
  }, [kind])
  const checked = kind === 'checked' ? job.checked : undefined
  const changes = checked === undefined ? 0 : checked.added + checked.updated
  const isBusy = kind === 'checking' || kind === 'importing'
  const obstacle =
    mapping.name.length === 0
      ? say('import.chooseNames')
      : mapping.id === undefined && !may('plants:read')
        ? say('import.chooseIds')
        : ''
  return (
    <>
      <h2>
        <bdi translate={false}>{sheet.file.name}</bdi>
      </h2>
      <Columns
        sheet={sheet}
        workbook={job.workbook}
        mapping={mapping}
        mode={job.mode.value}
        isLocked={isBusy || kind === 'done' || kind === 'broken'}
        onMapping={(next) => job.change({ mapping: next })}
        onMode={(next) => job.change({ mode: next })}
        onReopen={onReopen}
      />
      <Fault text={job.fault.value} />
      {kind === 'mapping' && (
        <div key="check">
          <button
            type="button"
            class="primary"
            disabled={obstacle !== ''}
            aria-describedby={obstacle === '' ? undefined : 'obstacle'}
            onClick={() => void job.check(client)}
          >
            {say(job.isPasted ? 'import.checkRows' : 'import.check')}
          </button>
          {obstacle !== '' && (
            <p id="obstacle" class="note">
              {obstacle}
            </p>
          )}
        </div>
      )}
      <div role="status" ref={status} tabIndex={-1}>
        {kind === 'checking' && <p>{say('import.checking')}</p>}
        {kind === 'importing' && (
          <p>
            <label>
              {say('import.doneOf', { done: step.done, plants: plants(job.count) })}{' '}
              <progress max={job.count} value={step.done} />
            </label>
          </p>
        )}
        {checked !== undefined && <OutcomeTable title={say('import.checked')} outcome={checked} />}
        {kind === 'broken' && <OutcomeTable title={say('import.soFar')} outcome={step.outcome} />}
        {kind === 'done' && <OutcomeTable title={say('import.imported')} outcome={step.outcome} />}
      </div>
      {isBusy && (
        <button key="stop" type="button" onClick={() => job.stop()}>
          {say('import.stop')}
        </button>
      )}
      {checked !== undefined && job.findings !== undefined && (
        <WhatHappens job={job} findings={job.findings} outcome={checked} client={client} />
      )}
      {kind === 'checked' && job.findings !== undefined && (
        <Questions job={job} findings={job.findings} client={client} />
      )}
      {kind === 'checked' && changes === 0 && <p>{say('import.nothing')}</p>}
      {kind === 'checked' && changes > 0 && (
        <div key="import">
          <button
            type="button"
            class="primary"
            disabled={job.isUndecided}
            aria-describedby={job.isUndecided ? 'undecided' : undefined}
            onClick={() => void job.start(client)}
          >
            {say('import.submit', { plants: plants(changes) })}
          </button>
          {job.isUndecided && (
            <p id="undecided" class="note">
              {say('import.decideFirst')}
            </p>
          )}
        </div>
      )}
      {kind === 'broken' && (
        <div key="broken">
          <p role="alert">{sayWith('import.broken', { why: <Sentence text={step.why} /> })}</p>
          <p class="fields">
            <button type="button" class="primary" onClick={() => void job.start(client)}>
              {say('import.goOn')}
            </button>
            <button type="button" onClick={() => job.leaveRest()}>
              {say('import.leaveRest')}
            </button>
          </p>
        </div>
      )}
      {kind === 'done' && <NextSteps job={job} />}
      {(kind === 'done' || kind === 'broken') && (
        <Downloads job={job} outcome={step.outcome} hasIds={kind === 'done' && job.assignsIds} />
      )}
      {checked !== undefined && <Downloads job={job} outcome={checked} hasIds={false} />}
    </>
  )
}
