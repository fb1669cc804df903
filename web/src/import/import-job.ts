import { type Signal, signal } from '@preact/signals'
import type { PlantstoreClient, StoredPlant } from '../../../client/src/index.ts'
import type { Mapping } from '../../../src/import/csv-rows.ts'
import type { Decisions } from '../../../src/import/sheet/decided-rows.ts'
import { guess } from '../../../src/import/sheet/guess.ts'
import { lacksIds } from '../../../src/import/sheet/look.ts'
import { say } from '../language/language.ts'
import { askBeforeLosing } from '../page/leaving.ts'
import { named } from '../page/named.ts'
import { isAbort, isSilence, PageError, said } from '../page/said.ts'
import { onSignOut } from '../session/session.ts'
import { refusedSheet, sheetWithIds } from './report.ts'
import { ImportRun, type Mode, type Outcome } from './run.ts'
import type { Sheet } from './sheet.ts'
import type { WorkbookSheet } from './workbook.ts'

export type Step =
  | { readonly kind: 'mapping' }
  | { readonly kind: 'checking' }
  | { readonly kind: 'checked' }
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
  /** The rows that look like no plants and are left out; undefined until the person has said it. */
  readonly leaving = signal<ReadonlySet<number> | undefined>(undefined)
  /** The rows that change the plant they look like; undefined until the person has said it. */
  readonly changing = signal<ReadonlySet<number> | undefined>(undefined)
  readonly step = signal<Step>({ kind: 'mapping' })
  readonly fault = signal('')
  /** Whether the check waits for the service. */
  readonly awaits = signal(false)
  /** Whether the person has seen the report. */
  readonly isSeen = signal(false)
  /** The plants that the import has added or changed, once they are known. */
  readonly imported = signal<readonly StoredPlant[]>([])
  readonly #guess: Mapping
  #run: ImportRun | undefined
  #ending = new AbortController()

  /** @param workbook the sheet of a workbook that `sheet` reads */
  constructor(sheet: Sheet, mode: Mode, workbook?: WorkbookSheet) {
    this.sheet = sheet
    this.workbook = workbook
    this.#guess = guess(sheet.columns, sheet.below, sheet.header !== 0)
    this.mapping = signal(this.#guess)
    this.mode = signal(mode)
  }

  /** The check, and the import after it; undefined before. */
  get run(): ImportRun | undefined {
    return this.#run
  }

  /** The outcome of the check, as the person has decided so far. */
  get checked(): Outcome | undefined {
    return this.#run?.checked(this.#decisions)
  }

  /** Whether the person still has to say what some rows are. */
  get isUndecided(): boolean {
    const { doubtful, similar, noValues = 0 } = this.#run?.findings ?? {}
    const isDoubtful = doubtful !== undefined && doubtful.size > 0 && this.leaving.value === undefined
    return (
      isDoubtful ||
      (noValues > 0 && this.mapping.value.dropsNoValues === undefined) ||
      (similar !== undefined && similar.length > 0 && this.changing.value === undefined)
    )
  }

  /** Whether the sheet has the rows that the person pasted, and so no file. */
  get isPasted(): boolean {
    return this.workbook?.name === ''
  }

  /** Whether the service assigns the ids. */
  get assignsIds(): boolean {
    return this.mapping.value.id === undefined
  }

  /** Whether the import runs, or has broken off and can continue. */
  get isUnfinished(): boolean {
    const { kind } = this.step.value
    return kind === 'importing' || kind === 'broken'
  }

  /** Changes how to read the sheet. It then needs another check. */
  change(part: { readonly mapping?: Mapping; readonly mode?: Mode }): void {
    this.stop()
    this.#run = undefined
    this.mapping.value = part.mapping ?? this.mapping.value
    this.mode.value = part.mode ?? this.mode.value
    this.step.value = { kind: 'mapping' }
  }

  /** Has the service import the sheet as a dry run. */
  async check(client: PlantstoreClient): Promise<void> {
    const run = new ImportRun(this.sheet, { mapping: this.mapping.value, mode: this.mode.value }, this.#file)
    const { signal: ended } = this.#begin()
    this.#run = run
    this.fault.value = ''
    this.awaits.value = false
    this.leaving.value = undefined
    this.changing.value = undefined
    this.step.value = { kind: 'checking' }
    let next: Step = { kind: 'mapping' }
    try {
      await run.check(client, ended)
      if (!ended.aborted) next = { kind: 'checked' }
    } catch (error) {
      this.awaits.value = isSilence(error)
      if (this.awaits.value) this.fault.value = `${said(error)} ${say('import.needsService')}`
      else if (!isAbort(error)) this.fault.value = said(error)
    }
    // If the person has changed the mapping meanwhile, this result is out of date.
    if (this.#run !== run) return
    const isOwn = this.mapping.value === this.#guess
    if (next.kind === 'checked' && isOwn && lacksIds(this.sheet.columns, this.#guess, run.findings))
      await this.checkWith(client, { id: undefined })
    else this.step.value = next
  }

  /** Takes what the person says of a column, and checks again. */
  async checkWith(client: PlantstoreClient, part: Partial<Mapping>): Promise<void> {
    this.change({ mapping: { ...this.mapping.value, ...part } })
    await this.check(client)
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
      const outcome = await run.import(client, this.#decisions, note, ended)
      if (this.assignsIds) this.imported.value = run.imported
      this.step.value = { kind: 'done', outcome }
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

  /** Writes the sheet with the ids that the service has assigned, as a workbook. */
  async sheetWithIds(): Promise<Blob> {
    return sheetWithIds(this.sheet, this.mapping.value, this.#checkedRun.rowsWithIds())
  }

  /** Writes the refused rows of the sheet, with the reasons. */
  async refusedSheet(): Promise<Blob> {
    return refusedSheet(this.sheet, this.mapping.value, this.#checkedRun.refusedRows())
  }

  get #checkedRun(): ImportRun {
    if (this.#run === undefined) throw new PageError(say('import.notChecked'))
    return this.#run
  }

  /** The name under which the browser remembers the rows; empty for pasted ones, as the next paste is another list. */
  get #file(): string {
    if (this.isPasted) return ''
    return this.workbook === undefined ? this.sheet.file.name : `${this.sheet.file.name}\n${this.workbook.name}`
  }

  get #decisions(): Decisions {
    return {
      leavesOut: this.leavesOut.value,
      leaving: this.leaving.value ?? NONE,
      changing: this.changing.value ?? NONE,
    }
  }

  #begin(): AbortController {
    this.#ending = new AbortController()
    return this.#ending
  }
}

const NONE: ReadonlySet<number> = new Set()

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
