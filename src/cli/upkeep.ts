import { count, counted, onOneLine } from '../base/printable.ts'
import { commandActor } from '../domain/token.ts'
import type {
  BackupReport,
  CheckReport,
  IndexStatus,
  RestoreReport,
  StoreStatus,
  Upkeep,
  WorkState,
} from '../domain/upkeep.ts'
import type { Config, StoreAddress } from '../settings/config.ts'
import { CommandAudit } from './log.ts'
import { distributeStore, statusOf, upkeepOf } from './open-store.ts'
import { fileFault } from './plant-files.ts'
import { formatTime, Progress, type ProgressState } from './progress.ts'
import { type ServiceClient, type TargetFlags, targetOf, Unavailable } from './service-client.ts'
import { abortOnSignal, giveWayToServices, Stopped } from './signals.ts'

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

export interface StatusFlags extends TargetFlags {
  readonly json?: true
}

/** Milliseconds that a service may take to answer. */
const TIMEOUT = 30_000

/** The state of a running service. Members that an older version does not report are undefined. */
export interface ServiceStatus {
  readonly service: string
  readonly isReady: boolean
  /** The reason why the service is not ready. */
  readonly why: string | undefined
  readonly version: string | undefined
  readonly node: string | undefined
  readonly engine: string | undefined
  /** Seconds. */
  readonly uptime: number | undefined
  /** The result of the service's last count, at most a minute old. */
  readonly plants: number | undefined
  readonly storeBytes: number | undefined
  readonly logBytes: number | undefined
  readonly indexBehind: number | undefined
  readonly creates: number | undefined
  /** Seconds since 1970 of the newest scheduled backup; 0 when there is none. */
  readonly newestBackup: number | undefined
  readonly failedBackups: number | undefined
}

/** @returns the exit code: 1 when the service is not ready. @throws OperatorError when the status can't be read */
export async function showStatus(flags: StatusFlags, config: Config): Promise<number> {
  const target = targetOf(flags, config)
  if (target.kind === 'store') {
    const status = await statusOf(target.address)
    print(flags, status, storeLines(status))
    return 0
  }
  const status = await serviceStatus(target.service, flags.url ?? '')
  print(flags, status, serviceLines(status))
  return status.isReady ? 0 : 1
}

async function serviceStatus(service: ServiceClient, address: string): Promise<ServiceStatus> {
  const signal = AbortSignal.timeout(TIMEOUT)
  // Makes the service count its plants. A count of few plants ends before the second call.
  await service.metrics(signal)
  let why: string | undefined
  try {
    await service.checkReady(signal)
  } catch (error) {
    if (!(error instanceof Unavailable)) throw error
    why = error.message
  }
  const read = readMetrics(await service.metrics(signal))
  const started = read('process_start_time_seconds')?.value
  const build = read('plantstore_build_info')?.labels
  return {
    service: address,
    isReady: why === undefined,
    why,
    version: build?.['version'],
    node: build?.['node'],
    engine: build?.['engine'],
    uptime: started === undefined ? undefined : Math.max(0, Math.round(Date.now() / 1000 - started)),
    plants: read('plantstore_plants')?.value,
    storeBytes: read('plantstore_store_bytes')?.value,
    logBytes: read('plantstore_store_log_bytes')?.value,
    indexBehind: read('plantstore_search_index_behind')?.value,
    creates: read('plantstore_creates_waiting')?.value,
    newestBackup: read('plantstore_backup_newest_timestamp_seconds')?.value,
    failedBackups: read('plantstore_backup_failures_total')?.value,
  }
}

