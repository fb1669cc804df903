import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect, useMemo } from 'preact/hooks'
import { Dialog } from '../dialog.tsx'
import { say } from '../language/language.ts'
import { said } from '../said.ts'
import { saveFile } from '../save-file.ts'
import { Fault } from '../sentence.tsx'
import { type LabelJob, labelsOfPage, pagesOf, pdfOf } from './document.ts'
import { isLoopback, mayLeadHere } from './options.ts'
import { preparePage } from './print.ts'
import { canvasMeasure, rasterOf } from './raster.ts'
import { SheetPage } from './sheet-page.tsx'

/** Shows the pages as they will be printed, prints them, and saves them as PDF. */
export function Preview({ job }: { readonly job: LabelJob }): JSX.Element {
  const measure = useMemo(canvasMeasure, [])
  const pages = pagesOf(job)
  const wanted = useSignal(0)
  const page = Math.min(wanted.value, pages - 1)
  const turnTo = (next: number) => {
    wanted.value = Math.min(Math.max(0, next), pages - 1)
  }
  const isPrinting = useSignal(false)
  const written = useSignal<number | undefined>(undefined)
  const fault = useSignal('')
  /** What the person has asked for, while the page asks whether the codes may lead to this device alone. */
  const asked = useSignal<'print' | 'save' | undefined>(undefined)
  const labels = useMemo(() => labelsOfPage(job, page, measure), [job, page, measure])
  useEffect(() => {
    if (!isPrinting.value) return undefined
    const release = preparePage(job.sheet)
    const onEnd = () => {
      isPrinting.value = false
    }
    addEventListener('afterprint', onEnd)
    window.print()
    return () => {
      removeEventListener('afterprint', onEnd)
      release()
    }
  }, [isPrinting.value])
  const save = async () => {
    if (written.value !== undefined) return
    fault.value = ''
    written.value = 0
    try {
      const raster: Parameters<typeof pdfOf>[1]['raster'] = ({ lines, text }) => rasterOf(lines, text)
      const onPage = (count: number) => {
        written.value = count
      }
      saveFile(await pdfOf(job, { measure, raster, onPage }), `${say('labels.file')}.pdf`)
    } catch (error) {
      fault.value = say('page.noFile', { why: said(error) })
    } finally {
      written.value = undefined
    }
  }
  const begin = (what: 'print' | 'save') => {
    if (what === 'save') void save()
    else isPrinting.value = true
  }
  const make = (what: 'print' | 'save') => {
    if (isLoopback.value && !mayLeadHere.value) asked.value = what
    else begin(what)
  }
  return (
    <section aria-labelledby="preview">
      <h2 id="preview">{say('labels.preview')}</h2>
      <div class="fields">
        <button type="button" class="primary" onClick={() => make('print')}>
          {say('labels.print')}
        </button>
        <button type="button" class="primary" aria-disabled={written.value !== undefined} onClick={() => make('save')}>
          {say('labels.savePdf')}
        </button>
        <p role="status">{written.value !== undefined && say('labels.writing', { page: written.value + 1, pages })}</p>
      </div>
      <Fault text={fault.value} />
      <p class="note">{say('labels.realSize')}</p>
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
      {asked.value !== undefined && (
        <AskAddress
          onStay={() => {
            asked.value = undefined
          }}
          onGoOn={() => {
            const what = asked.value
            asked.value = undefined
            mayLeadHere.value = true
            if (what !== undefined) begin(what)
          }}
        />
      )}
      {isPrinting.value && (
        <div class="printed" translate={false}>
          {Array.from({ length: pages }, (_, i) => (
            <SheetPage
              key={i}
              sheet={job.sheet}
              labels={labelsOfPage(job, i, measure)}
              title={say('labels.page', { page: i + 1 })}
            />
          ))}
        </div>
      )}
    </section>
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
