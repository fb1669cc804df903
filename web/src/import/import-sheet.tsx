import type { JSX } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { isFocusLost } from '../focus.ts'
import { say } from '../language/language.ts'
import { sayWith } from '../language/say-with.ts'
import { Fault, Sentence } from '../sentence.tsx'
import type { Session } from '../session.ts'
import { Columns } from './columns.tsx'
import { Downloads } from './downloads.tsx'
import type { ImportJob } from './import-job.ts'
import { OutcomeTable } from './outcome-table.tsx'
import type { Outcome } from './run.ts'
import type { Reading } from './sheet.ts'

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
  /** The outcome of the check, without the rows that the import leaves out. */
  const checked = (outcome: Outcome): Outcome => {
    const leftOut = job.leavesOut.value ? job.duplicates : 0
    return { ...outcome, added: outcome.added - leftOut, leftOut }
  }
  const changes = kind === 'checked' ? checked(step.outcome).added + step.outcome.updated : 0
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
        <bdi>{sheet.file.name}</bdi>
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
            {say('import.check')}
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
        {kind === 'checked' && <OutcomeTable title={say('import.checked')} outcome={checked(step.outcome)} />}
        {kind === 'broken' && <OutcomeTable title={say('import.soFar')} outcome={step.outcome} />}
        {kind === 'done' && <OutcomeTable title={say('import.imported')} outcome={step.outcome} />}
      </div>
      {isBusy && (
        <button key="stop" type="button" onClick={() => job.stop()}>
          {say('import.stop')}
        </button>
      )}
      {kind === 'checked' && job.duplicates > 0 && (
        <label class="check">
          <input
            type="checkbox"
            checked={job.leavesOut.value}
            onChange={(event) => {
              job.leavesOut.value = event.currentTarget.checked
            }}
          />
          {say('import.leaveOut', { rows: say('import.rows', { count: job.duplicates }) })}
        </label>
      )}
      {kind === 'checked' && changes === 0 && <p>{say('import.nothing')}</p>}
      {kind === 'checked' && changes > 0 && (
        <button key="import" type="button" class="primary" onClick={() => void job.start(client)}>
          {say('import.submit', { plants: plants(changes) })}
        </button>
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
      {(kind === 'done' || kind === 'checked' || kind === 'broken') && (
        <Downloads
          job={job}
          client={client}
          outcome={step.outcome}
          hasIds={kind === 'done' && mapping.id === undefined}
        />
      )}
    </>
  )
}
