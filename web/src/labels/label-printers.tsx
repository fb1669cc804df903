import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { say } from '../language/language.ts'
import { Button, Choice } from '../page/controls.tsx'
import { tell } from '../page/notices.tsx'
import { useRequest } from '../page/request.ts'
import { saveFile } from '../page/save-file.ts'
import { Fault } from '../page/sentence.tsx'
import { type LabelJob, labelsOfPage, pagesOf, type Type, tooThin } from './document.ts'
import type { Usb } from './label-printer.ts'
import { change, LEAST, options, PRINT_HEADS } from './options.ts'
import { pageRaster } from './raster.ts'

const MM_PER_INCH = 25.4
/** Pages between two moments in which the browser may show how far the work is. */
const PAUSE = 20

/** Says which page is being written. */
export const writingOf = (page: number, pages: number): string =>
  say('page.going', { what: say('labels.pageOf', { page, pages }) })

interface LabelPrintersProps {
  readonly job: LabelJob
  readonly type: Type
  /** Runs an action, after a question if the codes lead to this device alone. */
  readonly make: (action: () => void) => void
}

/** Saves the labels as commands for label printers, or sends these to one. */
export function LabelPrinters({ job, type, make }: LabelPrintersProps): JSX.Element {
  const { dpi } = options.value
  const dot = MM_PER_INCH / dpi
  const { isBusy, fault, once } = useRequest((why) => say('page.noFile', { why }))
  const written = useSignal(0)
  const thin = tooThin(job, dot)
  const { usb } = navigator as { readonly usb?: Usb }
  const pages = pagesOf(job)
  const commands = async (zplOf: (bitmap: ReturnType<typeof pageRaster>) => string): Promise<string> => {
    const parts: string[] = []
    written.value = 0
    for (let page = 0; page < pages; page++) {
      parts.push(zplOf(pageRaster(labelsOfPage(job, page, type, dot), job.sheet, 1 / dot)))
      written.value = page + 1
      if (page % PAUSE === 0) await new Promise((resolve) => setTimeout(resolve))
    }
    return parts.join('')
  }
  const save = () =>
    once(async () => {
      const { zplOf } = await import('./label-printer.js')
      saveFile(new Blob([await commands(zplOf)], { type: 'text/plain' }), `${say('labels.file')}.zpl`)
    })
  const send = (to: Usb) =>
    once(async () => {
      const { choosePrinter, zplOf } = await import('./label-printer.js')
      try {
        const print = await choosePrinter(to)
        await print(await commands(zplOf))
        tell(say('labels.sent'))
      } catch (error) {
        if (!(error instanceof DOMException)) throw error
        // NotFoundError: the person has closed the browser's list of printers.
        if (error.name !== 'NotFoundError') fault.value = say('labels.usbRefused')
      }
    })
  return (
    <details>
      <summary>{say('labels.printers')}</summary>
      <p class="note">{say('labels.printersNote')}</p>
      <Choice
        id="label-dpi"
        label={say('labels.resolution')}
        fault={thin && say('labels.thinCode', { id: thin.id, least: LEAST })}
        value={dpi}
        options={PRINT_HEADS.map((each) => [each, `${each} dpi`])}
        onChoose={(chosen) => change({ dpi: chosen })}
      />
      {thin === undefined && (
        <div class="fields">
          <Button text={say('labels.saveZpl')} aria-disabled={isBusy.value} onClick={() => make(() => void save())} />
          {usb !== undefined && (
            <Button
              text={say('labels.sendZpl')}
              aria-disabled={isBusy.value}
              onClick={() => make(() => void send(usb))}
            />
          )}
          <p role="status">{isBusy.value && writingOf(written.value, pages)}</p>
        </div>
      )}
      <Fault text={fault.value} />
    </details>
  )
}