interface Sample {
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

/**
 * Returns a function that finds the first sample of a metric
 * (https://prometheus.io/docs/instrumenting/exposition_formats/).
 */
function readMetrics(text: string): (name: string) => Sample | undefined {
  return (name) => {
    const [, labels = '', value] = new RegExp(`^${name}(?:\\{(.*)\\})? (\\S+)$`, 'm').exec(text) ?? []
    if (value === undefined) return undefined
    const pairs = [...labels.matchAll(/(\w+)="([^"]*)"/g)].map(([, key = '', text = '']) => [key, text])
    return { labels: Object.fromEntries(pairs), value: Number(value) }
  }
}

function print({ json }: StatusFlags, status: object, lines: readonly (readonly [string, string | undefined])[]): void {
  if (json === true) {
    process.stdout.write(`${JSON.stringify(status, null, 2)}\n`)
    return
  }
  const known = lines.filter((line): line is [string, string] => line[1] !== undefined)
  const width = Math.max(...known.map(([name]) => name.length))
  for (const [name, text] of known) process.stdout.write(`${onOneLine(`${name.padEnd(width)}  ${text}`)}\n`)
}

const bytes = (number: number | undefined): string | undefined =>
  number === undefined ? undefined : `${count(number)} bytes`
const behind = (number: number | undefined): string | undefined =>
  number === undefined ? undefined : `${count(number)} changes behind`

function indexLine(index: IndexStatus): string {
  if (index.state === 'none') return 'none yet; a service builds it'
  if (index.state === 'ready') return `${count(index.behind)} changes behind`
  return `being built, ${count(index.indexed)} of ${count(index.plants)} plants`
}

const schemaLine = (schema: number, next: number | undefined): string =>
  next === undefined ? `${schema}` : `${schema}; the next start migrates it to ${next}`

const storeLines = (status: StoreStatus): [string, string | undefined][] => [
  ['store', status.store],
  ['engine', status.engine],
  ['served', status.isServed === undefined ? undefined : status.isServed ? 'yes, by a service on this machine' : 'no'],
  ['size', status.bytes && `${count(status.bytes.store)} bytes, and ${count(status.bytes.log)} of log`],
  ['schema', status.schema === undefined ? undefined : schemaLine(status.schema, status.nextSchema)],
  ['identity', status.identity],
  ['plants', count(status.plants)],
  ['tokens', `${count(status.tokens)} active`],
  ['index', status.index && indexLine(status.index)],
]

const serviceLines = (status: ServiceStatus): [string, string | undefined][] => [
  ['service', `${status.service}: ${status.isReady ? 'ready' : `NOT READY: ${status.why}`}`],
  ['version', status.version && `${status.version}, on Node.js ${status.node}`],
  ['uptime', status.uptime === undefined ? undefined : formatTime(status.uptime)],
  ['engine', status.engine],
  ['plants', status.plants === undefined ? undefined : count(status.plants)],
  ['size', bytes(status.storeBytes) && `${bytes(status.storeBytes)}, and ${count(status.logBytes ?? 0)} of log`],
  ['index', behind(status.indexBehind)],
  ['waiting', status.creates === undefined ? undefined : `${count(status.creates)} creates`],
  ['backups', backups(status)],
]

function backups({ newestBackup, failedBackups = 0 }: ServiceStatus): string | undefined {
  if (newestBackup === undefined) return 'none are scheduled'
  const newest = newestBackup === 0 ? 'none yet' : `newest from ${new Date(newestBackup * 1000).toISOString()}`
  return `${newest}; ${count(failedBackups)} failed since the start`
}

export interface DistributeFlags {
  readonly shards?: number
  readonly quiet?: true
}

/**
 * Distributes a store over the workers of a Citus coordinator, and prints each step.
 *
 * @throws OperatorError when the store can't be distributed
 */
export async function distribute({ shards, quiet }: DistributeFlags, { store }: Config): Promise<void> {
  let state: ProgressState = { doing: 'preparing', rows: 0, done: undefined }
  const progress = new Progress(() => state, { quiet: quiet === true })
  const say = (text: string) => {
    if (quiet !== true) progress.note(text)
  }
  try {
    await distributeStore(store, {
      shards,
      onStep: say,
      onNotice: (text) => progress.note(text),
      onMoved: (rows, total) => {
        state = { doing: 'moving', rows, done: total === 0 ? undefined : Math.min(1, rows / total) }
      },
    })
  } finally {
    progress.end()
  }
}
