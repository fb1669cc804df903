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

/** How much of a sharded store can be reached. */
export interface ShardState {
  readonly shards: number
  readonly outOfReach: number
}

export interface LogLines {
  /** Lines that were dropped since the start. */
  readonly dropped: number
  /** Characters that wait to be written. */
  readonly waiting: number
}

/** What the metrics are made of, besides what the HTTP side counts itself. */
export interface ObservedParts {
  readonly config: Config
  readonly store: Store
  readonly writes: WriteStats
  readonly logLines?: LogLines
  readonly auditLines?: LogLines
  /** Changes that the search index does not have yet; undefined where writes keep it themselves. */
  readonly indexBehind?: () => number | undefined
  /** The connections of the store; undefined where it has none. */
  readonly pool?: StorePool | undefined
  /** What became of scheduled backups; undefined where there are none. */
  readonly backups?: BackupsMade | undefined
  /** The program and its store. */
  readonly facts?: ServiceFacts | undefined
  /** Of a store that can be sharded; gives undefined while it is not. */
  readonly shards?: (() => ShardState | undefined) | undefined
}

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
