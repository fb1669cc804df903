import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect, useMemo } from 'preact/hooks'
import { said } from '../said.ts'
import { saveFile } from '../save-file.ts'
import { type LabelJob, labelsOfPage, pagesOf, pdfOf } from './document.ts'
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
      saveFile(await pdfOf(job, { measure, raster, onPage }), 'labels.pdf')
    } catch (error) {
      fault.value = `No file was saved. ${said(error)}`
    } finally {
      written.value = undefined
    }
  }
  return (
    <section aria-labelledby="preview">
      <h2 id="preview">Preview</h2>
      <div class="fields">
        <button
          type="button"
          class="primary"
          onClick={() => {
            isPrinting.value = true
          }}
        >
          Print
        </button>
        <button type="button" class="primary" aria-disabled={written.value !== undefined} onClick={() => void save()}>
          Save as PDF
        </button>
        <p role="status">{written.value !== undefined && `Page ${written.value + 1} of ${pages} …`}</p>
      </div>
      {fault.value !== '' && <p role="alert">{fault.value}</p>}
      <p class="note">Print in real size: 100%, without “fit to page” and without margins.</p>
      <div class="preview">
        <SheetPage sheet={job.sheet} labels={labels} title={`Page ${page + 1}: ${labels.length} labels`} hasEdges />
      </div>
      <div class="fields">
        <button type="button" aria-disabled={page === 0} onClick={() => turnTo(page - 1)}>
          Previous page
        </button>
        <span role="status">
          Page {page + 1} of {pages}
        </span>
        <button type="button" aria-disabled={page === pages - 1} onClick={() => turnTo(page + 1)}>
          Next page
        </button>
      </div>
      {isPrinting.value && (
        <div class="printed">
          {Array.from({ length: pages }, (_, i) => (
            <SheetPage key={i} sheet={job.sheet} labels={labelsOfPage(job, i, measure)} title={`Page ${i + 1}`} />
          ))}
        </div>
      )}
    </section>
  )
}
