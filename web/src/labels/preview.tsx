import { type Signal, useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect, useMemo } from 'preact/hooks'
import { isLoopback } from '../codes/service-address.tsx'
import { say } from '../language/language.ts'
import { Button } from '../page/controls.tsx'
import { Dialog } from '../page/dialog.tsx'
import { useRequest } from '../page/request.ts'
import { saveFile } from '../page/save-file.ts'
import { Fault } from '../page/sentence.tsx'
import { type Pitfalls, pitfallsIn, spreadsheet } from '../page/spreadsheet.ts'
import { chosen, inDocument, MOST_LABELS, turnPart } from '../plants/many/chosen-labels.ts'
import { Warning } from '../plants/many/export-plants.tsx'
import { type LabelJob, labelsOfPage, pagesOf, pdfOf, type Type, typeFor } from './document.ts'
import { LabelPrinters, writingOf } from './label-printers.tsx'
import { mayLeadHere } from './options.ts'
import { preparePage } from './print.ts'
import { canvasMeasure, rasterOf } from './raster.ts'
import { SheetPage, TestPage } from './sheet-page.tsx'
import type { Sheet } from './sheets.ts'

type Printed = 'labels' | 'test' | undefined

/** Shows the pages as they will be printed, prints them, and saves them as PDF and as CSV. */
export function Preview({ job }: { readonly job: LabelJob }): JSX.Element {
  const measure = useMemo(canvasMeasure, [])
  const type = useMemo(() => typeFor(job, measure), [job, measure])
  const printing = useSignal<Printed>(undefined)
  /** What the person wants done, while the page asks whether the codes may lead to this device alone. */
  const asked = useSignal<(() => void) | undefined>(undefined)
  usePrint(job.sheet, printing)
  const print = (what: Printed) => {
    printing.value = what
  }
  const make = (action: () => void) => {
    if (isLoopback.value && !mayLeadHere.value) asked.value = action
    else action()
  }
  const answer = (isYes: boolean) => {
    const action = asked.value
    asked.value = undefined
    if (!isYes) return
    mayLeadHere.value = true
    action?.()
  }
  return (
    <section aria-labelledby="preview">
      <h2 id="preview">{say('labels.preview')}</h2>
      {chosen.value.length > MOST_LABELS && <Parts />}
      <Making job={job} type={type} make={make} onPrint={() => print('labels')} />
      <Pages job={job} type={type} />
      <p class="note">{say('labels.realSize')}</p>
      <Trying job={job} make={make} onPrint={() => print('test')} />
      <LabelPrinters job={job} type={type} make={make} />
      {asked.value !== undefined && <AskAddress onStay={() => answer(false)} onGoOn={() => answer(true)} />}
      {printing.value !== undefined && (
        <div class="printed" translate={false}>
          {printing.value === 'test' ? <TestPage sheet={job.sheet} /> : <AllPages job={job} type={type} />}
        </div>
      )}
    </section>
  )
}

