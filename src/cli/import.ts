import type { Config } from '../config.ts'
import { OperatorError } from '../operator-error.ts'
import { duration } from '../setting.ts'
import type { ImportMode, Store } from '../store.ts'
import { abortOnSignal, Stopped } from './abort-on-signal.ts'
import type { Importer } from './feed.ts'
import { fileKind, type KindFlags } from './file-kind.ts'
import { Tally } from './import-summary.ts'
import { openInput } from './input-file.ts'
import { withStore } from './open-store.ts'
import { Progress } from './progress.ts'
import { serviceImporter, serviceTrial } from './service-import.ts'
import { storeImporter, storeTrial } from './store-import.ts'
import { type TargetFlags, targetOf } from './target.ts'

export interface ImportFlags extends KindFlags, TargetFlags {
  readonly mode?: ImportMode
  readonly dryRun?: true
  readonly quiet?: true
  readonly retryTime?: string
}

/**
 * Imports a file, or standard input for `-`, and tells the rows that were refused.
 *
 * @returns the exit code
 * @throws OperatorError when it can't begin or breaks off
 */
export async function importFile(file: string, flags: ImportFlags, config: Config): Promise<number> {
  const { format, gzip } = fileKind(file, flags)
  const target = targetOf(flags, config)
  const { mode = 'add', dryRun = false, quiet = false, retryTime = '5m' } = flags
  const retryFor = retryTimeOf(retryTime)
  const stop = abortOnSignal()
  const input = await openInput(file, gzip, stop)
  const tally = new Tally()
  const progress = new Progress(() => ({ rows: tally.rows, done: input.share }), { quiet })
  const run = (importer: Importer) => importer(input.content(), (outcome) => tally.add(outcome, progress))
  try {
    const options = { rowLimit: config.bodyLimit, nestingLimit: config.nestingLimit }
    if (target.kind === 'store') {
      const importer = dryRun ? storeTrial : storeImporter
      const onNotice = (text: string) => progress.note(text)
      const work = (store: Store) => run(importer(store, mode, format, options))
      await withStore(target.address, { create: !dryRun, quiet, onNotice }, work)
    } else if (dryRun) {
      await run(serviceTrial(target.service, mode, format, stop))
    } else {
      const onWait = (error: Error) => progress.note(`${error.message}; retrying for ${retryTime}`)
      const waiting = { time: retryFor, signal: stop, onWait }
      await run(serviceImporter(target.service, mode, format, options, waiting))
    }
  } catch (error) {
    progress.end()
    if (tally.rows > 0 || error instanceof Stopped) progress.note(`broken off: ${tally}`)
    if (!dryRun && tally.rows > 0) progress.note(GO_ON)
    if (error instanceof Stopped) return error.exitCode
    throw error
  } finally {
    input.close()
  }
  progress.end()
  if (!quiet) progress.note(`${dryRun ? 'dry run, nothing was stored' : 'done'}: ${tally}`)
  if (tally.refused === 0) return 0
  if (!dryRun) progress.note(MEND)
  return 1
}

const GO_ON = 'Run the same command again to continue: rows that are already stored count as unchanged.'
const MEND =
  'Some rows were refused. Correct them and import the file again: rows that are already stored count as unchanged.'

function retryTimeOf(time: string): number {
  try {
    return duration(time)
  } catch (error) {
    throw new OperatorError(`--retry-time: ${(error as Error).message}`, { exitCode: 2 })
  }
}
