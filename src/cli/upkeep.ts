import { count, counted, onOneLine } from '../base/printable.ts'
import { commandActor } from '../domain/actor.ts'
import type { BackupReport, CheckReport, RestoreReport, Upkeep, WorkState } from '../domain/upkeep.ts'
import type { Config, StoreAddress } from '../settings/config.ts'
import { abortOnSignal, Stopped } from './abort-on-signal.ts'
import { CommandAudit } from './audit-file.ts'
import { fileFault } from './file-fault.ts'
import { giveWayToServices } from './give-way.ts'
import { upkeepOf } from './open-store.ts'
import { Progress } from './progress.ts'

export interface UpkeepFlags {
  readonly store?: string
  readonly auditLog?: string
  readonly json?: true
  readonly quiet?: true
}

export interface RestoreFlags extends UpkeepFlags {
  readonly replace?: true
}

export interface CheckFlags extends UpkeepFlags {
  readonly reindex?: true
}

type Work<T> = (
  upkeep: Pick<Upkeep, 'backup' | 'restore' | 'check'>,
  work: { signal: AbortSignal; onProgress: (state: WorkState) => void },
) => Promise<T>

/** @returns the exit code. @throws OperatorError when the backup fails */
export async function backupStore(file: string, flags: UpkeepFlags, { store }: Config): Promise<number> {
  giveWayToServices()
  return run(flags, store, file, 'no backup was written', (upkeep, work) => upkeep.backup(file, work), backupDone)
}

/** @returns the exit code. @throws OperatorError when the restore fails */
export async function restoreStore(file: string, flags: RestoreFlags, config: Config): Promise<number> {
  const { store } = config
  const replace = flags.replace === true
  using audit = new CommandAudit(config.auditLog, [store], commandActor('restore'), 'none')
  const work: Work<RestoreReport> = async (upkeep, work) => {
    const report = await upkeep.restore(file, { ...work, replace })
    audit.write('restoreStore', 'restored', { ...report, file })
    return report
  }
  return await run(flags, store, file, 'nothing was restored', work, restoreDone)
}

/** @returns the exit code: 1 when a part of the store is damaged */
export async function checkStore(flags: CheckFlags, { store }: Config): Promise<number> {
  giveWayToServices()
  let isDamaged = false
  const work: Work<CheckReport> = async (upkeep, work) => {
    const report = await upkeep.check({ ...work, reindex: flags.reindex === true })
    isDamaged = report.parts.some(({ faults }) => faults.length > 0)
    return report
  }
  const exitCode = await run(flags, store, 'the store', 'the check is incomplete', work, checkDone)
  return exitCode === 0 && isDamaged ? 1 : exitCode
}

async function run<T extends object>(
  flags: UpkeepFlags,
  address: StoreAddress,
  file: string,
  stopped: string,
  work: Work<T>,
  summary: (report: T, quiet: boolean) => readonly string[],
): Promise<number> {
  const quiet = flags.quiet === true
  const signal = abortOnSignal()
  let state: WorkState = { doing: 'starting', done: undefined }
  const progress = new Progress(() => ({ ...state, rows: undefined }), { quiet })
  const onProgress = (next: WorkState) => {
    state = next
  }
  let report: T
  try {
    report = await work(await upkeepOf(address), { signal, onProgress })
  } catch (error) {
    progress.end()
    if (!(signal.reason instanceof Stopped)) throw fileFault(file, error)
    progress.note(`stopped; ${stopped}`)
    return signal.reason.exitCode
  }
  progress.end()
  if (flags.json === true) process.stdout.write(`${JSON.stringify(report, null, 2)}\n`)
  else for (const line of summary(report, quiet)) process.stderr.write(`${onOneLine(line)}\n`)
  return 0
}

const content = ({ plants, tokens }: { plants: number; tokens: number }): string =>
  `${counted(plants, 'plant')} and ${counted(tokens, 'token')}`

const backupDone = (report: BackupReport, quiet: boolean): string[] =>
  quiet ? [] : [`done: ${report.file} holds ${content(report)} in ${count(report.bytes)} bytes, verified`]

const restoreDone = (report: RestoreReport, quiet: boolean): string[] =>
  quiet
    ? []
    : [
        ...(report.kept === undefined ? [] : [`kept the replaced store as ${report.kept}`]),
        `done: the store ${report.store} holds ${content(report)}`,
        'Tokens that were revoked since the backup work again; "plantstore token list" lists all tokens.',
      ]

/** Reports damage even with `--quiet`. */
const checkDone = ({ store, parts }: CheckReport, quiet: boolean): string[] => {
  const isDamaged = parts.some(({ faults }) => faults.length > 0)
  if (quiet && !isDamaged) return []
  const lines = parts.flatMap(({ part, found, faults }) => [
    `${part}: ${faults.length === 0 ? 'ok' : 'DAMAGED'} (${found})`,
    ...faults.map((fault) => `  ${fault}`),
  ])
  return [...lines, isDamaged ? `${store} is damaged` : `${store} is in order`]
}
