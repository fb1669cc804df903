import { randomUUID } from 'node:crypto'
import { basename } from 'node:path'
import { usageError } from '../base/operator-error.ts'
import { count, counted, shown } from '../base/printable.ts'
import { MAX_TITLE } from '../domain/actions.ts'
import type { ImportMode } from '../domain/plant.ts'
import { type ActionName, commandActor } from '../domain/token.ts'
import { withIds } from '../import/assign-ids.ts'
import type { NamedColumns } from '../import/csv-rows.ts'
import type { Duplicates } from '../import/duplicates.ts'
import { type Format, readPlants } from '../import/format.ts'
import { type AssignedIds, type ImportSummary, ImportTotals, LISTED_ROWS, runImport } from '../import/run-import.ts'
import { type Config, shownStore } from '../settings/config.ts'
import { duration } from '../settings/setting.ts'
import { undoHint } from './actions.ts'
import type { Flags } from './command.ts'
import { columnsOf, type OpenedFile, openTable } from './import-sheet.ts'
import { importThrough, importWhole } from './import-through.ts'
import { CommandAudit } from './log.ts'
import { withStore } from './open-store.ts'
import { formatTime, note, type Progress, withProgress } from './output.ts'
import { fileKind, type KindFlags, openInput, SHEET } from './plant-files.ts'
import { targetOf } from './service-client.ts'
import { abortOnSignal } from './signals.ts'

export interface ImportFlags extends Flags, KindFlags {
  readonly mode?: ImportMode
  readonly dryRun?: true
  readonly duplicates?: true
  readonly retryTime?: string
  readonly columns?: readonly string[]
  readonly ids?: AssignedIds
}

const ACTOR = commandActor('import')

/** Imports a file, or standard input for `-`. Reports the refused rows, and sets the exit code 1 if there are any. */
export async function importFile(file: string, flags: ImportFlags, config: Config): Promise<void> {
  const { format, gzip } = fileKind(file, flags, SHEET)
  const columns = columnsOf(flags.columns)
  const target = targetOf(flags, config)
  const { mode = 'add', dryRun = false, duplicates = false, quiet = false, json = false, retryTime = '5m' } = flags
  const retryFor = retryTimeOf(retryTime)
  if (duplicates && !dryRun) throw usageError('--duplicates', 'works only with --dry-run')
  const stores = target.kind === 'store' ? [target.address] : []
  // A service writes its own lines to its audit log.
  using audit = new CommandAudit(dryRun || stores.length === 0 ? undefined : config.auditLog, stores, ACTOR)
  using input = openInput(file, gzip)
  const opened = await open(file, input.content(abortOnSignal()), format, { ...flags, columns })
  const ids = opened.assignsIds ? (flags.ids ?? 'assign') : undefined
  const reporter = new ImportReporter(mode, opened.place, ids)
  const action = { id: randomUUID(), title: titleOf(file) }
  await withProgress(
    () => ({ rows: reporter.rows, done: input.share }),
    flags,
    async (progress, stop) => {
      const onNotice = (text: string) => progress.note(text)
      const take = (summary: ImportSummary) => reporter.add(summary, progress)
      const onWait = (error: Error) => progress.note(`${error.message}; retrying for ${retryTime}`)
      const retrying = { retryFor, stop, onWait }
      if (target.kind === 'service' && (dryRun || ids !== undefined)) {
        const options = { mode, dryRun, duplicates, ...(ids && { ids }), signal: stop, ...named(action) }
        const report = await importWhole(target.service, opened, options, retrying)
        const { duplicates: found, duplicateRows = [], similarRows, assignedRows, ...summary } = report
        take(summary)
        const alike = similarRows?.map(({ line, plant }) => ({ line, plant: { tag: undefined, ...plant } }))
        if (found !== undefined)
          reporter.duplicates = { duplicates: found, duplicateRows, ...(alike && { similarRows: alike }) }
        return
      }
      if (target.kind === 'service')
        return importThrough(target.service, { mode, ...named(action) }, opened.batches(), take, retrying)
      const details = () => ({ store: shownStore(target.address), mode, ...reporter.counts })
      return withStore(target.address, { create: !dryRun, quiet, onNotice }, (store) =>
        audit.around('importPlants', details, 'imported', async () => {
          const plants = opened.batches()
          const actor = { ...ACTOR, action }
          const batches = ids ? withIds(store, plants, { ids, actor, dryRun, duplicates }, stop) : plants
          reporter.duplicates = await runImport(store, batches, { mode, dryRun, duplicates, ids, actor }, take)
          await store.afterImport()
        }),
      )
    },
    (isStopped) => [
      ...(reporter.rows > 0 || isStopped ? [`interrupted: ${reporter}`] : []),
      ...(reporter.rows > 0 && !dryRun ? [CONTINUE_HINT] : []),
    ],
  )
  if (json) process.stdout.write(`${jsonOf({ dryRun, ...reporter.report })}\n`)
  else if (!quiet) {
    reporter.printDuplicates()
    note(`${dryRun ? 'dry run, nothing was stored' : 'done'}: ${reporter}`)
    const { added, updated, deleted = 0 } = reporter.counts
    if (added + updated + deleted > 0 && !dryRun) note(undoHint(action.id))
  }
  if (reporter.counts.refused === 0) return
  if (!dryRun) note(mode === 'delete' ? CHANGED_HINT : CORRECTION_HINT)
  process.exitCode = 1
}

