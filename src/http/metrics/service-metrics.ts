import type { WriteStats } from '../../commit-stats.ts'
import type { Config } from '../../config.ts'
import type { Store } from '../../store.ts'
import type { StorePool } from '../../store-pool.ts'
import type { BackupsMade } from '../../upkeep.ts'
import { observeBackups } from './backup-metrics.ts'
import { Metrics } from './metrics.ts'
import { PlantCount } from './plant-count.ts'
import { observePool } from './pool-metrics.ts'
import { observeFacts, type ServiceFacts } from './service-facts.ts'
import { observeWrites } from './write-metrics.ts'

/** The numbers of all shards and of those out of reach. */
export interface ShardState {
  readonly shards: number
  readonly outOfReach: number
}

export interface LogLines {
  /** Dropped lines since the start. */
  readonly dropped: number
  /** Characters that wait to be written. */
  readonly waiting: number
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
