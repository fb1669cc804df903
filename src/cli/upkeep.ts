import { count, counted, onOneLine } from '../base/printable.ts'
import { commandActor } from '../domain/token.ts'
import type { CheckReport, Counts, IndexStatus, LongWork, StoreStatus, Upkeep, WorkState } from '../domain/upkeep.ts'
import type { Config, StoreAddress } from '../settings/config.ts'
import type { Flags } from './command.ts'
import { CommandAudit } from './log.ts'
import { distributeStore, statusOf, upkeepOf } from './open-store.ts'
import { formatTime, note, Progress, type ProgressState, printJson, withProgress } from './output.ts'
import { fileFault } from './plant-files.ts'
import { type Service, targetOf, Unavailable } from './service-client.ts'
import { giveWayToServices } from './signals.ts'

export interface RestoreFlags extends Flags {
  readonly replace?: true
}

export interface CheckFlags extends Flags {
  readonly reindex?: true
  readonly dropDamaged?: true
}

export async function backupStore(file: string, flags: Flags, { store }: Config): Promise<void> {
  giveWayToServices()
  const stopped = 'no backup was written'
  const report = await run(flags, store, file, stopped, (upkeep, work) => upkeep.backup(file, work))
  tell(flags, report, [`done: ${report.file} holds ${content(report)} in ${count(report.bytes)} bytes, verified`])
}

export async function restoreStore(file: string, flags: RestoreFlags, { store, auditLog }: Config): Promise<void> {
  const replace = flags.replace === true
  using audit = new CommandAudit(auditLog, [store], commandActor('restore'))
  const stopped = 'nothing was restored'
  const report = await run(flags, store, file, stopped, (upkeep, work) => upkeep.restore(file, { ...work, replace }))
  audit.write('restoreStore', 'restored', { ...report, file })
  tell(flags, report, [
    ...(report.kept === undefined ? [] : [`kept the replaced store as ${report.kept}`]),
    `done: the store ${report.store} holds ${content(report)}`,
    'Tokens that were revoked since the backup work again; "plantstore token list" lists all tokens.',
  ])
}

/** Sets the exit code 1 when a part of the store is damaged, and reports that even with `--quiet`. */
export async function checkStore(flags: CheckFlags, { store, auditLog }: Config): Promise<void> {
  giveWayToServices()
  const [reindex, dropDamaged] = [flags.reindex === true, flags.dropDamaged === true]
  using audit = dropDamaged ? new CommandAudit(auditLog, [store], commandActor('check')) : undefined
  const stopped = 'the check is incomplete'
  const report = await run(flags, store, 'the store', stopped, (upkeep, work) =>
    upkeep.check({ ...work, reindex, dropDamaged }),
  )
  const { dropped } = report.parts.find(({ part }) => part === 'log') ?? {}
  if (dropped !== undefined) audit?.write('dropDamage', 'dropped', { store: report.store, changes: dropped.length })
  const isDamaged = report.parts.some(({ faults }) => faults.length > 0)
  tell(isDamaged ? { ...flags, quiet: false } : flags, report, [
    ...report.parts.flatMap(partLines),
    `${report.store} is ${isDamaged ? 'damaged' : 'in order'}`,
  ])
  if (isDamaged) process.exitCode = 1
}

const partLines = ({ part, found, faults, dropped = [] }: CheckReport['parts'][number]): string[] => [
  `${part}: ${faults.length === 0 ? 'ok' : 'DAMAGED'} (${found})`,
  ...faults.map((fault) => `  ${fault}`),
  ...dropped.map((change) => `  gone: ${change}`),
]

const content = ({ plants, tokens }: Counts): string => `${counted(plants, 'plant')} and ${counted(tokens, 'token')}`

function run<T>(
  flags: Flags,
  address: StoreAddress,
  file: string,
  stopped: string,
  work: (upkeep: Upkeep, options: LongWork) => Promise<T>,
): Promise<T> {
  let state: WorkState = { doing: 'starting', done: undefined }
  const onProgress = (next: WorkState) => {
    state = next
  }
  return withProgress(
    () => state,
    flags,
    async (_progress, signal) => {
      try {
        return await work(await upkeepOf(address), { signal, onProgress })
      } catch (error) {
        throw fileFault(file, error)
      }
    },
    (isStopped) => (isStopped ? [`stopped; ${stopped}`] : []),
  )
}

function tell({ json, quiet }: Flags, report: object, lines: readonly string[]): void {
  if (json) printJson(report)
  else if (!quiet) for (const line of lines) note(line)
}

/** Sets the exit code 1 when the service is not ready. */
export async function showStatus(flags: Flags, config: Config): Promise<void> {
  const target = targetOf(flags, config)
  if (target.kind === 'store') {
    const status = await statusOf(target.address)
    return show(flags, status, storeLines(status))
  }
  const status = await serviceStatus(target.service, flags.url ?? '')
  if (!status.isReady) process.exitCode = 1
  show(flags, status, serviceLines(status))
}

type Line = readonly [what: string, text: string | undefined]

