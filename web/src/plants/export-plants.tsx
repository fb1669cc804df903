import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useRef } from 'preact/hooks'
import type { PlantstoreClient } from '../../../client/src/index.ts'
import { closeOnEscape } from '../panel.ts'
import { isAbort, said } from '../said.ts'
import { saveFile } from '../save-file.ts'
import { idSought } from './by-id.ts'
import { type Filter, isAll, wantedBy } from './filter.ts'

interface ExportProps {
  readonly client: PlantstoreClient
  readonly filter: Filter
}

const megabytes = new Intl.NumberFormat(undefined, { maximumFractionDigits: 1, minimumFractionDigits: 1 })

/** Saves the plants of the filter as a file. */
export function ExportPlants({ client, filter }: ExportProps): JSX.Element {
  const read = useSignal<number | undefined>(undefined)
  const fault = useSignal('')
  const ending = useRef(new AbortController())
  const run = async (format: 'csv' | 'ndjson') => {
    ending.current = new AbortController()
    const { signal } = ending.current
    fault.value = ''
    read.value = 0
    try {
      const stream = await client.exportFile({ ...wantedBy(filter), format }, { signal })
      const counted = stream.pipeThrough(
        new TransformStream<Uint8Array, Uint8Array>({
          transform(bytes, controller) {
            read.value = (read.value ?? 0) + bytes.length
            controller.enqueue(bytes)
          },
        }),
        { signal },
      )
      // Browsers move large blobs from memory to disk.
      saveFile(await new Response(counted).blob(), `plants.${format}`)
    } catch (error) {
      if (!isAbort(error)) fault.value = `The export broke off; no file was saved. ${said(error)}`
    } finally {
      read.value = undefined
    }
  }
  return (
    <details onKeyDown={closeOnEscape}>
      <summary>Export</summary>
      <div class="panel">
        <p class="note">
          {isAll(filter) ? 'All plants.' : 'The plants that the table shows.'}
          {idSought(filter.q) !== null && ' A plant that is found only by its id is not in the file.'}
        </p>
        <button type="button" onClick={() => void run('csv')}>
          As CSV, for spreadsheets
        </button>
        <button type="button" onClick={() => void run('ndjson')}>
          As NDJSON, for programs
        </button>
        <p role="status">{read.value !== undefined && `${megabytes.format(read.value / 1_000_000)} MB …`}</p>
        {read.value !== undefined && (
          <button type="button" onClick={() => ending.current.abort()}>
            Stop
          </button>
        )}
        {fault.value !== '' && <p role="alert">{fault.value}</p>}
      </div>
    </details>
  )
}
