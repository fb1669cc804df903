import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import type { PlantstoreClient } from '../../../client/src/index.ts'
import { said } from '../said.ts'
import { saveFile } from '../save-file.ts'
import type { ImportJob } from './import-job.ts'
import { reportOf } from './report.ts'
import type { Outcome } from './run.ts'

interface DownloadsProps {
  readonly job: ImportJob
  readonly client: PlantstoreClient
  readonly outcome: Outcome
  /** Whether the page assigned ids. */
  readonly hasIds: boolean
}

/** Saves the report of an import, the refused rows, and the sheet with assigned ids. */
export function Downloads({ job, client, outcome, hasIds }: DownloadsProps): JSX.Element {
  const fault = useSignal('')
  const base = job.sheet.file.name.replace(/\.[^.]*$/, '')
  const save = async (name: string, file: Promise<Blob>) => {
    fault.value = ''
    try {
      saveFile(await file, `${base}-${name}.csv`)
    } catch (error) {
      fault.value = `No file was saved. ${said(error)}`
    }
  }
  return (
    <>
      <p class="fields">
        <button type="button" onClick={() => saveFile(reportOf(job.sheet, outcome), `${base}-report.csv`)}>
          Save the report
        </button>
        {outcome.refused > 0 && job.knowsRefused && (
          <button type="button" onClick={() => void save('refused', job.refusedSheet())}>
            Save the refused rows to mend them
          </button>
        )}
        {hasIds && (
          <button type="button" onClick={() => void save('with-ids', job.sheetWithIds(client))}>
            Save the sheet with its new ids
          </button>
        )}
      </p>
      {fault.value !== '' && <p role="alert">{fault.value}</p>}
    </>
  )
}
