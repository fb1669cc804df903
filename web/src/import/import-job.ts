import { type Signal, signal } from '@preact/signals'
import type { PlantstoreClient } from '../../../client/src/index.ts'
import type { Mapping } from '../../../src/import/csv-rows.ts'
import { say } from '../language/language.ts'
import { askBeforeLosing } from '../leaving.ts'
import { named } from '../named.ts'
import { isAbort, PageError, said } from '../said.ts'
import { onSignOut } from '../session.ts'
import { guess } from './guess.ts'
import { refusedSheet, sheetWithIds } from './report.ts'
import { ImportRun, type Mode, type Outcome } from './run.ts'
import type { Sheet } from './sheet.ts'
import type { WorkbookSheet } from './workbook.ts'

export type Step =
  | { readonly kind: 'mapping' }
  | { readonly kind: 'checking' }
  | { readonly kind: 'checked'; readonly outcome: Outcome }
  | { readonly kind: 'importing'; readonly done: number }
  | { readonly kind: 'broken'; readonly why: string; readonly outcome: Outcome }
  | { readonly kind: 'done'; readonly outcome: Outcome }

/** The import of one sheet, from mapping its columns to the report. It outlives its view and an expired token. */
export class ImportJob {
  readonly sheet: Sheet
  readonly workbook: WorkbookSheet | undefined
  readonly mapping: Signal<Mapping>
  readonly mode: Signal<Mode>
  /** Whether to leave out the rows whose name and tag are stored already. */
  readonly leavesOut = signal(true)
  readonly step = signal<Step>({ kind: 'mapping' })
  readonly fault = signal('')
  /** Whether the person has seen the report. */
  readonly isSeen = signal(false)
  #run: ImportRun | undefined
  #ending = new AbortController()

  /** @param workbook the sheet of a workbook that `sheet` reads */
  constructor(sheet: Sheet, mode: Mode, workbook?: WorkbookSheet) {
    this.sheet = sheet
    this.workbook = workbook
    this.mapping = signal(guess(sheet.columns, sheet.below, sheet.header !== 0))
    this.mode = signal(mode)
  }

  /** The number of rows without ids whose name and tag are stored already; 0 before the check. */
  get duplicates(): number {
    return this.#run?.duplicates ?? 0
  }

  /** Whether the reason of each refused row is known. */
  get knowsRefused(): boolean {
    return this.#run?.knowsRefused === true
  }

  /** The number of plants to import; 0 before the check. */
  get count(): number {
    return this.#run?.count ?? 0
  }

  /** Whether the import runs, or has broken off and can continue. */
  get isUnfinished(): boolean {
    const { kind } = this.step.value
    return kind === 'importing' || kind === 'broken'
  }

  /** Changes the mapping or the mode. The sheet then needs another check. */
  change(part: { readonly mapping?: Mapping; readonly mode?: Mode }): void {
    this.stop()
    this.#run = undefined
    this.mapping.value = part.mapping ?? this.mapping.value
    this.mode.value = part.mode ?? this.mode.value
    this.step.value = { kind: 'mapping' }
  }

  /** Has the service import the sheet as a dry run. */
  async check(client: PlantstoreClient): Promise<void> {
    const run = new ImportRun(this.sheet, this.mapping.value, this.mode.value)
    const { signal: ended } = this.#begin()
    this.#run = run
    this.fault.value = ''
    this.step.value = { kind: 'checking' }
    let next: Step = { kind: 'mapping' }
    try {
      const outcome = await run.check(client, ended)
      if (!ended.aborted) next = { kind: 'checked', outcome }
    } catch (error) {
      if (!isAbort(error)) this.fault.value = said(error)
    }
    // If the person has changed the mapping meanwhile, this result is out of date.
    if (this.#run === run) this.step.value = next
  }

  /** Imports the plants that are not imported yet. */
  async start(client: PlantstoreClient): Promise<void> {
    const run = this.#run
    if (run === undefined) return
    const { signal: ended } = this.#begin()
    const note = (done: number) => {
      this.step.value = { kind: 'importing', done }
    }
    note(run.done)
    try {
      this.step.value = { kind: 'done', outcome: await run.import(client, this.leavesOut.value, note, ended) }
    } catch (error) {
      const why = isAbort(error) ? say('import.stopped') : said(error)
      this.step.value = { kind: 'broken', why, outcome: run.outcome }
    }
  }

  stop(): void {
    this.#ending.abort()
  }

  /** Gives up the rest of an import that has broken off. */
  leaveRest(): void {
    const step = this.step.value
    if (step.kind === 'broken') this.step.value = { kind: 'done', outcome: step.outcome }
  }

  /** Writes the sheet with the ids that the page has assigned. */
  async sheetWithIds(client: PlantstoreClient): Promise<Blob> {
    if (this.#run === undefined) throw new PageError(say('import.notChecked'))
    return sheetWithIds(this.sheet, this.mapping.value, this.#run.rowsWithIds(client))
  }

  /** Writes the refused rows of the sheet, with the reasons. */
  async refusedSheet(): Promise<Blob> {
    if (this.#run === undefined) throw new PageError(say('import.notChecked'))
    return refusedSheet(this.sheet, this.mapping.value, this.#run.refusedRows())
  }

  #begin(): AbortController {
    this.#ending = new AbortController()
    return this.#ending
  }
}

/** The present import of this tab. */
export const job = signal<ImportJob | undefined>(undefined)

onSignOut(() => {
  job.value?.stop()
  job.value = undefined
})

askBeforeLosing(() => {
  const { sheet, isUnfinished } = job.value ?? {}
  return sheet !== undefined && isUnfinished === true ? say('import.loss', { file: named(sheet.file.name) }) : undefined
})
