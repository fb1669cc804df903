import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect, useLayoutEffect } from 'preact/hooks'
import { said, sentence } from '../said.ts'
import type { ViewProps } from '../views.ts'
import { ImportJob, job } from './import-job.ts'
import { ImportSheet } from './import-sheet.tsx'
import { openSheet, type Reading } from './sheet.ts'

/** Takes a CSV file that the person drops anywhere in the window or chooses in the field. */
export function ImportView({ session }: ViewProps): JSX.Element {
  const fault = useSignal('')
  const isOver = useSignal(false)
  const open = async (file: File | null | undefined, chosen?: Reading) => {
    if (file === null || file === undefined || refuse()) return
    fault.value = ''
    try {
      const sheet = await openSheet(file, chosen)
      const mode = job.value?.sheet.file === file ? job.value.mode.value : 'add'
      if (!refuse()) replaceJob(new ImportJob(sheet, mode))
    } catch (error) {
      if (refuse()) return
      replaceJob(undefined)
      fault.value = sentence(said(error))
    }
  }
  /** Refuses another file while an import is incomplete, so that a dropped file ends no import. */
  const refuse = (): boolean => {
    if (job.value?.isUnfinished !== true) return false
    fault.value = `The import of ${job.value.sheet.file.name} is not complete. Let it end first.`
    return true
  }
  // The window takes drops, because a browser opens a file that misses the field in place of the page. A layout effect
  // runs before the first paint, so no early drop is lost.
  useLayoutEffect(() => {
    const listening = new AbortController()
    const listen = (type: 'dragover' | 'dragleave' | 'drop', take: (event: DragEvent) => void) => {
      const handle = (event: DragEvent) => {
        event.preventDefault()
        isOver.value = type === 'dragover'
        take(event)
      }
      addEventListener(type, handle, { signal: listening.signal })
    }
    listen('dragover', () => {})
    listen('dragleave', () => {})
    listen('drop', (event) => void open(event.dataTransfer?.files[0]))
    return () => listening.abort()
  }, [])
  const current = job.value
  const isUnfinished = current?.isUnfinished === true
  const isDone = current?.step.value.kind === 'done'
  useEffect(() => {
    if (current !== undefined) current.isSeen.value = isDone
  }, [current, isDone])
  return (
    <>
      <h1>Import</h1>
      <section class={isOver.value ? 'drop over' : 'drop'} aria-label="File">
        <label for="file">Drop a spreadsheet here, saved as CSV, or choose it</label>
        <input
          id="file"
          type="file"
          accept=".csv,.tsv,.txt,text/csv"
          disabled={isUnfinished}
          aria-describedby="file-note"
          onChange={(event) => void open(event.currentTarget.files?.[0])}
        />
        <p id="file-note" class="note">
          {isUnfinished
            ? 'You can choose another file when this import has ended.'
            : 'Excel, LibreOffice and Google Sheets can save CSV. A check shows the result before anything is stored.'}
        </p>
      </section>
      {fault.value !== '' && <p role="alert">{fault.value}</p>}
      {current !== undefined && (
        <ImportSheet session={session} job={current} onReopen={(chosen) => void open(current.sheet.file, chosen)} />
      )}
    </>
  )
}

/** Ends the check of the previous file, and shows the next one. */
function replaceJob(next: ImportJob | undefined): void {
  job.value?.stop()
  job.value = next
}
