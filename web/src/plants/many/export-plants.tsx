import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useRef } from 'preact/hooks'
import type { PlantstoreClient } from '../../../../client/src/index.ts'
import { megabytesOf, say } from '../../language/language.ts'
import { Button } from '../../page/controls.tsx'
import { closeOnEscape } from '../../page/focus.ts'
import { isAbort, said } from '../../page/said.ts'
import { saveFile } from '../../page/save-file.ts'
import { Fault } from '../../page/sentence.tsx'
import { forSpreadsheets, type Pitfalls } from '../../page/spreadsheet.ts'
import { idSought } from '../list/by-id.ts'
import { type Filter, isAll, wantedBy } from '../list/filter.ts'

interface ExportProps {
  readonly client: PlantstoreClient
  readonly filter: Filter
}

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
      saveFile(await new Response(file).blob(), `${say('export.file')}.${format}`)
      pitfalls.value = found
    } catch (error) {
      if (!isAbort(error)) fault.value = say('page.noFile', { why: said(error) })
    } finally {
      read.value = undefined
    }
  }
  return (
    <details onKeyDown={closeOnEscape}>
      <summary>{say('export.title')}</summary>
      <div class="panel">
        <p class="note">
          {say(isAll(filter) ? 'export.all' : 'export.shown')} {idSought(filter.q) !== null && say('export.notById')}
        </p>
        <Button text={say('export.csv')} onClick={() => void run('csv')} />
        <Button text={say('export.ndjson')} onClick={() => void run('ndjson')} />
        <p role="status">
          {read.value !== undefined && say('page.going', { what: megabytesOf(read.value) })}
          <Warning {...pitfalls.value} />
        </p>
        {read.value !== undefined && <Button text={say('import.stop')} onClick={() => ending.current.abort()} />}
        <Fault text={fault.value} />
      </div>
    </details>
  )
}

const NONE: Pitfalls = { formulas: 0, longIds: 0 }

/** Says what a spreadsheet program may show differently. The file has every text and id as it is. */
export function Warning({ formulas, longIds }: Pitfalls): JSX.Element {
  return (
    <>
      {formulas > 0 && say('export.formulas', { count: formulas })}{' '}
      {longIds > 0 && say('export.longIds', { count: longIds })}
    </>
  )
}