/** Prints what the page shows for that, and takes it away afterwards. */
function usePrint(sheet: Sheet, printing: Signal<Printed>): void {
  useEffect(() => {
    if (printing.value === undefined) return undefined
    const release = preparePage(sheet)
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
}

interface PagesProps {
  readonly job: LabelJob
  readonly type: Type
}

interface MakingProps {
  readonly job: LabelJob
  /** Runs an action, after a question if the codes lead to this device alone. */
  readonly make: (action: () => void) => void
  readonly onPrint: () => void
}

/** Prints the labels, or saves them as PDF. */
function Making({ job, type, make, onPrint }: MakingProps & PagesProps): JSX.Element {
  const { isBusy, fault, once } = useRequest((why) => say('page.noFile', { why }))
  const written = useSignal(0)
  const save = () =>
    once(async () => {
      const onPage = (count: number) => {
        written.value = count
      }
      onPage(0)
      saveFile(await pdfOf(job, { type, raster: rasterOf, onPage }), `${say('labels.file')}.pdf`)
    })
  return (
    <>
      <div class="fields">
        <Button text={say('labels.print')} class="primary" onClick={() => make(onPrint)} />
        <Button text={say('labels.savePdf')} isBusy={isBusy.value} onClick={() => make(() => void save())} />
        <p role="status">{isBusy.value && writingOf(written.value + 1, pagesOf(job))}</p>
      </div>
      <Fault text={fault.value} />
    </>
  )
}

/** One page, and what leads to the others. */
function Pages({ job, type }: PagesProps): JSX.Element {
  const pages = pagesOf(job)
  const wanted = useSignal(0)
  const page = Math.min(wanted.value, pages - 1)
  const labels = useMemo(() => labelsOfPage(job, page, type), [job, page, type])
  const cutOff = labels.filter(({ layout }) => layout.isCut).length
  const title = say('page.about', {
    what: say('labels.page', { page: page + 1 }),
    of: say('labels.count', { count: labels.length }),
  })
  return (
    <>
      <p role="status" class="bad">
        {cutOff > 0 && say('labels.cutOff', { count: cutOff })}
      </p>
      <div class="preview" translate={false}>
        <SheetPage sheet={job.sheet} labels={labels} title={title} hasEdges />
      </div>
      <Turning
        place={say('labels.pageOf', { page: page + 1, pages })}
        isFirst={page === 0}
        isLast={page === pages - 1}
        onTurn={(step) => (wanted.value = page + step)}
      />
    </>
  )
}

/** Prints the frames of the labels, to try the printer, and saves the texts for other programs. */
function Trying({ job, make, onPrint }: MakingProps): JSX.Element {
  const pitfalls = useSignal<Pitfalls | undefined>(undefined)
  const saveCsv = () => {
    const rows = job.labels.map(({ id, name, tag }) => [String(id), name, tag, job.addressOf(id)])
    saveFile(spreadsheet([['id', 'name', 'tag', 'address'], ...rows]), `${say('labels.file')}.csv`)
    pitfalls.value = pitfallsIn(rows)
  }
  return (
    <>
      <div class="fields">
        <Button text={say('labels.test')} aria-describedby="label-test-note" onClick={onPrint} />
        <Button text={say('labels.saveCsv')} onClick={() => make(saveCsv)} />
      </div>
      <p class="note" id="label-test-note">
        {say('labels.testNote')}
      </p>
      <p role="status" class="note">
        {pitfalls.value !== undefined && <Warning {...pitfalls.value} />}
      </p>
    </>
  )
}

const AllPages = ({ job, type }: PagesProps): JSX.Element => (
  <>
    {Array.from({ length: pagesOf(job) }, (_, i) => (
      <SheetPage
        key={i}
        sheet={job.sheet}
        labels={labelsOfPage(job, i, type)}
        title={say('labels.page', { page: i + 1 })}
      />
    ))}
  </>
)

/** Leads from document to document, where the labels are more than one has. */
function Parts(): JSX.Element {
  const { start, end } = inDocument.value
  const total = chosen.value.length
  return (
    <Turning
      place={say('labels.part', { first: start + 1, last: end, total })}
      isFirst={start === 0}
      isLast={end === total}
      onTurn={turnPart}
    />
  )
}

interface TurningProps {
  /** Where the person is. */
  readonly place: string
  readonly isFirst: boolean
  readonly isLast: boolean
  readonly onTurn: (step: 1 | -1) => void
}

/** Leads to what is before and behind. */
const Turning = ({ place, isFirst, isLast, onTurn }: TurningProps): JSX.Element => (
  <div class="fields">
    <Button text={say('plant.previous')} of={place} aria-disabled={isFirst} onClick={() => isFirst || onTurn(-1)} />
    <span role="status">{place}</span>
    <Button text={say('plant.next')} of={place} aria-disabled={isLast} onClick={() => isLast || onTurn(1)} />
  </div>
)

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
        <Button
          text={say('labels.giveAddress')}
          class="primary"
          onClick={() => {
            onStay()
            // The dialog gives the focus back to its button first.
            requestAnimationFrame(() => document.getElementById('label-base')?.focus())
          }}
        />
        <Button text={say('labels.goOn')} onClick={onGoOn} />
      </div>
    </Dialog>
  )
}