/** The last part of the path of a file; undefined for standard input. */
const titleOf = (file: string): string | undefined =>
  file === '-' ? undefined : basename(file).slice(0, MAX_TITLE).toWellFormed()

const named = ({ id, title }: ActionName) => ({ action: id, actionTitle: title })

/** Opens a file of any format. @throws OperatorError for flags that do not go with it */
async function open(
  file: string,
  content: AsyncGenerator<Buffer>,
  format: Format,
  { columns, ids, mode = 'add', quiet = false }: Omit<ImportFlags, 'columns'> & { columns: NamedColumns | undefined },
): Promise<OpenedFile> {
  const assigns = ids !== undefined
  if (format === 'ndjson') {
    if (columns !== undefined)
      throw usageError('--columns', 'NDJSON has none; its rows have the members id, name and tag')
    if (assigns && mode !== 'add') throw usageError(`--mode ${mode}`, 'needs rows with ids, so leave out --ids')
    const batches = () => readPlants(format, content, { mode, assignsIds: assigns })
    return { format, content, batches, assignsIds: assigns, place: 'line' }
  }
  const opened = await openTable(file, content, { columns, mode, quiet })
  if (assigns && !opened.assignsIds) {
    throw usageError('--ids', 'the file has a column of ids; leave it out, or name other columns')
  }
  return opened
}

const jsonOf = (report: object): string =>
  JSON.stringify(report, (_, value) => (typeof value === 'bigint' ? String(value) : value), 2).replaceAll(
    /"id": "(-?[0-9]+)"/g,
    '"id": $1',
  )

const CONTINUE_HINT = 'Run the same command again to continue: rows that are already stored count as unchanged.'
const CORRECTION_HINT =
  'Some rows were refused. Correct them and import the file again: rows that are already stored count as unchanged.'

const CHANGED_HINT = 'Plants that are not as the rows expect were left as they are.'

function retryTimeOf(time: string): number {
  try {
    return duration(time)
  } catch (error) {
    throw usageError('--retry-time', (error as Error).message)
  }
}

/** Counts the results of the rows of a file, and prints the first refused rows at once. */
class ImportReporter extends ImportTotals {
  duplicates: Duplicates | undefined
  readonly #place: OpenedFile['place']
  readonly #ids: AssignedIds | undefined
  readonly #startedAt = performance.now()

  constructor(mode: ImportMode, place: OpenedFile['place'], ids: AssignedIds | undefined) {
    super(mode)
    this.#place = place
    this.#ids = ids
  }

  /** The counts and refused rows, with the members of the service's import report. */
  get report(): ImportSummary & Partial<Duplicates> {
    return { ...this.counts, refusedRows: this.refusedRows, ...this.duplicates }
  }

  add(summary: ImportSummary, progress: Progress): void {
    const before = this.counts.refused
    for (const { line, error, message } of this.count(summary)) {
      progress.note(`${this.#place} ${line}: error ${error}: ${message}`)
    }
    if (before <= LISTED_ROWS && this.counts.refused > LISTED_ROWS) {
      progress.note('more rows were refused; they are counted but not listed')
    }
  }

  printDuplicates(): void {
    if (this.duplicates === undefined) return
    const { duplicates, duplicateRows, similarRows = [] } = this.duplicates
    for (const { line, id } of duplicateRows.slice(0, LISTED_ROWS)) {
      note(`${this.#place} ${line}: has the name and tag of plant ${id}`)
    }
    const rest = duplicates > LISTED_ROWS ? `; the first ${count(LISTED_ROWS)} are listed` : ''
    const what = this.#ids === 'assign' ? 'left out with' : 'would add a plant with'
    note(`${counted(duplicates, 'row')} ${what} the name and tag of a stored one${rest}`)
    for (const { line, plant } of similarRows)
      note(`${this.#place} ${line}: looks like plant ${plant.id}, ${shown(plant.name)}`)
    if (similarRows.length > 0) {
      note(
        `${counted(similarRows.length, 'row')} would add a plant that looks like a stored one; give their ids to change those`,
      )
    }
  }

  /** `10 added, 0 updated, 1 unchanged, 1 refused; 12 rows in 0.1 s, 120/s` */
  override toString(): string {
    const { rows, counts } = this
    const seconds = (performance.now() - this.#startedAt) / 1000
    const parts = Object.entries(counts).map(([what, number]) => `${count(number)} ${what}`)
    return `${parts.join(', ')}; ${counted(rows, 'row')} in ${formatTime(seconds)}, ${count(Math.round(rows / seconds))}/s`
  }
}
