import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { say } from '../language/language.ts'
import { said } from '../page/said.ts'
import { saveFile } from '../page/save-file.ts'
import { Fault } from '../page/sentence.tsx'
import type { ImportJob } from './import-job.ts'
import { reportOf } from './report.ts'
import type { Outcome } from './run.ts'

interface DownloadsProps {
  readonly job: ImportJob
  readonly outcome: Outcome
  /** Whether the service assigned ids. */
  readonly hasIds: boolean
}

/** Saves the report of an import, the refused rows, and the sheet with assigned ids. */
export function Downloads({ job, outcome, hasIds }: DownloadsProps): JSX.Element {
  const fault = useSignal('')
  const file = job.sheet.file.name.replace(/\.[^.]*$/, '')
  const save = async (name: string, content: Promise<Blob>) => {
    fault.value = ''
    try {
      saveFile(await content, name)
    } catch (error) {
      fault.value = say('page.noFile', { why: said(error) })
    }
  }
  return (
    <>
      <p class="fields">
        <button
          type="button"
          onClick={() => saveFile(reportOf(job.sheet, outcome), `${say('import.reportFile', { file })}.csv`)}
        >
          {say('import.saveReport')}
        </button>
        {outcome.refused > 0 && job.run?.knowsRefused === true && (
          <button
            type="button"
            onClick={() => void save(`${say('import.refusedFile', { file })}.csv`, job.refusedSheet())}
          >
            {say('import.saveRefused')}
          </button>
        )}
        {hasIds && (
          <button
            type="button"
            onClick={() => void save(`${say('import.withIdsFile', { file })}.xlsx`, job.sheetWithIds())}
          >
            {say('import.saveWithIds')}
          </button>
        )}
      </p>
      <Fault text={fault.value} />
    </>
  )
}
