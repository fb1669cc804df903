import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { warnWhile } from '../leaving.ts'
import { isAbort, said } from '../said.ts'
import { saveFile } from '../save-file.ts'
import type { Session } from '../session.ts'
import { Columns } from './columns.tsx'
import { guess, type Mapping } from './mapping.ts'
import { OutcomeTable } from './outcome-table.tsx'
import { reportOf, sheetWithIds } from './report.ts'
import { ImportRun, type Mode, type Outcome } from './run.ts'
import type { Sheet } from './sheet.ts'

type Step =
  | { readonly kind: 'mapping' }
  | { readonly kind: 'checking' }
  | { readonly kind: 'checked'; readonly outcome: Outcome }
  | { readonly kind: 'importing'; readonly done: number }
  | { readonly kind: 'broken'; readonly why: string; readonly outcome: Outcome }
  | { readonly kind: 'done'; readonly outcome: Outcome }

interface SheetProps {
  readonly session: Session
  readonly sheet: Sheet
  readonly onReopen: (chosen: Partial<Pick<Sheet, 'encoding' | 'separator'>>) => void
}

const number = new Intl.NumberFormat()
const plants = (count: number): string => `${number.format(count)} ${count === 1 ? 'plant' : 'plants'}`

/** The steps of an import: map the columns, check without storing, import, save the report. */
export function ImportSheet({ session, sheet, onReopen }: SheetProps): JSX.Element {
  const { client, may } = session
  const mapping = useSignal<Mapping>(guess(sheet.columns))
  const mode = useSignal<Mode>('add')
  const step = useSignal<Step>({ kind: 'mapping' })
  const fault = useSignal('')
  const run = useRef<ImportRun | undefined>(undefined)
  const ending = useRef(new AbortController())
  const status = useRef<HTMLDivElement>(null)
  useEffect(() => () => ending.current.abort(), [])
  // Only this tab can continue an import that broke off.
  useEffect(() => warnWhile(() => step.value.kind === 'importing' || step.value.kind === 'broken'), [step])
  const change = (next: () => void) => {
    ending.current.abort()
    next()
    step.value = { kind: 'mapping' }
  }
  const check = async () => {
    ending.current = new AbortController()
    fault.value = ''
    step.value = { kind: 'checking' }
    run.current = new ImportRun(client, sheet, mapping.value, mode.value)
    try {
      step.value = { kind: 'checked', outcome: await run.current.check(ending.current.signal) }
    } catch (error) {
      if (!isAbort(error)) fault.value = said(error)
      step.value = { kind: 'mapping' }
    }
  }
  const start = async () => {
    const { current } = run
    if (current === undefined) return
    ending.current = new AbortController()
    const progress = (done: number) => {
      step.value = { kind: 'importing', done }
    }
    progress(0)
    try {
      step.value = { kind: 'done', outcome: await current.import(progress, ending.current.signal) }
    } catch (error) {
      const why = isAbort(error) ? 'You stopped the import.' : said(error)
      step.value = { kind: 'broken', why, outcome: current.outcome }
    }
  }
  const { kind } = step.value
  // The pressed button is gone. Focus moves to the result, so that the next Tab continues from there.
  useEffect(() => {
    if (kind !== 'mapping' && document.activeElement === document.body) status.current?.focus()
  }, [kind])
  const isBusy = kind === 'checking' || kind === 'importing'
  const canCheck = mapping.value.name !== undefined && (mapping.value.id !== undefined || may('plants:read'))
  return (
    <>
      <h2>
        <bdi>{sheet.file.name}</bdi>
      </h2>
      <Columns
        sheet={sheet}
        mapping={mapping.value}
        mode={mode.value}
        isLocked={isBusy || kind === 'done' || kind === 'broken'}
        onMapping={(next) => change(() => (mapping.value = next))}
        onMode={(next) => change(() => (mode.value = next))}
        onReopen={onReopen}
      />
      {fault.value !== '' && <p role="alert">{fault.value}</p>}
      {kind === 'mapping' && (
        <button type="button" class="primary" disabled={!canCheck} onClick={() => void check()}>
          Check the file
        </button>
      )}
      <div role="status" ref={status} tabIndex={-1}>
        {kind === 'checking' && <p>Checking; nothing is stored yet …</p>}
        {step.value.kind === 'importing' && (
          <p>
            <label>
              {number.format(step.value.done)} of {number.format(run.current?.count ?? 0)} plants{' '}
              <progress max={run.current?.count ?? 0} value={step.value.done} />
            </label>
          </p>
        )}
        {step.value.kind === 'checked' && <OutcomeTable title="Result of the check" outcome={step.value.outcome} />}
        {step.value.kind === 'broken' && <OutcomeTable title="Imported so far" outcome={step.value.outcome} />}
        {step.value.kind === 'done' && <OutcomeTable title="Imported" outcome={step.value.outcome} />}
      </div>
      {isBusy && (
        <button type="button" onClick={() => ending.current.abort()}>
          Stop
        </button>
      )}
      {step.value.kind === 'checked' && step.value.outcome.added + step.value.outcome.updated > 0 && (
        <button type="button" class="primary" onClick={() => void start()}>
          Import {plants(step.value.outcome.added + step.value.outcome.updated)}
        </button>
      )}
      {step.value.kind === 'broken' && (
        <>
          <p role="alert">The import is not complete. {step.value.why} No row is imported twice.</p>
          <button type="button" class="primary" onClick={() => void start()}>
            Go on
          </button>
        </>
      )}
      {(step.value.kind === 'done' || step.value.kind === 'checked' || step.value.kind === 'broken') && (
        <Downloads
          sheet={sheet}
          run={run.current}
          outcome={step.value.outcome}
          hasIds={kind === 'done' && mapping.value.id === undefined}
        />
      )}
    </>
  )
}

interface DownloadsProps {
  readonly sheet: Sheet
  readonly run: ImportRun | undefined
  readonly outcome: Outcome
  /** Whether the page assigned ids. */
  readonly hasIds: boolean
}

function Downloads({ sheet, run, outcome, hasIds }: DownloadsProps): JSX.Element {
  const base = sheet.file.name.replace(/\.[^.]*$/, '')
  return (
    <p class="fields">
      <button type="button" onClick={() => saveFile(reportOf(sheet, outcome), `${base}-report.csv`)}>
        Save the report
      </button>
      {hasIds && run !== undefined && (
        <button type="button" onClick={async () => saveFile(await sheetWithIds(sheet, run), `${base}-with-ids.csv`)}>
          Save the sheet with its new ids
        </button>
      )}
    </p>
  )
}
