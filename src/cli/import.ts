import { OperatorError } from '../base/operator-error.ts'
import { count, counted } from '../base/printable.ts'
import type { ImportMode } from '../domain/plant.ts'
import type { Store } from '../domain/store.ts'
import { commandActor } from '../domain/token.ts'
import type { Duplicates } from '../import/duplicates.ts'
import { readPlants } from '../import/format.ts'
import { type ImportSummary, ImportTotals, LISTED_ROWS, runImport } from '../import/run-import.ts'
import { type Config, shownStore } from '../settings/config.ts'
import { duration } from '../settings/setting.ts'
import { CommandAudit } from './log.ts'
import { withStore } from './open-store.ts'
import { openInput } from './plant-files.ts'
import { formatTime, Progress } from './progress.ts'
import { dryRunThrough, fileKind, importThrough, type KindFlags, type TargetFlags, targetOf } from './service-client.ts'
import { abortOnSignal, Stopped } from './signals.ts'

export interface ImportFlags extends KindFlags, TargetFlags {
  readonly mode?: ImportMode
  readonly dryRun?: true
  readonly duplicates?: true
  readonly quiet?: true
  readonly json?: true
  readonly retryTime?: string
}

/**
 * Imports a file, or standard input for `-`, and reports the refused rows.
 *
 * @returns the exit code
 * @throws OperatorError when the import can't begin or breaks off
 */
export async function importFile(file: string, flags: ImportFlags, config: Config): Promise<number> {
  const { format, gzip } = fileKind(file, flags)
  const target = targetOf(flags, config)
  const { mode = 'add', dryRun = false, duplicates = false, quiet = false, retryTime = '5m' } = flags
  const retryFor = retryTimeOf(retryTime)
  if (duplicates && !dryRun) throw new OperatorError('--duplicates: works only with --dry-run', { exitCode: 2 })
  const actor = commandActor('import')
  // A service writes its own lines to its audit log.
  using audit =
    target.kind === 'store' && !dryRun ? new CommandAudit(config.auditLog, [target.address], actor, 'none') : undefined
  const stop = abortOnSignal()
  const input = await openInput(file, gzip, stop)
  const reporter = new ImportReporter()
  const progress = new Progress(() => ({ rows: reporter.rows, done: input.share }), { quiet })
  const take = (summary: ImportSummary) => reporter.add(summary, progress)
  const batches = () => readPlants(format, input.content(), { textLimit: config.bodyLimit })
  try {
    if (target.kind === 'store') {
      const onNotice = (text: string) => progress.note(text)
      const work = async (store: Store) => {
        reporter.duplicates = await runImport(store, batches(), { mode, dryRun, duplicates, actor }, take)
        await store.afterImport()
        return true
      }
      const details = () => ({ store: shownStore(target.address), mode, ...reporter.counts })
      await withStore(target.address, { create: !dryRun, quiet, onNotice }, async (store) => {
        if (audit === undefined) await work(store)
        else await audit.around('importPlants', details, 'imported', () => work(store))
      })
    } else if (dryRun) {
      const query = { mode, dryRun, duplicates }
      const {
        duplicates: found,
        duplicateRows = [],
        ...summary
      } = await dryRunThrough(target.service, query, format, input.content(), stop)
      take(summary)
      if (found !== undefined) reporter.duplicates = { duplicates: found, duplicateRows }
    } else {
      const onWait = (error: Error) => progress.note(`${error.message}; retrying for ${retryTime}`)
      await importThrough(target.service, mode, batches(), take, { time: retryFor, signal: stop, onWait })
    }
  } catch (error) {
    progress.end()
    if (reporter.rows > 0 || error instanceof Stopped) progress.note(`interrupted: ${reporter}`)
    if (!dryRun && reporter.rows > 0) progress.note(CONTINUE_HINT)
    if (error instanceof Stopped) return error.exitCode
    throw error
  } finally {
    input.close()
  }
  progress.end()
  if (!quiet && flags.json !== true) reporter.printDuplicates(progress)
  if (flags.json === true) process.stdout.write(`${jsonOf({ dryRun, ...reporter.report })}\n`)
  else if (!quiet) progress.note(`${dryRun ? 'dry run, nothing was stored' : 'done'}: ${reporter}`)
  if (reporter.counts.refused === 0) return 0
  if (!dryRun) progress.note(CORRECTION_HINT)
  return 1
}

/** The JSON of a report, with its bigints as numbers. */
const jsonOf = (report: object): string =>
  JSON.stringify(report, (_, value) => (typeof value === 'bigint' ? String(value) : value), 2).replaceAll(
    /"id": "(-?[0-9]+)"/g,
    '"id": $1',
  )

const CONTINUE_HINT = 'Run the same command again to continue: rows that are already stored count as unchanged.'
const CORRECTION_HINT =
  'Some rows were refused. Correct them and import the file again: rows that are already stored count as unchanged.'

function retryTimeOf(time: string): number {
  try {
    return duration(time)
  } catch (error) {
    throw new OperatorError(`--retry-time: ${(error as Error).message}`, { exitCode: 2 })
  }
}

/** Counts the results of the rows of a file, and prints the first refused rows at once. */
class ImportReporter extends ImportTotals {
  readonly #startedAt = performance.now()
  /** Undefined unless the command asks for them. */
  duplicates: Duplicates | undefined

  /** The counts and refused rows, with the members of the service's import report. */
  get report(): ImportSummary & Partial<Duplicates> {
    return { ...this.counts, refusedRows: this.refusedRows, ...this.duplicates }
  }

  printDuplicates(progress: Progress): void {
    if (this.duplicates === undefined) return
    const { duplicates, duplicateRows } = this.duplicates
    for (const { line, id } of duplicateRows.slice(0, LISTED_ROWS)) {
      progress.note(`line ${line}: has the name and tag of plant ${id}`)
    }
    const rest = duplicates > LISTED_ROWS ? `; the first ${count(LISTED_ROWS)} are listed` : ''
    progress.note(`${counted(duplicates, 'row')} would add a plant with the name and tag of a stored one${rest}`)
  }

  add(summary: ImportSummary, progress: Progress): void {
    const before = this.counts.refused
    for (const { line, error, message } of this.count(summary)) {
      progress.note(`line ${line}: error ${error}: ${message}`)
    }
    if (before <= LISTED_ROWS && this.counts.refused > LISTED_ROWS) {
      progress.note('more rows were refused; they are counted but not listed')
    }
  }

  /** `10 added, 0 updated, 1 unchanged, 1 refused; 12 rows in 0.1 s, 120/s` */
  override toString(): string {
    const seconds = (performance.now() - this.#startedAt) / 1000
    const counts = Object.entries(this.counts).map(([what, number]) => `${count(number)} ${what}`)
    return `${counts.join(', ')}; ${counted(this.rows, 'row')} in ${formatTime(seconds)}, ${count(Math.round(this.rows / seconds))}/s`
  }
}
