import type { BackupsMade } from '../../upkeep.ts'
import type { Metrics } from './metrics.ts'

/** Registers the metrics of scheduled backups. Alert when the newest backup is older than twice the interval. */
export function observeBackups(metrics: Metrics, backups: BackupsMade): void {
  metrics.value('plantstore_backup_newest_timestamp_seconds', () => backups.newest)
  metrics.value('plantstore_backup_failures_total', () => backups.failures)
}
