import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useRef } from 'preact/hooks'
import type { PlantstoreClient } from '../../../client/src/index.ts'
import { closeOnEscape } from '../panel.ts'
import { isAbort, said } from '../said.ts'
import { saveFile } from '../save-file.ts'
import { forSpreadsheets, type Pitfalls } from '../spreadsheet.ts'
import { idSought } from './by-id.ts'
import { type Filter, isAll, wantedBy } from './filter.ts'

interface ExportProps {
  readonly client: PlantstoreClient
  readonly filter: Filter
}

const megabytes = new Intl.NumberFormat(undefined, { maximumFractionDigits: 1, minimumFractionDigits: 1 })

const count = new Intl.NumberFormat()

/** Saves the plants of the filter as a file. */
export function ExportPlants({ client, filter }: ExportProps): JSX.Element {
  const read = useSignal<number | undefined>(undefined)
  const fault = useSignal('')
  const pitfalls = useSignal<Pitfalls>(NONE)
  const ending = useRef(new AbortController())
  const run = async (format: 'csv' | 'ndjson') => {
    ending.current = new AbortController()
    const { signal } = ending.current
    fault.value = ''
    pitfalls.value = NONE
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
      const found = { ...NONE }
      const file = format === 'csv' ? counted.pipeThrough(forSpreadsheets(found)) : counted
      // Browsers move large blobs from memory to disk.
      saveFile(await new Response(file).blob(), `plants.${format}`)
      pitfalls.value = found
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
        <p role="status">
          {read.value !== undefined && `${megabytes.format(read.value / 1_000_000)} MB …`}
          <Warning {...pitfalls.value} />
        </p>
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

const NONE: Pitfalls = { formulas: 0, longIds: 0 }

/** Says what a spreadsheet program may show differently. The file has every text and id as it is. */
function Warning({ formulas, longIds }: Pitfalls): JSX.Element {
  const texts = `${count.format(formulas)} ${formulas === 1 ? 'text begins' : 'texts begin'}`
  const ids = `${count.format(longIds)} ${longIds === 1 ? 'id has' : 'ids have'}`
  return (
    <>
      {formulas > 0 &&
        `${texts} with =, +, - or @. The file has them as they are, but a spreadsheet program may compute them. `}
      {longIds > 0 && `${ids} more than 15 digits, which a spreadsheet program may round: import the column as text.`}
    </>
  )
}
