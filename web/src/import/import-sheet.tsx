import type { JSX } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { isFocusLost } from '../focus.ts'
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

const number = new Intl.NumberFormat()
const rows = (count: number): string => `${number.format(count)} ${count === 1 ? 'row' : 'rows'}`
const plants = (count: number): string => `${number.format(count)} ${count === 1 ? 'plant' : 'plants'}`

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
      ? 'Choose the column of the names first.'
      : mapping.id === undefined && !may('plants:read')
        ? 'Choose the column of the ids first: your token may not read plants, so the page cannot assign ids.'
        : ''
  return (
    <>
      <h2>
        <bdi>{sheet.file.name}</bdi>
      </h2>
      <Columns
        sheet={sheet}
        mapping={mapping}
        mode={job.mode.value}
        isLocked={isBusy || kind === 'done' || kind === 'broken'}
        onMapping={(next) => job.change({ mapping: next })}
        onMode={(next) => job.change({ mode: next })}
        onReopen={onReopen}
      />
      {job.fault.value !== '' && <p role="alert">{job.fault.value}</p>}
      {kind === 'mapping' && (
        <div key="check">
          <button
            type="button"
            class="primary"
            disabled={obstacle !== ''}
            aria-describedby={obstacle === '' ? undefined : 'obstacle'}
            onClick={() => void job.check(client)}
          >
            Check the file
          </button>
          {obstacle !== '' && (
            <p id="obstacle" class="note">
              {obstacle}
            </p>
          )}
        </div>
      )}
      <div role="status" ref={status} tabIndex={-1}>
        {kind === 'checking' && <p>Checking; nothing is stored yet …</p>}
        {kind === 'importing' && (
          <p>
            <label>
              {number.format(step.done)} of {plants(job.count)} <progress max={job.count} value={step.done} />
            </label>
          </p>
        )}
        {kind === 'checked' && <OutcomeTable title="Result of the check" outcome={checked(step.outcome)} />}
        {kind === 'broken' && <OutcomeTable title="Imported so far" outcome={step.outcome} />}
        {kind === 'done' && <OutcomeTable title="Imported" outcome={step.outcome} />}
      </div>
      {isBusy && (
        <button key="stop" type="button" onClick={() => job.stop()}>
          Stop
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
          Leave out the {rows(job.duplicates)} whose name and tag are stored already
        </label>
      )}
      {kind === 'checked' && changes === 0 && <p>There is nothing to import.</p>}
      {kind === 'checked' && changes > 0 && (
        <button key="import" type="button" class="primary" onClick={() => void job.start(client)}>
          Import {plants(changes)}
        </button>
      )}
      {kind === 'broken' && (
        <div key="broken">
          <p role="alert">The import is not complete. {step.why} No row is imported twice.</p>
          <p class="fields">
            <button type="button" class="primary" onClick={() => void job.start(client)}>
              Go on
            </button>
            <button type="button" onClick={() => job.leaveRest()}>
              Leave out the rest
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
