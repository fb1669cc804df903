import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'
import { AS_WRITTEN, isWorkbook, plantSheetOf, type Reading } from '../../../src/import/sheet/sheet.ts'
import { say } from '../language/language.ts'
import { Choice } from '../page/controls.tsx'
import { named } from '../page/named.ts'
import { PageError, said } from '../page/said.ts'
import { Fault, Sentence } from '../page/sentence.tsx'
import type { ViewProps } from '../session/session.ts'
import { ImportJob, job } from './import-job.ts'
import { ImportSheet } from './import-sheet.tsx'
import { loadWorkbook } from './load-workbook.ts'
import { pastedSheet } from './pasted.ts'
import { openSheet } from './sheet.ts'
import type { WorkbookFault, WorkbookSheet } from './workbook.ts'

/** Takes a file that the person drops anywhere in the window or chooses in the field, and rows that they paste. */
export function ImportView({ session }: ViewProps): JSX.Element {
  const { fault, sheets, reading, open, paste } = useOpening()
  const current = job.value
  const isUnfinished = current?.isUnfinished === true
  const isDone = current?.step.value.kind === 'done'
  useEffect(() => {
    if (current !== undefined) current.isSeen.value = isDone
  }, [current, isDone])
  return (
    <>
      <h1>{say('view.import')}</h1>
      <Source isUnfinished={isUnfinished} open={open} paste={paste} />
      <p role="status" class="note">
        {reading !== undefined && <Sentence text={say('import.reading', { file: named(reading.name) })} />}
      </p>
      <Fault text={fault} />
      {current !== undefined && sheets.length > 1 && (
        <Choice
          label={say('import.sheet')}
          disabled={isUnfinished}
          value={sheets.findIndex(({ csv }) => csv === current.sheet.file)}
          options={sheets.map(({ name }, i) => [i, name])}
          onChoose={(at) => void open(sheets[at]?.csv)}
        />
      )}
      {current !== undefined && (
        <ImportSheet session={session} job={current} onReopen={(chosen) => void open(current.sheet.file, chosen)} />
      )}
    </>
  )
}

/** Opens files and rows, the last one in place of those before. */
function useOpening() {
  const fault = useSignal('')
  /** Those of the workbook that is open. */
  const sheets = useSignal<readonly WorkbookSheet[]>([])
  /** The file that is being read. Another one replaces it. */
  const reading = useSignal<File | undefined>(undefined)
  const ending = useRef(new AbortController())
  /** Refuses another file while an import is incomplete, so that a dropped file ends no import. */
  const refuse = (): boolean => {
    if (job.value?.isUnfinished !== true) return false
    fault.value = say('import.unfinished', { file: job.value.sheet.file.name })
    return true
  }
  const open = async (file: File | null | undefined, chosen?: Reading) => {
    if (file === null || file === undefined || refuse()) return
    fault.value = ''
    reading.value = file
    ending.current.abort()
    ending.current = new AbortController()
    try {
      const opened = await openFile(file, sheets.value, ending.current.signal, chosen)
      if (reading.value !== file || refuse()) return
      sheets.value = opened.sheets
      replaceJob(opened.job)
    } catch (error) {
      if (reading.value !== file || refuse()) return
      sheets.value = []
      replaceJob(undefined)
      fault.value = said(error)
    } finally {
      if (reading.value === file) reading.value = undefined
    }
  }
  /** Opens copied rows, or else a copied file. Copied cells come with a picture of them too. */
  const paste = (text: string, file?: File | undefined) => {
    if (text.trim() === '' && file !== undefined) return void open(file)
    if (refuse()) return
    try {
      const pasted = pastedSheet(text)
      sheets.value = [pasted]
      void open(pasted.csv)
    } catch (error) {
      fault.value = said(error)
    }
  }
  return { fault: fault.value, sheets: sheets.value, reading: reading.value, open, paste }
}

interface SourceProps extends Pick<ReturnType<typeof useOpening>, 'open' | 'paste'> {
  readonly isUnfinished: boolean
}

function Source({ isUnfinished, open, paste }: SourceProps): JSX.Element {
  const isOver = useDrops(open, paste)
  return (
    <section
      class={`drop ${isOver ? 'over' : ''} ${job.value === undefined ? '' : 'taken'}`}
      aria-label={say('import.source')}
    >
      <label for="file">{say('import.drop')}</label>
      <label class="button file">
        {say('import.chooseFile')}
        <input
          id="file"
          type="file"
          accept=".csv,.tsv,.txt,text/csv,.xlsx,.xlsm,.ods"
          disabled={isUnfinished}
          aria-describedby="file-note"
          onChange={(event) => void open(event.currentTarget.files?.[0])}
        />
      </label>
      <p id="file-note" class="note">
        {say(isUnfinished ? 'import.next' : 'import.note')}
      </p>
      <label for="pasted">{say('import.paste')}</label>
      <textarea
        id="pasted"
        rows={1}
        disabled={isUnfinished}
        onChange={({ currentTarget }) => {
          // Keyboards of phones put what was copied in by typing it.
          if (currentTarget.value !== '') paste(currentTarget.value)
          currentTarget.value = ''
        }}
      />
    </section>
  )
}

/**
 * Takes drops and pastes anywhere in the window, because a browser opens a file that misses the field in place of the page.
 *
 * @returns whether a file is over the window
 */
function useDrops(open: SourceProps['open'], paste: SourceProps['paste']): boolean {
  const isOver = useSignal(false)
  // A layout effect runs before the first paint, so no early drop is lost.
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
    const takePaste = (event: ClipboardEvent) => {
      if (event.target instanceof Element && event.target.closest('dialog') !== null) return
      event.preventDefault()
      paste(event.clipboardData?.getData('text/plain') ?? '', event.clipboardData?.files[0])
    }
    addEventListener('paste', takePaste, { signal: listening.signal })
    return () => listening.abort()
  }, [])
  return isOver.value
}

interface OpenedFile {
  readonly job: ImportJob
  /** Those of its workbook. */
  readonly sheets: readonly WorkbookSheet[]
}

/** @param sheets those of the workbook that is open */
async function openFile(
  file: File,
  sheets: readonly WorkbookSheet[],
  signal: AbortSignal,
  chosen?: Reading,
): Promise<OpenedFile> {
  if (await isWorkbook(file)) return openWorkbook(file, signal)
  const ofWorkbook = sheets.find(({ csv }) => csv === file)
  const sheet = await openSheet(file, { ...chosen, ...(ofWorkbook === undefined ? {} : AS_WRITTEN) })
  const mode = job.value?.sheet.file === file ? job.value.mode.value : 'add'
  return { job: new ImportJob(sheet, mode, ofWorkbook), sheets: ofWorkbook === undefined ? [] : sheets }
}

async function openWorkbook(file: File, signal: AbortSignal): Promise<OpenedFile> {
  const { sheetsIn } = await loadWorkbook()
  const sheets = await sheetsIn(file, signal)
  if (typeof sheets === 'string') throw new PageError(saidFault(sheets))
  const best = await plantSheetOf(sheets)
  if (best === undefined) throw new PageError(say('import.noCells'))
  return { job: new ImportJob(await openSheet(best.csv, AS_WRITTEN), 'add', best), sheets }
}

function saidFault(fault: WorkbookFault): string {
  if (fault === 'unreadable') return say('import.unreadable')
  if (fault === 'locked') return say('import.locked')
  return fault === 'large' ? say('import.large') : say('import.otherForm', { form: fault })
}

/** Ends the check of the previous file, and shows the next one. */
function replaceJob(next: ImportJob | undefined): void {
  job.value?.stop()
  job.value = next
}
