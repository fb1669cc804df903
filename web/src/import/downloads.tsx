import type { JSX } from 'preact'
import { say } from '../language/language.ts'
import { Button } from '../page/controls.tsx'
import { useRequest } from '../page/request.ts'
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
  const { fault, run } = useRequest((why) => say('page.noFile', { why }))
  const file = job.sheet.file.name.replace(/\.[^.]*$/, '')
  const save = (name: string, content: () => Promise<Blob>) => void run(async () => saveFile(await content(), name))
  return (
    <>
      <p class="fields">
        <Button
          text={say('import.saveReport')}
          onClick={() => saveFile(reportOf(job.sheet, outcome), `${say('import.reportFile', { file })}.csv`)}
        />
        {outcome.refused > 0 && job.run?.knowsRefused === true && (
          <Button
            text={say('import.saveRefused')}
            onClick={() => save(`${say('import.refusedFile', { file })}.csv`, () => job.refusedSheet())}
          />
        )}
        {hasIds && (
          <Button
            text={say('import.saveWithIds')}
            onClick={() => save(`${say('import.withIdsFile', { file })}.xlsx`, () => job.sheetWithIds())}
          />
        )}
      </p>
      <Fault text={fault.value} />
    </>
  )
}
