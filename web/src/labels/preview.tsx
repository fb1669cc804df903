import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect, useMemo } from 'preact/hooks'
import { isLoopback } from '../codes/service-address.tsx'
import { say } from '../language/language.ts'
import { Dialog } from '../page/dialog.tsx'
import { said } from '../page/said.ts'
import { saveFile } from '../page/save-file.ts'
import { Fault } from '../page/sentence.tsx'
import { type Pitfalls, pitfallsIn, spreadsheet } from '../page/spreadsheet.ts'
import { chosen, inDocument, MOST_LABELS, turnPart } from '../plants/chosen-labels.ts'
import { Warning } from '../plants/export-plants.tsx'
import { type LabelJob, labelsOfPage, pagesOf, pdfOf, typeFor } from './document.ts'
import { LabelPrinters } from './label-printers.tsx'
import { mayLeadHere } from './options.ts'
import { preparePage } from './print.ts'
import { canvasMeasure, rasterOf } from './raster.ts'
import { SheetPage, TestPage } from './sheet-page.tsx'

/** Shows the pages as they will be printed, prints them, and saves them as PDF and as CSV. */
export function Preview({ job }: { readonly job: LabelJob }): JSX.Element {
  const measure = useMemo(canvasMeasure, [])
  const type = useMemo(() => typeFor(job, measure), [job, measure])
  const pages = pagesOf(job)
  const wanted = useSignal(0)
  const page = Math.min(wanted.value, pages - 1)
  const turnTo = (next: number) => {
    wanted.value = Math.min(Math.max(0, next), pages - 1)
  }
  const printing = useSignal<'labels' | 'test' | undefined>(undefined)
  const written = useSignal<number | undefined>(undefined)
  const fault = useSignal('')
  /** What the person wants done, while the page asks whether the codes may lead to this device alone. */
  const asked = useSignal<(() => void) | undefined>(undefined)
  const pitfalls = useSignal<Pitfalls | undefined>(undefined)
  const labels = useMemo(() => labelsOfPage(job, page, type), [job, page, type])
  const cutOff = labels.filter(({ layout }) => layout.isCut).length
  useEffect(() => {
    if (printing.value === undefined) return undefined
    const release = preparePage(job.sheet)
    const onEnd = () => {
      printing.value = undefined
    }
    addEventListener('afterprint', onEnd)
    window.print()
    return () => {
      removeEventListener('afterprint', onEnd)
      release()
    }
  }, [printing.value])
  const save = async () => {
    if (written.value !== undefined) return
    fault.value = ''
    written.value = 0
    try {
      const onPage = (count: number) => {
        written.value = count
      }
      saveFile(await pdfOf(job, { type, raster: rasterOf, onPage }), `${say('labels.file')}.pdf`)
    } catch (error) {
      fault.value = say('page.noFile', { why: said(error) })
    } finally {
      written.value = undefined
    }
  }
  const print = (what: 'labels' | 'test') => {
    printing.value = what
  }
  const saveCsv = () => {
    const rows = job.labels.map(({ id, name, tag }) => [String(id), name, tag, job.addressOf(id)])
    saveFile(spreadsheet([['id', 'name', 'tag', 'address'], ...rows]), `${say('labels.file')}.csv`)
    pitfalls.value = pitfallsIn(rows)
  }
  const make = (action: () => void) => {
    if (isLoopback.value && !mayLeadHere.value) asked.value = action
    else action()
  }
  return (
    <section aria-labelledby="preview">
      <h2 id="preview">{say('labels.preview')}</h2>
      {chosen.value.length > MOST_LABELS && <Parts />}
      <div class="fields">
        <button type="button" class="primary" onClick={() => make(() => print('labels'))}>
          {say('labels.print')}
        </button>
        <button type="button" aria-disabled={written.value !== undefined} onClick={() => make(() => void save())}>
          {say('labels.savePdf')}
        </button>
        <p role="status">{written.value !== undefined && say('labels.writing', { page: written.value + 1, pages })}</p>
      </div>
      <Fault text={fault.value} />
      <p role="status" class="bad">
        {cutOff > 0 && say('labels.cutOff', { count: cutOff })}
      </p>
      <div class="preview" translate={false}>
        <SheetPage
          sheet={job.sheet}
          labels={labels}
          title={say('labels.pageOfLabels', { page: page + 1, labels: say('labels.count', { count: labels.length }) })}
          hasEdges
        />
      </div>
      <div class="fields">
        <button type="button" aria-disabled={page === 0} onClick={() => turnTo(page - 1)}>
          {say('labels.previous')}
        </button>
        <span role="status">{say('labels.pageOf', { page: page + 1, pages })}</span>
        <button type="button" aria-disabled={page === pages - 1} onClick={() => turnTo(page + 1)}>
          {say('labels.next')}
        </button>
      </div>
      <p class="note">{say('labels.realSize')}</p>
      <div class="fields">
        <button type="button" aria-describedby="label-test-note" onClick={() => print('test')}>
          {say('labels.test')}
        </button>
        <button type="button" onClick={() => make(saveCsv)}>
          {say('labels.saveCsv')}
        </button>
      </div>
      <p class="note" id="label-test-note">
        {say('labels.testNote')}
      </p>
      <p role="status" class="note">
        {pitfalls.value !== undefined && <Warning {...pitfalls.value} />}
      </p>
      <LabelPrinters job={job} type={type} make={make} />
      {asked.value !== undefined && (
        <AskAddress
          onStay={() => {
            asked.value = undefined
          }}
          onGoOn={() => {
            const action = asked.value
            asked.value = undefined
            mayLeadHere.value = true
            action?.()
          }}
        />
      )}
      {printing.value === 'test' && (
        <div class="printed" translate={false}>
          <TestPage sheet={job.sheet} />
        </div>
      )}
      {printing.value === 'labels' && (
        <div class="printed" translate={false}>
          {Array.from({ length: pages }, (_, i) => (
            <SheetPage
              key={i}
              sheet={job.sheet}
              labels={labelsOfPage(job, i, type)}
              title={say('labels.page', { page: i + 1 })}
            />
          ))}
        </div>
      )}
    </section>
  )
}

/** Leads from document to document, where the labels are more than one has. */
function Parts(): JSX.Element {
  const { start, end } = inDocument.value
  const total = chosen.value.length
  return (
    <div class="fields">
      <span role="status">{say('labels.part', { first: start + 1, last: end, total })}</span>
      <button type="button" aria-disabled={start === 0} onClick={() => start > 0 && turnPart(-1)}>
        {say('labels.previousPart', { most: MOST_LABELS })}
      </button>
      <button type="button" aria-disabled={end === total} onClick={() => end < total && turnPart(1)}>
        {say('labels.nextPart', { most: MOST_LABELS })}
      </button>
    </div>
  )
}

interface AskProps {
  readonly onStay: () => void
  readonly onGoOn: () => void
}

/** Asks before labels are made whose codes lead a phone to itself. */
function AskAddress({ onStay, onGoOn }: AskProps): JSX.Element {
  return (
    <Dialog title={say('labels.askLoopback')} onCancel={onStay}>
      <p>{say('labels.loopback')}</p>
      <div class="fields">
        <button
          type="button"
          class="primary"
          onClick={() => {
            onStay()
            // The dialog gives the focus back to its button first.
            requestAnimationFrame(() => document.getElementById('label-base')?.focus())
          }}
        >
          {say('labels.giveAddress')}
        </button>
        <button type="button" onClick={onGoOn}>
          {say('labels.goOn')}
        </button>
      </div>
    </Dialog>
  )
}