function show({ json }: Flags, status: object, lines: readonly Line[]): void {
  if (json) {
    printJson(status)
    return
  }
  const known = lines.filter(([, text]) => text !== undefined)
  const width = Math.max(...known.map(([what]) => what.length))
  for (const [what, text] of known) process.stdout.write(`${onOneLine(`${what.padEnd(width)}  ${text}`)}\n`)
}

const shownIf = (number: number | undefined, text: (known: number) => string): string | undefined =>
  number === undefined ? undefined : text(number)

const storeLines = ({ bytes, isServed, schema, nextSchema, ...status }: StoreStatus): Line[] => [
  ['store', status.store],
  ['engine', status.engine],
  ['served', isServed === undefined ? undefined : isServed ? 'yes, by a service on this machine' : 'no'],
  ['size', bytes && sizeLine(bytes.store, bytes.log)],
  ['schema', shownIf(schema, (now) => `${now}${nextSchema ? `; the next start migrates it to ${nextSchema}` : ''}`)],
  ['identity', status.identity],
  ['plants', count(status.plants)],
  ['tokens', `${count(status.tokens)} active`],
  ['index', status.index && indexLine(status.index)],
]

const sizeLine = (store: number, log = 0): string => `${count(store)} bytes, and ${count(log)} of log`

function indexLine(index: IndexStatus): string {
  if (index.state === 'none') return 'none yet; a service builds it'
  if (index.state === 'ready') return `${count(index.behind)} changes behind`
  return `being built, ${count(index.indexed)} of ${count(index.plants)} plants`
}

type ServiceStatus = Awaited<ReturnType<typeof serviceStatus>>

/** Returns the state of a running service, by its metrics. Those that an older version does not report are undefined. */
async function serviceStatus(service: Service, address: string) {
  // Makes the service count its plants. A count of few plants ends before the second call.
  await service.call((client) => client.getMetrics())
  let why: string | undefined
  try {
    await service.call((client) => client.getReadiness())
  } catch (error) {
    if (!(error instanceof Unavailable)) throw error
    why = error.message
  }
  const metrics = await service.call((client) => client.getMetrics())
  const found = (pattern: string) => new RegExp(`^${pattern}`, 'm').exec(metrics)?.[1]
  const label = (name: string) => found(`plantstore_build_info\\{.*\\b${name}="([^"]*)"`)
  const value = (name: string) => {
    const text = found(`${name}(?:\\{.*\\})? (\\S+)$`)
    return text === undefined || text === 'NaN' ? undefined : Number(text)
  }
  const started = value('process_start_time_seconds')
  return {
    service: address,
    isReady: why === undefined,
    why,
    version: label('version'),
    node: label('node'),
    engine: label('engine'),
    /** Seconds. */
    uptime: started === undefined ? undefined : Math.max(0, Math.round(Date.now() / 1000 - started)),
    plants: value('plantstore_plants'),
    storeBytes: value('plantstore_store_bytes'),
    logBytes: value('plantstore_store_log_bytes'),
    indexBehind: value('plantstore_search_index_behind'),
    creates: value('plantstore_creates_waiting'),
    /** Seconds since 1970; 0 when there is none. */
    newestBackup: value('plantstore_backup_newest_timestamp_seconds'),
    failedBackups: value('plantstore_backup_failures_total'),
  }
}

const serviceLines = (status: ServiceStatus): Line[] => [
  ['service', `${status.service}: ${status.isReady ? 'ready' : `NOT READY: ${status.why}`}`],
  ['version', status.version && `${status.version}, on Node.js ${status.node}`],
  ['uptime', shownIf(status.uptime, formatTime)],
  ['engine', status.engine],
  ['plants', shownIf(status.plants, count)],
  ['size', shownIf(status.storeBytes, (bytes) => sizeLine(bytes, status.logBytes))],
  ['index', shownIf(status.indexBehind, (behind) => `${count(behind)} changes behind`)],
  ['waiting', shownIf(status.creates, (creates) => `${count(creates)} creates`)],
  ['backups', backups(status)],
]

function backups({ newestBackup, failedBackups = 0 }: ServiceStatus): string {
  if (newestBackup === undefined) return 'none are scheduled'
  const newest = newestBackup === 0 ? 'none yet' : `newest from ${new Date(newestBackup * 1000).toISOString()}`
  return `${newest}; ${count(failedBackups)} failed since the start`
}

export interface DistributeFlags extends Flags {
  readonly shards?: number
}

export async function distribute({ shards, quiet = false }: DistributeFlags, { store }: Config): Promise<void> {
  let state: ProgressState = { doing: 'preparing', rows: 0 }
  using progress = new Progress(() => state, quiet)
  const onNotice = (text: string) => progress.note(text)
  const onMoved = (rows: number, total: number) => {
    state = { doing: 'moving', rows, done: total === 0 ? undefined : Math.min(1, rows / total) }
  }
  await distributeStore(store, { shards, onStep: quiet ? () => {} : onNotice, onNotice, onMoved })
}
