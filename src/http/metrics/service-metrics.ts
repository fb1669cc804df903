import type { CommitStats, WriteStats } from '../../base/group-commit.ts'
import type { PoolUse, Store, StorePool } from '../../domain/store.ts'
import type { BackupsMade, StoreBytes } from '../../domain/upkeep.ts'
import type { Config } from '../../settings/config.ts'
import { Metrics } from './metrics.ts'
import { PlantCount } from './plant-count.ts'

/** The numbers of all shards and of those out of reach. */
export interface ShardState {
  readonly shards: number
  readonly outOfReach: number
}

export interface LogLines {
  /** Dropped lines since the start. */
  readonly dropped: number
  /** Bytes that wait to be written. */
  readonly waiting: number
}

export interface ServiceFacts {
  readonly version: string
  readonly engine: string
  /** Undefined where a database keeps the files of the store. */
  readonly bytes: (() => StoreBytes) | undefined
}

/** The parts of the service that the metrics read. */
export interface ObservedParts {
  readonly config: Config
  readonly store: Store
  readonly writes: WriteStats
  readonly logLines?: LogLines
  readonly auditLines?: LogLines
  /** Changes that the search index lacks; undefined for an engine whose writes update the index. */
  readonly indexBehind?: () => number | undefined
  /** The pool of connections to the store; undefined for an engine without one. */
  readonly pool?: StorePool | undefined
  /** The results of scheduled backups; undefined without a schedule. */
  readonly backups?: BackupsMade | undefined
  /** The program and its store. */
  readonly facts?: ServiceFacts | undefined
  /** The shards of a store that can be sharded. Returns undefined while it is not sharded. */
  readonly shards?: (() => ShardState | undefined) | undefined
}

/** Registers the metrics of all parts but the HTTP side, which adds its own to the result. */
export function serviceMetrics(parts: ObservedParts): Metrics {
  const { config, store, writes, logLines, auditLines, indexBehind, pool, backups, facts, shards } = parts
  const metrics = new Metrics()
  observeWrites(metrics, writes)
  new PlantCount(store).describe(metrics)
  if (indexBehind?.() !== undefined) metrics.value('plantstore_search_index_behind', () => indexBehind() ?? 0)
  if (pool !== undefined) observePool(metrics, pool)
  if (backups !== undefined) observeBackups(metrics, backups)
  if (facts !== undefined) observeFacts(metrics, facts)
  if (shards !== undefined) {
    metrics.value('plantstore_shards', () => shards()?.shards ?? 0)
    metrics.value('plantstore_shards_out_of_reach', () => shards()?.outOfReach ?? 0)
  }
  if (logLines !== undefined) {
    metrics.value('plantstore_log_lines_dropped_total', () => logLines.dropped)
    metrics.bound('logBuffer', config.logBuffer, () => logLines.waiting)
  }
  if (auditLines !== undefined) {
    metrics.value('plantstore_audit_lines_dropped_total', () => auditLines.dropped)
    metrics.bound('auditBuffer', config.auditBuffer, () => auditLines.waiting)
  }
  return metrics
}

/** Registers the metrics of groups of writes, of their commits, and of waiting writes. */
function observeWrites(metrics: Metrics, writes: WriteStats): void {
  const each = <T>(read: (stats: CommitStats) => T) =>
    Object.entries(writes.commits).map(([work, stats]) => [{ work }, read(stats)] as const)
  metrics.histogram('plantstore_commit_rows', 1, () => each(({ rows }) => rows))
  metrics.histogram('plantstore_commit_seconds', 1000, () => each(({ milliseconds }) => milliseconds))
  metrics.series('plantstore_commit_failures_total', () => each(({ failures }) => failures))
  metrics.value('plantstore_creates_waiting', () => writes.waiting)
  metrics.bound('maxWaiting', writes.queue.maxRows, () => writes.queue.rows)
  metrics.bound('queuedText', writes.queue.maxText, () => writes.queue.text)
}

/** Registers the metrics of the connections to the store. */
function observePool(metrics: Metrics, pool: StorePool): void {
  const each = (read: (use: PoolUse) => number) => () =>
    pool.uses().map((use) => [{ work: use.work }, read(use)] as const)
  metrics.series(
    'plantstore_store_connections',
    each(({ taken }) => taken),
  )
  metrics.series(
    'plantstore_store_connections_limit',
    each(({ limit }) => limit),
  )
  metrics.series(
    'plantstore_store_connections_waiting',
    each(({ waiting }) => waiting),
  )
  const all = () => pool.uses().find(({ work }) => work === 'all')
  metrics.bound(
    'storeConnections',
    () => all()?.limit ?? 0,
    () => all()?.taken ?? 0,
  )
}

/** Registers the metrics of scheduled backups. Alert when the newest backup is older than twice the interval. */
function observeBackups(metrics: Metrics, backups: BackupsMade): void {
  metrics.value('plantstore_backup_newest_timestamp_seconds', () => backups.newest)
  metrics.value('plantstore_backup_failures_total', () => backups.failures)
}

/** Registers the metrics of the program's version and of the size of its store. */
function observeFacts(metrics: Metrics, { version, engine, bytes }: ServiceFacts): void {
  metrics.series('plantstore_build_info', () => [[{ version, node: process.versions.node, engine }, 1]])
  if (bytes === undefined) return
  metrics.value('plantstore_store_bytes', () => bytes().store)
  metrics.value('plantstore_store_log_bytes', () => bytes().log)
}
