import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useLayoutEffect } from 'preact/hooks'
import { said } from '../said.ts'
import type { ViewProps } from '../views.ts'
import { ImportSheet } from './import-sheet.tsx'
import { openSheet, type Sheet } from './sheet.ts'

/** Takes a CSV file that the person drops anywhere in the window or chooses in the field. */
export function ImportView({ session }: ViewProps): JSX.Element {
  const sheet = useSignal<Sheet | undefined>(undefined)
  const fault = useSignal('')
  const isOver = useSignal(false)
  const open = async (file: File | null | undefined, chosen?: Parameters<typeof openSheet>[1]) => {
    if (file === null || file === undefined) return
    fault.value = ''
    try {
      sheet.value = await openSheet(file, chosen)
    } catch (error) {
      sheet.value = undefined
      fault.value = said(error)
    }
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
  return (
    <>
      <h1>Import</h1>
      <section class={isOver.value ? 'drop over' : 'drop'} aria-label="File">
        <label for="file">Drop a spreadsheet here, saved as CSV, or choose it</label>
        <input
          id="file"
          type="file"
          accept=".csv,.tsv,.txt,text/csv"
          onChange={(event) => void open(event.currentTarget.files?.[0])}
        />
        <p class="note">
          Excel, LibreOffice and Google Sheets can save CSV. A check shows the result before anything is stored.
        </p>
      </section>
      {fault.value !== '' && <p role="alert">{fault.value}</p>}
      {sheet.value !== undefined && (
        <ImportSheet
          key={`${sheet.value.file.name} ${sheet.value.encoding} ${sheet.value.separator} ${sheet.value.file.lastModified}`}
          session={session}
          sheet={sheet.value}
          onReopen={(chosen) => void open(sheet.value?.file, chosen)}
        />
      )}
    </>
  )
}
